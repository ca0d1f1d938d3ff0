package state

import "fmt"

// A Tx applies the writes of one superstep to a state, in the order of its
// calls. It is used by one goroutine.
type Tx struct {
	schema *Schema
	next   *values
	marks  []mark
	inline [4]mark
}

// mark is what a transaction knows of one slot.
type mark struct {
	dirty       bool
	overwritten bool
	detach      bool // copy before the first change; claim nothing
	owned       bool // the slot was made here; nobody else sees it yet
	task        int  // the last task to write
	overTask    int  // the task that overwrote
	log         any  // the channel's own record of what changed
}

// Begin starts a transaction on a state of this schema.
func (s *Schema) Begin(v View) *Tx {
	base := s.own(v)
	tx := &Tx{schema: s, next: newValues(s)}
	copy(tx.next.slots, base.slots)
	if n := len(s.channels); n <= len(tx.inline) {
		tx.marks = tx.inline[:n]
	} else {
		tx.marks = make([]mark, n)
	}
	return tx
}

// Apply folds a write of a task into the state. Writes of one task add up; a
// channel that takes one write refuses that of a second task. Signals are
// passed over. After an error the transaction is of no use.
func (tx *Tx) Apply(task int, w Write) error {
	if w.ch == nil {
		return nil
	}
	i := tx.schema.index(w.ch)
	if i < 0 {
		return &ChannelError{Channel: w.Channel(), Err: ErrUnknownChannel}
	}
	m := &tx.marks[i]
	if err := m.claim(task, tx.schema.traits[i].exclusive, w.op == KindOverwrite); err != nil {
		return &ChannelError{Channel: w.Channel(), Err: err}
	}
	next, err := foldSafely(w.ch, tx.next.slots[i], m, &w)
	if err != nil {
		return channelError(w.Channel(), err)
	}
	m.dirty, m.task = true, task
	tx.next.slots[i] = next
	return nil
}

func (m *mark) claim(task int, exclusive, overwrite bool) error {
	if exclusive && m.dirty && m.task != task {
		return ErrConcurrentWrite
	}
	if overwrite {
		if m.overwritten && m.overTask != task {
			return ErrConcurrentWrite
		}
		m.overwritten, m.overTask = true, task
	}
	return nil
}

// foldSafely turns a reducer's panic into an error.
func foldSafely(c channel, slot any, m *mark, w *Write) (next any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("reducer panicked: %v", r)
		}
	}()
	return c.fold(slot, m, w)
}

// Finish ends the transaction and returns the new state. A superstep, unlike an
// edit from outside, ends the life of ephemeral values that it did not write.
func (tx *Tx) Finish(superstep bool) (View, error) {
	for i := range tx.marks {
		m := &tx.marks[i]
		t := tx.schema.traits[i]
		if !m.dirty {
			if superstep && t.ephemeral && tx.next.slots[i] != nil {
				tx.next.slots[i] = nil
				m.dirty = true
			}
			continue
		}
		next, err := finishSafely(tx.schema.channels[i], tx.next.slots[i], m)
		if err != nil {
			return nil, channelError(t.name, err)
		}
		tx.next.slots[i] = next
	}
	return tx.next, nil
}

func finishSafely(c channel, slot any, m *mark) (next any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("pruner panicked: %v", r)
		}
	}()
	return c.finish(slot, m)
}

// Changes emits the stored form of what the transaction changed, channel by
// channel. It follows Finish.
func (tx *Tx) Changes(emit Emit) error {
	for i := range tx.marks {
		m, t := &tx.marks[i], tx.schema.traits[i]
		if !m.dirty || t.untracked {
			continue
		}
		if tx.next.slots[i] == nil {
			emit(t.name, KindClear, nil)
			continue
		}
		if err := tx.schema.channels[i].encode(tx.next.slots[i], m, emit); err != nil {
			return channelError(t.name, err)
		}
	}
	return nil
}

// Changed reports whether the transaction wrote to any channel.
func (tx *Tx) Changed() bool {
	for i := range tx.marks {
		if tx.marks[i].dirty {
			return true
		}
	}
	return false
}

// A Replayer rebuilds a state from stored changes, without any user code.
type Replayer struct {
	schema *Schema
	next   *values
	marks  []mark
}

// Replay starts from a state of this schema; nil starts from nothing.
func (s *Schema) Replay(base View) *Replayer {
	r := &Replayer{schema: s, next: newValues(s), marks: make([]mark, len(s.channels))}
	if base != nil {
		copy(r.next.slots, s.own(base).slots)
	}
	return r
}

// Apply replays one stored change. It returns an error that wraps [ErrStored]
// when the change can not be read, and [ErrUnknownChannel] when the schema has
// no such channel.
func (r *Replayer) Apply(name string, k Kind, data []byte) error {
	i, ok := r.schema.byName[name]
	if !ok {
		return &ChannelError{Channel: name, Err: ErrUnknownChannel}
	}
	if k == KindClear {
		r.next.slots[i], r.marks[i] = nil, mark{}
		return nil
	}
	next, err := r.schema.channels[i].replay(r.next.slots[i], &r.marks[i], k, data)
	if err != nil {
		return channelError(name, err)
	}
	r.next.slots[i] = next
	return nil
}

// Import takes over v's values of the channels that both schemas have.
func (r *Replayer) Import(v View) {
	from := v.(*values)
	for i, c := range r.schema.channels {
		if j := from.schema.index(c); j >= 0 {
			r.next.slots[i], r.marks[i] = from.slots[j], mark{}
		}
	}
}

// View returns the state so far. The Replayer is not to be used afterwards.
func (r *Replayer) View() View { return r.next }
