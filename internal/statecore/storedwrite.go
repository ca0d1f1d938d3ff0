package statecore

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
)

// EncodeWrite returns the stored form of a write. Ok is false if there is none:
// the write is a signal or does nothing, or its channel is never stored.
func (s *Schema) EncodeWrite(w Write) (k Kind, data []byte, ok bool, err error) {
	if w.channel == nil {
		return 0, nil, false, nil
	}
	if s.index(w.channel) < 0 {
		return 0, nil, false, s.unknown(w.Channel())
	}
	if w.channel.Untracked {
		return 0, nil, false, nil
	}
	k, data, err = w.channel.Codec.EncodeWrite(w.action)
	return k, data, err == nil, ChannelError(w.Channel(), err)
}

// DecodeWrite reads what EncodeWrite returned. Its error wraps ErrStored if the
// data cannot be read, and ErrUnknownChannel if the schema has no such channel.
func (s *Schema) DecodeWrite(channel string, k Kind, data []byte) (Write, error) {
	return s.readWrite(channel, func(c Codec) (Action, error) { return c.DecodeWrite(k, data) })
}

// ChangesAreWrites reports whether each stored change of a channel has the
// effect of one write on any state.
func (s *Schema) ChangesAreWrites(channel string) bool {
	i, err := s.lookup(channel)
	return err == nil && s.channels[i].ChangesAreWrites
}

// WriteFromChange returns the write that has the effect of a stored change. Use
// it for channels for which [Schema.ChangesAreWrites] returns true.
func (s *Schema) WriteFromChange(channel string, k Kind, data []byte) (Write, error) {
	return s.readWrite(channel, func(c Codec) (Action, error) {
		a, ok, err := c.WriteFromChange(k, data)
		if err == nil && !ok {
			err = fmt.Errorf("%w: kind %s", jsonform.ErrStored, k)
		}
		return a, err
	})
}

// readWrite returns the zero Write for an action without a kind.
func (s *Schema) readWrite(channel string, read func(Codec) (Action, error)) (Write, error) {
	i, err := s.lookup(channel)
	if err != nil {
		return Write{}, err
	}
	a, err := func() (a Action, err error) {
		defer recoverStored(&err)
		return read(s.channels[i].Codec)
	}()
	if err != nil || a.Kind == 0 {
		return Write{}, ChannelError(channel, withRemedy(err))
	}
	return Write{s.channels[i], a}, nil
}

// withRemedy adds a remedy to an error for stored data that cannot be read.
func withRemedy(err error) error {
	if errors.Is(err, jsonform.ErrStored) {
		return fmt.Errorf("%w; if the type of the channel has changed, give it an Upgrade function that converts the old JSON", err)
	}
	return err
}

// recoverStored turns a panic into an error. Stored data may be anything, and
// methods of the user's types read it.
func recoverStored(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: panic: %v", jsonform.ErrStored, v)
	}
}
