package statecore

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
)

// EncodeWrite returns the stored form of a write.
// It returns ok = false if the write has no stored form:
// the write is a signal, does nothing, or changes an untracked channel.
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

// DecodeWrite decodes the result of EncodeWrite. The error wraps ErrStored if the data
// cannot be read, and ErrUnknownChannel if the schema does not have the channel. For a
// channel that was given to Drop, DecodeWrite returns the zero Write.
func (s *Schema) DecodeWrite(channel string, k Kind, data []byte) (Write, error) {
	return s.readWrite(channel, func(c Codec) (Action, error) { return c.DecodeWrite(k, data) })
}

// ChangesAreWrites reports whether each stored change of a channel has the same
// effect as one write, on any state.
func (s *Schema) ChangesAreWrites(channel string) bool {
	i, err := s.lookup(channel)
	return err == nil && s.channels[i].ChangesAreWrites
}

// WriteFromChange returns a write with the same effect as a stored change. Call it
// only for channels for which [Schema.ChangesAreWrites] returns true.
func (s *Schema) WriteFromChange(channel string, k Kind, data []byte) (Write, error) {
	return s.readWrite(channel, func(c Codec) (Action, error) {
		a, ok, err := c.WriteFromChange(k, data)
		if err == nil && !ok {
			at, _ := s.lookup(channel) // readWrite has found it
			err = OtherKind(k, s.channels[at].Kind)
		}
		return a, err
	})
}

// readWrite returns a write with the action that the function read returns.
// An action without a kind becomes the zero Write.
func (s *Schema) readWrite(channel string, read func(Codec) (Action, error)) (Write, error) {
	i, err := s.lookup(channel)
	if err != nil {
		if s.Dropped(channel) {
			return Write{}, nil
		}
		return Write{}, fmt.Errorf("%w; if it was renamed or removed, say so in the graph's Migrations", err)
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

// errOtherKind is the error for data that a channel of another kind has stored.
var errOtherKind = errors.New("a channel of another kind stored it")

// OtherKind returns the error for a stored change or write that a channel of the given kind never stores.
// It wraps ErrStored.
func OtherKind(k Kind, channel string) error {
	return fmt.Errorf("%w: %w: the stored change has the kind %s, which a channel of the kind %s does not have", jsonform.ErrStored, errOtherKind, k, channel)
}

// withRemedy adds advice to an error for stored data that cannot be read.
func withRemedy(err error) error {
	switch {
	case errors.Is(err, errOtherKind):
		return fmt.Errorf("%w; the kind of a channel cannot change while threads have it, and Upgrade cannot help: keep the channel as it was, and give the new kind a channel with another name", err)
	case errors.Is(err, jsonform.ErrUpgrade):
		return fmt.Errorf("%w; it has to convert every form that was ever stored, and to return the present form unchanged", err)
	case errors.Is(err, jsonform.ErrStored):
		return fmt.Errorf("%w; if the type of the channel has changed, give it an Upgrade function that converts the old JSON; if its kind has changed, give the new kind a channel with another name", err)
	}
	return err
}

// recoverStored turns a panic into an error. The user's methods decode stored data,
// and may panic if the data is invalid.
func recoverStored(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%w: panic: %v", jsonform.ErrStored, v)
	}
}
