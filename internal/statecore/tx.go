package statecore

import (
	"fmt"
	"slices"
)

// A Tx is a transaction. It applies the writes of one superstep to a state, in the
// order of the calls. It is not safe for concurrent use.
type Tx struct {
	schema *Schema
	next   *values
	slots  []Slot // the slots of next
	marks  []Mark
	done   bool
	inline [inlineChannels]Mark // backs marks in small schemas, to save an allocation
	out    ChangeWriter
}

// Begin starts a transaction on a state of this schema.
func (s *Schema) Begin(v View) *Tx {
	tx := &Tx{}
	tx.Begin(s, v)
	return tx
}

// NewTx returns a transaction that has not started. [Only] starts it.
func (s *Schema) NewTx() *Tx {
	tx := &Tx{}
	tx.init(s)
	return tx
}

func (tx *Tx) init(s *Schema) {
	tx.schema, tx.done = s, true
	if n := len(s.channels); n <= inlineChannels {
		tx.marks = tx.inline[:n]
	} else {
		tx.marks = make([]Mark, n)
	}
}

// Begin starts a transaction on a state of the schema. It may be called again with the same schema.
// The views that tx has returned do not change. A Tx must not be copied after Begin.
func (tx *Tx) Begin(s *Schema, v View) {
	if tx.schema == nil {
		tx.init(s)
	}
	next := newValues(s)
	copy(next.slots, tx.schema.own(v).slots)
	tx.begin(next)
}

func (tx *Tx) begin(next *values) {
	tx.next, tx.slots, tx.done = next, next.slots, false
	clear(tx.marks)
}

// Apply folds the writes of a task into the state, in order. It ignores signals. If
// two tasks write to an exclusive channel, or overwrite any channel, the error wraps
// ErrConcurrentWrite. After an error the transaction cannot be used.
func Apply[W Source](tx *Tx, task int, writes []W) (err error) {
	var w Write
	defer func() {
		if v := recover(); v != nil {
			err = ChannelError(w.Channel(), fmt.Errorf("reducer panicked: %v", v))
		}
	}()
	for i := range writes {
		if w = writes[i].Core(); w.channel == nil {
			continue
		}
		if err := tx.apply(task, w.channel, w.action); err != nil {
			return err
		}
	}
	return nil
}

// Known returns the writes without those to internal channels that the schema does not have.
func Known[W Source](s *Schema, writes []W) []W {
	return slices.DeleteFunc(slices.Clone(writes), func(w W) bool {
		t := w.Core().channel
		return t != nil && t.Internal && s.index(t) < 0
	})
}

func (tx *Tx) apply(task int, t *Traits, a Action) error {
	i := tx.schema.index(t)
	if i < 0 {
		return tx.schema.unknown(t.Name)
	}
	if tx.done {
		return NewChannelError(t.Name, errFinished)
	}
	m := &tx.marks[i]
	if err := m.claim(task, t.Exclusive, a.Kind == KindOverwrite); err != nil {
		return NewChannelError(t.Name, err)
	}
	next, err := t.Codec.Fold(tx.slots[i], m, a)
	if err != nil {
		return NewChannelError(t.Name, err)
	}
	m.dirty, m.task = true, task
	tx.slots[i] = next
	return nil
}

func (m *Mark) claim(task int, exclusive, overwrite bool) error {
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

// Only returns the empty state after the writes of one task.
// A task of graph.Send sees such a state. A call of Only ends the transaction.
// It returns the same errors as Apply and Finish.
func Only[W Source](tx *Tx, writes []W) (View, error) {
	if len(writes) == 1 && writes[0].Core().channel != nil {
		return tx.only(writes[0].Core())
	}
	tx.begin(newValues(tx.schema))
	if err := Apply(tx, 0, writes); err != nil {
		return nil, err
	}
	return tx.Finish(false)
}

// only is like Only for a single write. The returned view has no slots for other channels.
func (tx *Tx) only(w Write) (View, error) {
	tx.done = true
	t := w.channel
	i := tx.schema.index(t)
	if i < 0 {
		return nil, tx.schema.unknown(t.Name)
	}
	m := &tx.marks[i]
	*m = Mark{}
	slot, err := foldSafely(t, Slot{}, m, w.action)
	if err == nil && t.Prunes {
		slot, err = pruneSafely(t, slot, m)
	}
	if err != nil {
		return nil, ChannelError(t.Name, err)
	}
	return &singleChannelView{tx.schema, i, slot}, nil
}

// Finish ends the transaction and returns the new state.
// At the end of a superstep, ephemeral channels without a write become absent.
// Pass superstep = false for an edit outside a superstep, which keeps them.
func (tx *Tx) Finish(superstep bool) (View, error) {
	tx.done = true
	for i := range tx.marks {
		m, t := &tx.marks[i], tx.schema.channels[i]
		switch {
		case !m.dirty:
			if superstep && t.Ephemeral && !tx.slots[i].Absent() {
				tx.slots[i], m.dirty = Slot{}, true
			}
		case t.Prunes:
			next, err := pruneSafely(t, tx.slots[i], m)
			if err != nil {
				return nil, ChannelError(t.Name, err)
			}
			tx.slots[i] = next
		}
	}
	return tx.next, nil
}

// Changed reports whether the transaction has written to a channel, or Finish has ended the
// value of an ephemeral channel.
func (tx *Tx) Changed() bool {
	for i := range tx.marks {
		if tx.marks[i].dirty {
			return true
		}
	}
	return false
}

func foldSafely(t *Traits, s Slot, m *Mark, a Action) (next Slot, err error) {
	defer recoverAs("reducer", &err)
	return t.Codec.Fold(s, m, a)
}

func pruneSafely(t *Traits, s Slot, m *Mark) (next Slot, err error) {
	defer recoverAs("pruner", &err)
	return t.Codec.(Pruner).Prune(s, m)
}
