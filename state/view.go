package state

// A View is a state that never changes. It is read through channels:
// Messages.Get(view). A View may be shared freely and kept for ever.
type View interface {
	// slot returns the value of a channel, nil when absent. A channel that the
	// view's schema lacks is a panic with a [ChannelError].
	slot(c channel) any
}

// values is a whole state: a slot for each channel of a schema.
type values struct {
	schema *Schema
	slots  []any
}

// newValues makes the slots of small schemas in one piece with the state, to
// save an allocation.
func newValues(s *Schema) *values {
	switch n := len(s.channels); {
	case n <= 2:
		v := &struct {
			values
			inline [2]any
		}{values: values{schema: s}}
		v.slots = v.inline[:n:n]
		return &v.values
	case n <= 4:
		v := &struct {
			values
			inline [4]any
		}{values: values{schema: s}}
		v.slots = v.inline[:n:n]
		return &v.values
	default:
		return &values{schema: s, slots: make([]any, n)}
	}
}

func (v *values) slot(c channel) any {
	i := v.schema.index(c)
	if i < 0 {
		panic(&ChannelError{Channel: c.Name(), Err: ErrUnknownChannel})
	}
	return v.slots[i]
}

// plain returns v as a whole state.
func plain(v View) *values {
	o, over := v.(*overlay)
	if !over {
		return v.(*values)
	}
	out := newValues(o.base.schema)
	for i, c := range o.base.schema.channels {
		out.slots[i] = o.slot(c)
	}
	return out
}

// overlay is a state with some writes of one task applied. Channels fold when
// they are read, into copies, so that nothing of the state below is claimed.
type overlay struct {
	base   *values
	writes []Write
}

func (o *overlay) slot(c channel) any {
	v := o.base.slot(c)
	m := mark{facts: facts{detach: true}}
	for i := range o.writes {
		w := &o.writes[i]
		if w.ch == nil || !w.ch.same(c) {
			continue
		}
		next, err := foldSafely(c, v, &m, w)
		if err != nil {
			panic(channelError(c.Name(), err))
		}
		m.dirty = true
		v = next
	}
	if m.dirty && c.info().prunes {
		next, err := finishSafely(c.(pruner), v, &m)
		if err != nil {
			panic(channelError(c.Name(), err))
		}
		v = next
	}
	return v
}
