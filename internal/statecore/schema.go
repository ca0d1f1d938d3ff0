package statecore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Schema is the set of channels of a graph. It is safe for concurrent use.
type Schema struct {
	channels []*Traits
	byName   map[string]int
	byTraits map[*Traits]int
	renamed  map[string]string // current names of channels by their former names
	checked  bool              // some channel needs a check; see [Tx.Check]
}

// NewSchema returns the schema of the given channels.
// The error joins one channel error for each invalid or duplicate name
// and for each channel that cannot be used, for example because of its type.
// A channel may be given more than once.
func NewSchema[C Channel](channels ...C) (*Schema, error) {
	s := &Schema{byName: map[string]int{}, byTraits: map[*Traits]int{}}
	var errs []error
	for i, c := range channels {
		t := traitsOf(c)
		if t == nil {
			errs = append(errs, NewChannelError("", fmt.Errorf("channel %d of %d was not made by a constructor of package state", i+1, len(channels))))
			continue
		}
		errs = append(errs, s.add(t))
	}
	return s, errors.Join(errs...)
}

func (s *Schema) add(t *Traits) error {
	if _, known := s.byTraits[t]; known {
		return nil
	}
	var nameErr error
	if !usable(t.Name) {
		nameErr = NewChannelError(t.Name, ErrName)
	}
	if i, taken := s.byName[t.Name]; taken {
		other := s.channels[i]
		return errors.Join(nameErr, NewChannelError(t.Name, fmt.Errorf("%w: %s of %s and %s of %s", ErrDuplicate, other.Kind, other.Value, t.Kind, t.Value)))
	}
	s.byName[t.Name] = len(s.channels)
	s.byTraits[t] = len(s.channels)
	s.channels = append(s.channels, t)
	s.checked = s.checked || t.Checked
	return errors.Join(nameErr, ChannelError(t.Name, t.Err))
}

// usable reports whether a name is valid for a channel in every store.
func usable(name string) bool {
	return name != "" && !strings.HasPrefix(name, "$") && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// traitsOf returns the traits of a channel, or nil for a nil or zero handle.
func traitsOf(c Channel) (t *Traits) {
	defer func() {
		if recover() != nil {
			t = nil
		}
	}()
	return c.Core()
}

// index returns the position of a channel in the schema, or -1.
// For a small schema, a scan is faster than a map lookup.
func (s *Schema) index(t *Traits) int {
	if len(s.channels) <= 8 {
		for i, have := range s.channels {
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

// mustIndex is like index, but panics if the schema lacks the channel.
func (s *Schema) mustIndex(c Channel) int {
	i := s.index(c.Core())
	if i < 0 {
		panic(s.unknownOf(c.Name(), "; pass the channel to graph.New, or for an agent to agent.Options.Channels"))
	}
	return i
}

// Has reports whether c is a channel of the schema.
// A different channel with the same name is not enough.
func (s *Schema) Has(c Channel) bool { return s.index(c.Core()) >= 0 }

// HasEphemeral reports whether the schema has an ephemeral channel.
func (s *Schema) HasEphemeral() bool {
	for _, t := range s.channels {
		if t.Ephemeral {
			return true
		}
	}
	return false
}

// A Description contains the name and the types of a channel, for display.
type Description struct {
	Name   string
	Kind   string // "last", "append", "sum", …
	Type   string // the Go type of the value
	Stored bool   // whether the value is stored; false for an untracked channel
	// Replaces says that an update replaces the value. Otherwise it is merged into the value.
	Replaces bool
	// Initial is the JSON of the value before the first write. It is nil if the channel then
	// has no value, or is not stored.
	Initial json.RawMessage
	// Internal says that the channel is an implementation detail of nodes.
	Internal bool
}

// Describe returns the descriptions of the channels, in their order in the schema.
func (s *Schema) Describe() []Description {
	out := make([]Description, len(s.channels))
	for i, t := range s.channels {
		out[i] = Description{Name: t.Name, Kind: t.Kind, Type: t.Value.String(), Stored: !t.Untracked, Replaces: t.Replaces, Initial: t.initial(), Internal: t.Internal}
	}
	return out
}

// initial returns the JSON of the value before the first write, or nil if there is none.
// It also returns nil for a default that is null, panics or cannot be stored.
func (t *Traits) initial() (data json.RawMessage) {
	if t.Untracked {
		return nil
	}
	defer func() {
		if recover() != nil {
			data = nil
		}
	}()
	slot := t.Codec.Initial()
	if slot.Absent() {
		return nil
	}
	out := ChangeWriter{emit: func(_ string, _ Kind, value []byte) { data = value }}
	if t.Codec.Snapshot(slot, &out) != nil || string(data) == "null" {
		return nil
	}
	return data
}

// Shared reports whether the channel with this name in s is also a channel of other.
func (s *Schema) Shared(channel string, other *Schema) bool {
	i, err := s.lookup(channel)
	return err == nil && other.index(s.channels[i]) >= 0
}

// Conflicts returns the names that the two schemas use for different channels.
func (s *Schema) Conflicts(other *Schema) []string {
	var out []string
	for _, t := range s.channels {
		if _, taken := other.byName[t.Name]; taken && !s.Shared(t.Name, other) {
			out = append(out, t.Name)
		}
	}
	return out
}
