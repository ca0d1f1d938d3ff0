package statecore

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/suggest"
)

// Rename declares that older stored records use another name for a channel.
// Replay, DecodeWrite and WriteFromChange then accept both names.
// Call Rename before any other method of the schema.
func (s *Schema) Rename(old, name string) error {
	if _, ok := s.byName[name]; !ok {
		return s.unknown(name)
	}
	if _, taken := s.byName[old]; taken {
		return NewChannelError(old, fmt.Errorf("cannot be renamed to %q, since the graph still has a channel of the old name", name))
	}
	if other, done := s.renamed[old]; done && other != name {
		return NewChannelError(old, fmt.Errorf("cannot be renamed to %q, since it is already renamed to %q", name, other))
	}
	if s.renamed == nil {
		s.renamed = map[string]string{}
	}
	s.renamed[old] = name
	return nil
}

// Drop declares that the graph no longer has a channel of older stored records.
// DecodeWrite and WriteFromChange then return the zero Write for it. Call Drop before any other method of the schema.
func (s *Schema) Drop(old string) error {
	if _, taken := s.byName[old]; taken {
		return NewChannelError(old, errors.New("cannot be removed, since the graph still has it"))
	}
	if s.renamed == nil {
		s.renamed = map[string]string{}
	}
	s.renamed[old] = ""
	return nil
}

// Dropped reports whether a channel was given to Drop.
func (s *Schema) Dropped(name string) bool {
	now, ok := s.renamed[name]
	return ok && now == ""
}

// lookup returns the position of the channel with the given present or former name.
func (s *Schema) lookup(name string) (int, error) {
	i, ok := s.byName[name]
	if !ok {
		if i, ok = s.byName[s.renamed[name]]; !ok {
			return -1, s.unknown(name)
		}
	}
	return i, nil
}

// unknown returns an error that wraps ErrUnknownChannel.
// If the schema has another channel of this name, the error says to declare the channel once
// and share its handle. Otherwise it suggests the most similar name, if there is one.
func (s *Schema) unknown(name string) error { return s.unknownOf(name, "") }

// unknownOf is like unknown, and adds the cure if no channel has this name.
func (s *Schema) unknownOf(name, cure string) error {
	err := ErrUnknownChannel
	if _, taken := s.byName[name]; taken {
		err = fmt.Errorf("%w; the graph has another channel of this name: declare the channel once and share the handle", err)
	} else {
		names := make([]string, len(s.channels))
		for i, t := range s.channels {
			names[i] = t.Name
		}
		err = fmt.Errorf("%w%s%s", err, suggest.For(name, names), cure)
	}
	return NewChannelError(name, err)
}
