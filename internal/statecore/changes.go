package statecore

import (
	"bytes"
	"slices"
)

// An Emit receives a stored change. It may keep data, unless the documentation of the
// caller forbids it.
type Emit func(channel string, k Kind, data []byte)

// A ChangeWriter passes the encoded changes of one channel to an [Emit].
type ChangeWriter struct {
	emit    Emit
	channel string
	buf     []byte
	copies  bool // emit gets a copy of the data, so that buf can be reused
}

// Buffer returns the buffer to which the caller must append the data of the next change.
func (w *ChangeWriter) Buffer() []byte { return w.buf }

// Emit emits a change. The argument appended is the result of Buffer with the data appended.
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

// AppendChanges emits the stored form of the changes of the transaction, channel by
// channel. It appends the data to buf and returns the extended buffer.
// The emitted data is part of buf. It is valid until the caller changes buf.
// Call AppendChanges after Finish.
func (tx *Tx) AppendChanges(buf []byte, emit Emit) ([]byte, error) {
	tx.out = ChangeWriter{emit: emit, buf: buf}
	err := tx.writeChanges()
	buf, tx.out = tx.out.buf, ChangeWriter{}
	return buf, err
}

// Changes is like [Tx.AppendChanges], but the function emit may keep the data.
func (tx *Tx) Changes(emit Emit) error {
	buf := acquireBuffer()
	tx.out = ChangeWriter{emit: emit, buf: (*buf)[:0], copies: true}
	err := tx.writeChanges()
	releaseBuffer(buf, tx.out.buf)
	tx.out = ChangeWriter{}
	return err
}

// Check returns the error that Changes would return for the channels whose type is
// [Traits].Checked, such as any. A run without a store calls it, so that it fails for
// their values like a run with a store. Call Check after Finish.
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

// Snapshot emits one change for each stored channel that has a value in v. A replay
// of these changes on the empty state restores v. The argument size is an estimate of the
// number of bytes, so that the buffer for them need not grow.
func (s *Schema) Snapshot(v View, size int, emit Emit) error {
	own, buf := s.own(v), acquireBuffer()
	out := ChangeWriter{emit: emit, buf: slices.Grow((*buf)[:0], size), copies: true}
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
