package state

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// Conditions that a [ChannelError] wraps. Use [errors.Is].
var (
	// ErrConcurrentWrite means that two tasks of one superstep wrote to a channel
	// that accepts one writer, or that two tasks overwrote one channel.
	ErrConcurrentWrite = statecore.ErrConcurrentWrite
	// ErrUnknownChannel means that the channel is not part of the graph.
	ErrUnknownChannel = statecore.ErrUnknownChannel
	// ErrRoundTrip means that storage cannot restore a type or value unchanged.
	ErrRoundTrip = jsonform.ErrRoundTrip
	// ErrStored means that stored data cannot be read back into its channel.
	ErrStored = jsonform.ErrStored
	// ErrOverflow means that a [Sum] exceeded the range of its type.
	ErrOverflow = errors.New("the sum exceeds the range of its type")
	// ErrDuplicate means that two channels of a graph have the same name.
	ErrDuplicate = statecore.ErrDuplicate
	// ErrName means that the name cannot be used for a channel.
	ErrName = statecore.ErrName
)

// A ChannelError is an error of a channel, or of a write to a channel.
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
