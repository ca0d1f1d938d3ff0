package state

// A View is a state that never changes. It is read through channels:
// Messages.Get(view). A View may be shared freely and kept for ever.
type View interface {
	// slot returns what it holds of a channel. A channel that the view's schema
	// lacks is a panic with a [ChannelError].
	slot(c channel) slot
}

// A slot is what a state holds of a channel; the zero slot is absent. Slots are never
// changed once a view holds them. A number is apart from the value, as the length of a
// list or a sum would take an allocation each time that it changes.
type slot struct {
	value any
	n     int64
}

func (s slot) absent() bool { return s.value == nil }

// values is a whole state, with its slots at hand: one for each channel of its schema.
type values struct {
	View
	schema *Schema
	slots  []slot
}

// What is kept of a state holds the slots of small schemas in itself: each superstep makes one.
type (
	two struct {
		schema *Schema
		slots  [2]slot
	}
	four struct {
		schema *Schema
		slots  [4]slot
	}
	wide struct {
		schema *Schema
		slots  []slot
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
		v := &wide{s, make([]slot, n)}
		return values{v, s, v.slots}
	}
}

func (v *two) slot(c channel) slot  { return v.slots[v.schema.slotOf(c)] }
func (v *four) slot(c channel) slot { return v.slots[v.schema.slotOf(c)] }
func (v *wide) slot(c channel) slot { return v.slots[v.schema.slotOf(c)] }

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
		out.slots[v.at] = v.held
		return out
	}
	all := v.(*wide)
	return values{all, all.schema, all.slots}
}

// sole is a state in which one channel has a value.
type sole struct {
	schema *Schema
	at     int
	held   slot
}

func (o *sole) slot(c channel) slot {
	if o.schema.slotOf(c) == o.at {
		return o.held
	}
	return slot{}
}

// overlay is a state with some writes of one task applied. Channels fold when
// they are read, into copies, so that nothing of the state below is claimed.
type overlay struct {
	base   values
	writes []Write
}

func (o *overlay) slot(c channel) slot {
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
