package state

// A View is a state that never changes. It is read through channels:
// Messages.Get(view). A View may be shared freely and kept for ever.
type View interface {
	// slot returns the value of a channel, nil when absent. A channel that the
	// view's schema lacks is a panic with a [ChannelError].
	slot(c channel) any
}

// values is a whole state, with its slots at hand: one for each channel of its schema.
type values struct {
	View
	schema *Schema
	slots  []any
}

// What is kept of a state holds the slots of small schemas in itself: each superstep makes one.
type (
	two struct {
		schema *Schema
		slots  [2]any
	}
	four struct {
		schema *Schema
		slots  [4]any
	}
	wide struct {
		schema *Schema
		slots  []any
	}
)

func newValues(s *Schema) values {
	switch n := len(s.channels); {
	case n <= 2:
		v := &two{schema: s}
		return values{v, s, v.slots[:n:n]}
	case n <= 4:
		v := &four{schema: s}
		return values{v, s, v.slots[:n:n]}
	default:
		v := &wide{s, make([]any, n)}
		return values{v, s, v.slots}
	}
}

func (v *two) slot(c channel) any  { return v.slots[v.schema.slotOf(c)] }
func (v *four) slot(c channel) any { return v.slots[v.schema.slotOf(c)] }
func (v *wide) slot(c channel) any { return v.slots[v.schema.slotOf(c)] }

// slotOf is index for a channel that has to be there.
func (s *Schema) slotOf(c channel) int {
	i := s.index(c)
	if i < 0 {
		panic(&ChannelError{Channel: c.Name(), Err: ErrUnknownChannel})
	}
	return i
}

// plain returns v as a whole state.
func plain(v View) values {
	switch v := v.(type) {
	case *two:
		return values{v, v.schema, v.slots[:len(v.schema.channels)]}
	case *four:
		return values{v, v.schema, v.slots[:len(v.schema.channels)]}
	case *overlay:
		out := newValues(v.base.schema)
		for i, c := range v.base.schema.channels {
			out.slots[i] = v.slot(c)
		}
		return out
	case *sole:
		out := newValues(v.schema)
		out.slots[v.at] = v.value
		return out
	}
	all := v.(*wide)
	return values{all, all.schema, all.slots}
}

// sole is a state in which one channel has a value.
type sole struct {
	schema *Schema
	at     int
	value  any
}

func (o *sole) slot(c channel) any {
	if o.schema.slotOf(c) == o.at {
		return o.value
	}
	return nil
}

// overlay is a state with some writes of one task applied. Channels fold when
// they are read, into copies, so that nothing of the state below is claimed.
type overlay struct {
	base   values
	writes []Write
}

func (o *overlay) slot(c channel) any {
	v := o.base.slot(c)
	m := mark{facts: facts{detach: true}}
	for i := range o.writes {
		w := &o.writes[i]
		if w.verb == nil || w.verb.of != c.info() {
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
