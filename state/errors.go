package state

import (
	"errors"
	"fmt"
)

// Conditions that a [ChannelError] wraps. Use [errors.Is].
var (
	// ErrConcurrentWrite says that two tasks of one superstep wrote to a
	// channel that takes one write, or that two of them overwrote one channel.
	ErrConcurrentWrite = errors.New("more than one task wrote to it in one superstep")
	// ErrUnknownChannel says that a channel is not part of the schema.
	ErrUnknownChannel = errors.New("the graph does not have this channel")
	// ErrRoundTrip says that a type or value would not come back from storage
	// as it went in.
	ErrRoundTrip = errors.New("does not survive storage")
	// ErrStored says that a stored change can not be read back into its channel.
	ErrStored = errors.New("stored change cannot be read")
	// ErrOverflow says that a [Sum] left the range of its type.
	ErrOverflow = errors.New("the sum overflows")
	// ErrDuplicate says that a schema has two channels of one name.
	ErrDuplicate = errors.New("two channels have this name")
	// ErrName says that a channel's name can not be used.
	ErrName = errors.New("a channel's name must not be empty or begin with $")
)

// A ChannelError says what is wrong with a channel, or with a write to it.
type ChannelError struct {
	// Channel is the name of the channel.
	Channel string
	// Err is the cause.
	Err error
}

func (e *ChannelError) Error() string { return fmt.Sprintf("state: channel %q: %v", e.Channel, e.Err) }

// Unwrap returns the cause.
func (e *ChannelError) Unwrap() error { return e.Err }

func channelError(name string, err error) error {
	if err == nil {
		return nil
	}
	return &ChannelError{Channel: name, Err: err}
}
