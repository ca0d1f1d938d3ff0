package state

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Handle is any channel: a [Channel], a [ListChannel] or a [KeyedChannel].
type Handle interface {
	// Name is the channel's name in storage.
	Name() string
	channel
}

// channel is the engine's side of a channel, free of its types.
type channel interface {
	Name() string
	info() *traits
	// fold applies a write. It may grow in place what m says it owns.
	fold(s slot, m *mark, w *Write) (slot, error)
	// encode emits what the step changed.
	encode(s slot, m *mark, to *sink) error
	// replay applies a stored change.
	replay(s slot, m *mark, k Kind, data []byte) (slot, error)
	// snapshot emits the changes that build the slot from nothing.
	snapshot(s slot, to *sink) error
	encodeWrite(w Write) (Kind, []byte, error)
	decodeWrite(k Kind, data []byte) (Write, error)
	// echo returns the write which has the stored change as its effect, if the
	// channel's changes can be read so.
	echo(k Kind, data []byte) (Write, bool, error)
}

// pruner is a channel that has a say after the writes of a step. It is asked
// when its traits say that it prunes.
type pruner interface {
	finish(s slot, m *mark) (slot, error)
}

// traits are what the engine must know of a channel.
type traits struct {
	name      string
	kind      string // "append", "sum", …: for descriptions
	goType    string
	err       error // why its type can not be stored
	exclusive bool  // two tasks may not write it in one step
	ephemeral bool  // lives one step
	untracked bool  // never stored
	prunes    bool  // it is a pruner, with something to prune
	echoes    bool  // echo gives back the very effect of each change
	verbs
}

func (t *traits) Name() string  { return t.name }
func (t *traits) info() *traits { return t }

// A Schema is the set of channels that a graph has. It is immutable and safe
// for concurrent use.
type Schema struct {
	channels []channel
	traits   []*traits
	byName   map[string]int
	byTraits map[*traits]int
}

// NewSchema checks channels and makes a schema of them. Its error joins a
// [ChannelError] for every mistake: a bad or repeated name, a type that would
// not survive storage. A channel that is given twice counts once.
func NewSchema(channels ...Handle) (*Schema, error) {
	s := &Schema{byName: map[string]int{}, byTraits: map[*traits]int{}}
	var errs []error
	for i, h := range channels {
		t := traitsOf(h)
		if t == nil {
			errs = append(errs, &ChannelError{Err: fmt.Errorf("channel %d of %d was not made by a constructor of this package", i+1, len(channels))})
			continue
		}
		if _, known := s.byTraits[t]; known {
			continue
		}
		if !usable(t.name) {
			errs = append(errs, &ChannelError{Channel: t.name, Err: ErrName})
		}
		if i, taken := s.byName[t.name]; taken {
			other := s.traits[i]
			errs = append(errs, &ChannelError{Channel: t.name, Err: fmt.Errorf("%w: %s of %s and %s of %s", ErrDuplicate, other.kind, other.goType, t.kind, t.goType)})
			continue
		}
		if t.err != nil {
			errs = append(errs, &ChannelError{Channel: t.name, Err: t.err})
		}
		s.add(h, t)
	}
	return s, errors.Join(errs...)
}

func (s *Schema) add(c channel, t *traits) {
	s.byName[t.name] = len(s.channels)
	s.byTraits[t] = len(s.channels)
	s.channels = append(s.channels, c)
	s.traits = append(s.traits, t)
}

