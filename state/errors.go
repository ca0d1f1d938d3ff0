package state

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// A [ChannelError] can wrap one of these errors. Test for them with [errors.Is].
var (
	// ErrConcurrentWrite means that two tasks of one superstep wrote to a channel
	// that accepts writes of only one task, or that two tasks overwrote a channel.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrconcurrentwrite.
	ErrConcurrentWrite = statecore.ErrConcurrentWrite
	// ErrUnknownChannel means that the channel is not part of the graph.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrunknownchannel.
	ErrUnknownChannel = statecore.ErrUnknownChannel
	// ErrRoundTrip means that storage cannot restore a type or value unchanged.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrroundtrip.
	ErrRoundTrip = jsonform.ErrRoundTrip
	// ErrStored means that stored data cannot be decoded for its channel.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrstored.
	ErrStored = jsonform.ErrStored
	// ErrOverflow means that a [Sum] exceeded the range of its type.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerroverflow.
	ErrOverflow = errors.New("the sum exceeds the range of its type")
	// ErrDuplicate means that two channels of a graph have the same name.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrduplicate.
	ErrDuplicate = statecore.ErrDuplicate
	// ErrName means that a channel has an invalid name.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#stateerrname.
	ErrName = statecore.ErrName
)

// A ChannelError is an error about a channel, or about a write to a channel.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#statechannelerror.
type ChannelError struct {
	// Channel is the name of the channel.
	Channel string
	// Err is the cause.
	Err error
}

func init() {
	statecore.NewChannelError = func(channel string, err error) error {
		return &ChannelError{Channel: channel, Err: err}
	}
}

func (e *ChannelError) Error() string { return fmt.Sprintf("state: channel %q: %v", e.Channel, e.Err) }

// Unwrap returns the cause.
func (e *ChannelError) Unwrap() error { return e.Err }
