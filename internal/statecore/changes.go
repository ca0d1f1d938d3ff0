package statecore

import "bytes"

// Emit receives a stored change. Unless the function that calls it says
// otherwise, the receiver may keep data.
type Emit func(channel string, k Kind, data []byte)

// A ChangeWriter passes the encoded changes of a channel to an [Emit].
type ChangeWriter struct {
	emit    Emit
	channel string
	buf     []byte
	copies  bool // emit gets a copy of its own, and buf is reused
}

// Buffer returns the buffer that the next change is appended to.
func (w *ChangeWriter) Buffer() []byte { return w.buf }

// Emit emits a change, whose data is what the caller appended to Buffer.
func (w *ChangeWriter) Emit(k Kind, appended []byte) {
	start := len(w.buf)
	data := appended[start:len(appended):len(appended)]
	if w.copies {
		w.buf = appended[:start]
		w.emit(w.channel, k, bytes.Clone(data))
		return
	}
	w.buf = appended
	w.emit(w.channel, k, data)
}

// AppendChanges emits the stored form of the changes that the transaction made,
// channel by channel. The data that it emits are parts of buf, which it appends
// to and returns. They are valid until the caller writes to buf again. Call it
// after Finish.
func (tx *Tx) AppendChanges(buf []byte, emit Emit) ([]byte, error) {
	tx.out = ChangeWriter{emit: emit, buf: buf}
	err := tx.writeChanges()
	buf, tx.out = tx.out.buf, ChangeWriter{}
	return buf, err
}

// Changes is [Tx.AppendChanges] with data that the receiver may keep.
func (tx *Tx) Changes(emit Emit) error {
	buf := acquireBuffer()
	tx.out = ChangeWriter{emit: emit, buf: (*buf)[:0], copies: true}
	err := tx.writeChanges()
	releaseBuffer(buf, tx.out.buf)
	tx.out = ChangeWriter{}
	return err
}

// Check returns the error that Changes would return for the channels whose type
// has values that cannot be stored, such as any. It makes a run without a store
// fail where a run with a store fails. Call it after Finish.
func (tx *Tx) Check() error {
	if !tx.schema.checked {
		return nil
	}
	buf := acquireBuffer()
	tx.out = ChangeWriter{emit: func(string, Kind, []byte) {}, buf: (*buf)[:0]}
	err := tx.writeChangesOf(func(t *Traits) bool { return t.Checked })
	releaseBuffer(buf, tx.out.buf)
	tx.out = ChangeWriter{}
	return err
}

func (tx *Tx) writeChanges() error {
	return tx.writeChangesOf(func(*Traits) bool { return true })
}

func (tx *Tx) writeChangesOf(selected func(*Traits) bool) error {
	for i := range tx.marks {
		m, t := &tx.marks[i], tx.schema.channels[i]
		if !m.dirty || t.Untracked || !selected(t) {
			continue
		}
		if tx.slots[i].Absent() {
			tx.out.emit(t.Name, KindClear, nil)
			continue
		}
		tx.out.channel = t.Name
		if err := t.Codec.Changes(tx.slots[i], m, &tx.out); err != nil {
			return ChannelError(t.Name, err)
		}
	}
	return nil
}

// Snapshot emits, for each channel that v has and that is stored, one change
// which builds its value from nothing.
func (s *Schema) Snapshot(v View, emit Emit) error {
	own, buf := s.own(v), acquireBuffer()
	out := ChangeWriter{emit: emit, buf: (*buf)[:0], copies: true}
	defer func() { releaseBuffer(buf, out.buf) }()
	for i, t := range s.channels {
		if own.slots[i].Absent() || t.Untracked {
			continue
		}
		out.channel = t.Name
		if err := t.Codec.Snapshot(own.slots[i], &out); err != nil {
			return ChannelError(t.Name, err)
		}
	}
	return nil
}
