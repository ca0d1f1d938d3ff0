package statecore

import "slices"

// A View is an immutable state.
type View interface {
	// Slot returns the value of a channel in the state. It panics with a channel
	// error if the schema of the state does not have the channel, or if an overlay
	// cannot fold the writes to it.
	Slot(c Channel) Slot
	// values returns the state with one slot for each channel. A type that embeds a View,
	// such as graph.Snapshot, has the method too.
	values() *values
}

// values is a View that has one slot for each channel of its schema.
type values struct {
	schema *Schema
	slots  []Slot
	inline [inlineChannels]Slot // backs slots in small schemas, to save an allocation
}

// inlineChannels is the maximum number of channels in a small schema.
const inlineChannels = 2

func newValues(s *Schema) *values {
	v := &values{schema: s}
	if n := len(s.channels); n <= inlineChannels {
		v.slots = v.inline[:n:n]
	} else {
		v.slots = make([]Slot, n)
	}
	return v
}

func (v *values) Slot(c Channel) Slot { return v.slots[v.schema.mustIndex(c)] }

func (v *values) values() *values { return v }

// singleChannelView is a View in which only one channel has a value.
type singleChannelView struct {
	schema *Schema
	index  int
	slot   Slot
}

func (v *singleChannelView) Slot(c Channel) Slot {
	if v.schema.mustIndex(c) == v.index {
		return v.slot
	}
	return Slot{}
}

func (v *singleChannelView) values() *values {
	out := newValues(v.schema)
	out.slots[v.index] = v.slot
	return out
}

// sentView is the view of a sent task that [WatchSent] returns.
type sentView struct {
	View
	state  View
	missed func(channel string)
}

// WatchSent returns a copy of v, the view of a sent task, that reports missing values.
// The copy calls missed with the name of each channel that the task reads
// although the channel was not sent and has a value in state.
func WatchSent(v, state View, missed func(channel string)) View {
	return &sentView{v, state, missed}
}

func (v *sentView) Slot(c Channel) Slot {
	slot := v.View.Slot(c)
	if slot.Absent() && !v.state.Slot(c).Absent() {
		v.missed(c.Core().Name)
	}
	return slot
}

// overlay is a view of a base state after the writes of one task.
// A read of a channel folds the writes to that channel.
// The fold does not change the buffers of the base state.
type overlay struct {
	base   *values
	writes []Write
}

// Overlay returns the state after the writes of one task on v. A branch after a node
// reads an overlay. The writes to a channel are folded when the channel is read.
func Overlay[W Source](s *Schema, v View, writes []W) View {
	if len(writes) == 0 {
		return v
	}
	o := &overlay{base: s.own(v), writes: make([]Write, len(writes))}
	for i, w := range writes {
		o.writes[i] = w.Core()
	}
	return o
}

func (o *overlay) Slot(c Channel) Slot { return o.slot(o.base.schema.mustIndex(c)) }

func (o *overlay) values() *values {
	out := newValues(o.base.schema)
	for i := range out.slots {
		out.slots[i] = o.slot(i)
	}
	return out
}

func (o *overlay) slot(i int) Slot {
	slot, err := o.fold(i)
	if err != nil {
		panic(err)
	}
	return slot
}

// fold returns the value of a channel after the writes. An error is a channel error.
func (o *overlay) fold(i int) (slot Slot, err error) {
	slot, t := o.base.slots[i], o.base.schema.channels[i]
	m := Mark{Detach: true}
	for _, w := range o.writes {
		if w.channel != t {
			continue
		}
		if slot, err = foldSafely(t, slot, &m, w.action); err != nil {
			return slot, ChannelError(t.Name, err)
		}
		m.dirty = true
	}
	if m.dirty && t.Prunes {
		if slot, err = pruneSafely(t, slot, &m); err != nil {
			return slot, ChannelError(t.Name, err)
		}
	}
	return slot, nil
}

// After returns the state after the writes of one task on v. Unlike [Overlay], it folds the
// writes at once. It ignores signals.
func After[W Source](v View, writes []W) (View, error) {
	o := &overlay{base: v.values(), writes: make([]Write, len(writes))}
	next := newValues(o.base.schema)
	copy(next.slots, o.base.slots)
	for i, w := range writes {
		o.writes[i] = w.Core()
	}
	for i, w := range o.writes {
		if w.channel == nil || slices.ContainsFunc(o.writes[:i], func(e Write) bool { return e.channel == w.channel }) {
			continue
		}
		at := o.base.schema.index(w.channel)
		if at < 0 {
			return nil, o.base.schema.unknown(w.channel.Name)
		}
		var err error
		if next.slots[at], err = o.fold(at); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// own returns the values of v. It panics if v is a view of another schema.
func (s *Schema) own(v View) *values {
	own := v.values()
	if own.schema != s {
		panic("state: the view belongs to another schema; pass a view of the same graph")
	}
	return own
}

// Empty returns the state in which every channel is absent.
func (s *Schema) Empty() View { return newValues(s) }

// Import returns a copy of base with values from v:
// the values of the channels that both schemas have, except for the channels named private.
// A nil base means the empty state.
func (s *Schema) Import(base, v View, private []string) View { return s.imported(base, v, private) }

func (s *Schema) imported(base, v View, private []string) *values {
	next := newValues(s)
	if base != nil {
		copy(next.slots, s.own(base).slots)
	}
	from := v.values()
	for i, t := range s.channels {
		if j := from.schema.index(t); j >= 0 && !slices.Contains(private, t.Name) {
			next.slots[i] = from.slots[j]
		}
	}
	return next
}
