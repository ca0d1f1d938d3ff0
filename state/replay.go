package state

import "fmt"

// A Replayer rebuilds a state from stored changes, without any user code.
type Replayer struct {
	schema *Schema
	next   values
	marks  []mark
	done   bool
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
	if r.done {
		return &ChannelError{Channel: name, Err: errFinished}
	}
	if k == KindClear {
		r.next.slots[i], r.marks[i] = slot{}, mark{}
		return nil
	}
	next, err := r.replay(i, k, data)
	if err != nil {
		return channelError(name, err)
	}
	r.next.slots[i] = next
	return nil
}

// replay turns a panic into an error, as what is stored may be anything and the
// element of a keyed list has an Identity of the user's.
func (r *Replayer) replay(i int, k Kind, data []byte) (next slot, err error) {
	defer unreadable(&err)
	return r.schema.channels[i].replay(r.next.slots[i], &r.marks[i], k, data)
}

// unreadable makes an error of a panic in the user's code.
func unreadable(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%w: panic: %v", ErrStored, r)
	}
}

// Import takes over v's values of the channels that both schemas have.
func (r *Replayer) Import(v View) {
	from := plain(v)
	for i, c := range r.schema.channels {
		if j := from.schema.index(c); j >= 0 {
			r.next.slots[i], r.marks[i] = from.slots[j], mark{}
		}
	}
}

// View returns the state so far. The Replayer is not to be used afterwards.
func (r *Replayer) View() View {
	r.done = true
	return r.next.View
}