// usable reports whether every store can keep a channel of this name.
func usable(name string) bool {
	return name != "" && !strings.HasPrefix(name, "$") && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// traitsOf returns nil for a handle that is nil or a zero value.
func traitsOf(h Handle) (t *traits) {
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	return h.info()
}

func (s *Schema) index(c channel) int { return s.indexOf(c.info()) }

// indexOf finds a channel; small schemas are faster to scan than to hash.
func (s *Schema) indexOf(t *traits) int {
	if len(s.traits) <= 8 {
		for i, have := range s.traits {
			if have == t {
				return i
			}
		}
		return -1
	}
	if i, ok := s.byTraits[t]; ok {
		return i
	}
	return -1
}

// Has reports whether the schema has this channel, not just one of its name.
func (s *Schema) Has(h Handle) bool { return s.index(h) >= 0 }

// Describe returns the channels in the order of their declaration.
func (s *Schema) Describe() []Description {
	out := make([]Description, len(s.traits))
	for i, t := range s.traits {
		out[i] = Description{Name: t.name, Kind: t.kind, Type: t.goType, Stored: !t.untracked}
	}
	return out
}

// A Description says what a channel is.
type Description struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`   // "last", "append", "sum", …
	Type   string `json:"type"`   // the Go type of its value
	Stored bool   `json:"stored"` // false for an untracked channel
}

// Empty returns the state in which every channel is absent.
func (s *Schema) Empty() View { return newValues(s).View }

// Overlay returns v with some writes of one task applied, as a branch sees the
// state after its own node. It costs nothing until it is read.
func (s *Schema) Overlay(v View, writes []Write) View {
	if len(writes) == 0 {
		return v
	}
	return &overlay{base: s.own(v), writes: writes}
}

// Import returns a state of s that holds v's values of the channels which both
// have, and nothing else but what base holds of the rest. Base may be nil.
func (s *Schema) Import(base, v View) View {
	from, next := plain(v), newValues(s)
	if base != nil {
		copy(next.slots, s.own(base).slots)
	}
	for i, c := range s.channels {
		if j := from.schema.index(c); j >= 0 {
			next.slots[i] = from.slots[j]
		}
	}
	return next.View
}

// own asserts that v is a state of this schema.
func (s *Schema) own(v View) values {
	own := plain(v)
	if own.schema != s {
		panic("state: a view of another schema")
	}
	return own
}

// Snapshot emits the changes that build v from nothing.
func (s *Schema) Snapshot(v View, emit Emit) error {
	own, to := s.own(v), &sink{emit: emit}
	for i, c := range s.channels {
		if own.slots[i].absent() || s.traits[i].untracked {
			continue
		}
		if err := c.snapshot(own.slots[i], to); err != nil {
			return channelError(c.Name(), err)
		}
	}
	return nil
}

// EncodeWrite returns the stored form of a write, or ok false when there is
// none: its channel is never stored, or it is a signal.
func (s *Schema) EncodeWrite(w Write) (k Kind, data []byte, ok bool, err error) {
	if w.verb == nil {
		return 0, nil, false, nil
	}
	i := s.indexOf(w.verb.of)
	if i < 0 {
		return 0, nil, false, &ChannelError{Channel: w.Channel(), Err: ErrUnknownChannel}
	}
	if s.traits[i].untracked {
		return 0, nil, false, nil
	}
	k, data, err = w.verb.ch.encodeWrite(w)
	return k, data, err == nil, channelError(w.Channel(), err)
}

// DecodeWrite reads what EncodeWrite returned. Its error wraps [ErrStored] when
// the data can not be read, and [ErrUnknownChannel] when the schema has no such
// channel.
func (s *Schema) DecodeWrite(name string, k Kind, data []byte) (Write, error) {
	i, ok := s.byName[name]
	if !ok {
		return Write{}, &ChannelError{Channel: name, Err: ErrUnknownChannel}
	}
	w, err := readWrite(s.channels[i], k, data)
	return w, channelError(name, err)
}

// Echoes reports whether a channel's stored changes can be read as writes which
// have the same effect on any state.
func (s *Schema) Echoes(name string) bool {
	i, ok := s.byName[name]
	return ok && s.traits[i].echoes
}

// Echo returns the write which has the stored change as its effect. It is of
// use for channels that [Schema.Echoes] reports.
func (s *Schema) Echo(name string, k Kind, data []byte) (Write, error) {
	i, ok := s.byName[name]
	if !ok {
		return Write{}, &ChannelError{Channel: name, Err: ErrUnknownChannel}
	}
	w, err := readEcho(s.channels[i], k, data)
	return w, channelError(name, err)
}

func readWrite(c channel, k Kind, data []byte) (w Write, err error) {
	defer unreadable(&err)
	return c.decodeWrite(k, data)
}

func readEcho(c channel, k Kind, data []byte) (w Write, err error) {
	defer unreadable(&err)
	w, ok, err := c.echo(k, data)
	if err == nil && !ok {
		err = fmt.Errorf("%w: kind %s", ErrStored, k)
	}
	return w, err
}

// Shared reports whether other has a channel of this name that is the same
// channel as here.
func (s *Schema) Shared(name string, other *Schema) bool {
	i, ok := s.byName[name]
	return ok && other.index(s.channels[i]) >= 0
}

// Conflicts returns the names that s and other both use, each for a channel of
// its own.
func (s *Schema) Conflicts(other *Schema) []string {
	var out []string
	for _, t := range s.traits {
		if _, taken := other.byName[t.name]; taken && !s.Shared(t.name, other) {
			out = append(out, t.name)
		}
	}
	return out
}
