package state

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// Conditions that a [ChannelError] wraps. Use [errors.Is].
var (
	// ErrConcurrentWrite: two tasks of one superstep wrote to a channel that
	// accepts one writer, or two tasks overwrote one channel.
	ErrConcurrentWrite = statecore.ErrConcurrentWrite
	// ErrUnknownChannel: the channel is not part of the graph.
	ErrUnknownChannel = statecore.ErrUnknownChannel
	// ErrRoundTrip: storage would not give back a type or value as it was.
	ErrRoundTrip = jsonform.ErrRoundTrip
	// ErrStored: a stored change cannot be read back into its channel.
	ErrStored = jsonform.ErrStored
	// ErrOverflow: a [Sum] exceeded the range of its type.
	ErrOverflow = errors.New("the sum overflows")
	// ErrDuplicate: two channels of a graph have the same name.
	ErrDuplicate = statecore.ErrDuplicate
	// ErrName: the name cannot be used for a channel.
	ErrName = statecore.ErrName
)

// A ChannelError reports what is wrong with a channel, or with a write to it.
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
