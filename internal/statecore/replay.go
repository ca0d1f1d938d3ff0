package statecore

// A Replayer rebuilds a state from stored changes. It does not call reducers.
// A Replayer is not safe for concurrent use.
type Replayer struct {
	schema *Schema
	next   *values
	marks  []Mark
	done   bool
}

// Replay returns a Replayer that starts from base, a state of this schema.
// A nil base means the empty state.
func (s *Schema) Replay(base View) *Replayer {
	r := &Replayer{schema: s, next: newValues(s), marks: make([]Mark, len(s.channels))}
	if base != nil {
		copy(r.next.slots, s.own(base).slots)
	}
	return r
}

// Apply replays one stored change. The error wraps ErrStored if the change cannot be
// read, and ErrUnknownChannel if the schema does not have the channel.
func (r *Replayer) Apply(channel string, k Kind, data []byte) error {
	i, err := r.schema.lookup(channel)
	if err != nil {
		return err
	}
	if r.done {
		return NewChannelError(channel, errFinished)
	}
	if k == KindClear {
		r.next.slots[i], r.marks[i] = Slot{}, Mark{}
		return nil
	}
	next, err := r.replay(i, k, data)
	if err != nil {
		return NewChannelError(channel, withRemedy(err))
	}
	r.next.slots[i] = next
	return nil
}

func (r *Replayer) replay(i int, k Kind, data []byte) (next Slot, err error) {
	defer recoverStored(&err)
	return r.schema.channels[i].Codec.Replay(r.next.slots[i], &r.marks[i], k, data)
}

// Import copies from v the values of the channels that both schemas have, except for the
// channels named private. A copied channel that is absent in v becomes absent.
func (r *Replayer) Import(v View, private []string) {
	r.next = r.schema.imported(r.next, v, private)
	clear(r.marks)
}

// View returns the rebuilt state. The Replayer cannot be used afterwards.
func (r *Replayer) View() View {
	r.done = true
	return r.next
}
