package state

import (
	"errors"
	"fmt"
)

// A Tx applies the writes of one superstep to a state, in the order of its
// calls. It is used by one goroutine.
type Tx struct {
	schema *Schema
	next   View
	slots  []slot // those of next
	marks  []mark
	done   bool
	inline [4]mark // backs marks of small schemas, to save an allocation
	to     sink    // of the changes, likewise
}

// mark is what a transaction knows of one slot.
type mark struct {
	facts
	log any // the channel's own record of what changed
}

// facts are apart from the log, as they hold no pointer: the collector does not mind that they are cleared.
type facts struct {
	dirty       bool
	overwritten bool
	detach      bool  // claim nothing of the state below; for overlays
	owned       bool  // the value was made here, and nobody else sees it yet; of a list: it was opened here
	set         bool  // a list or map is stored whole
	task        int32 // the last task to write
	overTask    int32 // the task that overwrote
	from        int   // where the appended elements of a list begin
}

func (m *mark) reset() {
	m.facts = facts{}
	if m.log != nil {
		m.log = nil
	}
}

// Begin starts a transaction on a state of this schema.
func (s *Schema) Begin(v View) *Tx {
	tx := &Tx{schema: s}
	if n := len(s.channels); n <= len(tx.inline) {
		tx.marks = tx.inline[:n]
	} else {
		tx.marks = make([]mark, n)
	}
	tx.Reset(v)
	return tx
}

// Reset begins anew on a state of the same schema, so that one Tx can serve
// many supersteps. The views it returned stay as they are.
func (tx *Tx) Reset(v View) {
	next := newValues(tx.schema)
	copy(next.slots, tx.schema.own(v).slots)
	tx.begin(next)
}

func (tx *Tx) begin(next values) {
	tx.next, tx.slots, tx.done = next.View, next.slots, false
	for i := range tx.marks {
		tx.marks[i].reset()
	}
}

// Only returns the state that holds writes of one task and nothing else, as a
// sent task sees it. It ends the transaction; [Tx.Reset] makes it of use again.
// Its error is that of [Tx.Apply] and [Tx.Finish].
func (tx *Tx) Only(writes []Write) (View, error) {
	if len(writes) == 1 && writes[0].verb != nil {
		return tx.sole(&writes[0])
	}
	tx.begin(newValues(tx.schema))
	if err := tx.Apply(0, writes...); err != nil {
		return nil, err
	}
	return tx.Finish(false)
}

// sole is Only for one write, without room for the other channels.
func (tx *Tx) sole(w *Write) (View, error) {
	tx.done = true
	i := tx.schema.indexOf(w.verb.of)
	if i < 0 {
		return nil, &ChannelError{Channel: w.Channel(), Err: ErrUnknownChannel}
	}
	m := &tx.marks[i]
	m.reset()
	held, err := foldSafely(w.verb.ch, slot{}, m, w)
	if err == nil && tx.schema.traits[i].prunes {
		held, err = finishSafely(tx.schema.channels[i].(pruner), held, m)
	}
	if err != nil {
		return nil, channelError(w.Channel(), err)
	}
	return &sole{tx.schema, i, held}, nil
}

// Clear lets go of the state. [Tx.Reset] makes the transaction of use again.
func (tx *Tx) Clear() {
	tx.next, tx.slots, tx.done, tx.to = nil, nil, true, sink{}
	clear(tx.marks)
}

// Apply folds writes of a task into the state, in order. Writes of one task add
// up; a channel that takes one write refuses that of a second task with
// [ErrConcurrentWrite]. Signals are passed over. An error is a [ChannelError];
// after it the transaction is of no use.
func (tx *Tx) Apply(task int, writes ...Write) (err error) {
	at := 0
	defer func() {
		if v := recover(); v != nil {
			err = channelError(writes[at].Channel(), panicked("reducer", v))
		}
	}()
	for at = range writes {
		if w := &writes[at]; w.verb != nil {
			if err := tx.apply(int32(task), w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (tx *Tx) apply(task int32, w *Write) error {
	i := tx.schema.indexOf(w.verb.of)
	if i < 0 {
		return &ChannelError{Channel: w.Channel(), Err: ErrUnknownChannel}
	}
	if tx.done {
		return &ChannelError{Channel: w.Channel(), Err: errFinished}
	}
	m := &tx.marks[i]
	if err := m.claim(task, tx.schema.traits[i].exclusive, w.verb.kind == KindOverwrite); err != nil {
		return &ChannelError{Channel: w.Channel(), Err: err}
	}
	next, err := w.verb.ch.fold(tx.slots[i], m, w)
	if err != nil {
		return channelError(w.Channel(), err)
	}
	m.dirty, m.task = true, task
	tx.slots[i] = next
	return nil
}

// errFinished keeps a view that was handed out from changing.
var errFinished = errors.New("a write after the view was taken")

func (m *mark) claim(task int32, exclusive, overwrite bool) error {
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
func foldSafely(c channel, s slot, m *mark, w *Write) (next slot, err error) {
	defer caught("reducer", &err)
	return c.fold(s, m, w)
}

// caught makes an error of a panic in the user's code.
func caught(what string, err *error) {
	if v := recover(); v != nil {
		*err = panicked(what, v)
	}
}

func panicked(what string, v any) error { return fmt.Errorf("%s panicked: %v", what, v) }

// Finish ends the transaction and returns the new state. A superstep, unlike an
// edit from outside, ends the life of ephemeral values that it did not write.
func (tx *Tx) Finish(superstep bool) (View, error) {
	tx.done = true
	for i := range tx.marks {
		m := &tx.marks[i]
		t := tx.schema.traits[i]
		if !m.dirty {
			if superstep && t.ephemeral && !tx.slots[i].absent() {
				tx.slots[i] = slot{}
				m.dirty = true
			}
			continue
		}
		if !t.prunes {
			continue
		}
		next, err := finishSafely(tx.schema.channels[i].(pruner), tx.slots[i], m)
		if err != nil {
			return nil, channelError(t.name, err)
		}
		tx.slots[i] = next
	}
	return tx.next, nil
}

func finishSafely(c pruner, s slot, m *mark) (next slot, err error) {
	defer caught("pruner", &err)
	return c.finish(s, m)
}

// Changes emits the stored form of what the transaction changed, channel by
// channel. It follows Finish.
func (tx *Tx) Changes(emit Emit) error {
	defer func() { tx.to = sink{} }()
	tx.to = sink{emit: emit}
	return tx.changes()
}

// AppendChanges is Changes with less memory: the data that it emits are parts of
// buf, which it appends to and returns. They are good until the caller writes
// to buf again. The transaction holds on to buf and emit until [Tx.Clear].
func (tx *Tx) AppendChanges(buf []byte, emit Emit) ([]byte, error) {
	tx.to.emit, tx.to.buf, tx.to.lends = emit, buf, true
	err := tx.changes()
	return tx.to.buf, err
}

func (tx *Tx) changes() error {
	for i := range tx.marks {
		m, t := &tx.marks[i], tx.schema.traits[i]
		if !m.dirty || t.untracked {
			continue
		}
		if tx.slots[i].absent() {
			tx.to.emit(t.name, KindClear, nil)
			continue
		}
		if err := tx.schema.channels[i].encode(tx.slots[i], m, &tx.to); err != nil {
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
