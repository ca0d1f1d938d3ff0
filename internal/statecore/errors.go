package statecore

import (
	"errors"
	"fmt"
)

// The conditions that package state exports.
var (
	ErrConcurrentWrite = errors.New("more than one task wrote to it in one superstep")
	ErrUnknownChannel  = errors.New("the graph does not have this channel")
	ErrDuplicate       = errors.New("two channels have this name")
	ErrName            = errors.New("a channel's name must not be empty or begin with $")
)

// errFinished keeps a view that was returned from changing.
var errFinished = errors.New("a write after the view was taken")

// NewChannelError makes the error for a channel. Package state sets it to return
// its own ChannelError, since this package cannot import state.
var NewChannelError = func(channel string, err error) error {
	return fmt.Errorf("state: channel %q: %w", channel, err)
}

// ChannelError returns the error for a channel, or nil if err is nil.
func ChannelError(channel string, err error) error {
	if err == nil {
		return nil
	}
	return NewChannelError(channel, err)
}

// recoverAs turns a panic of the user's code into an error.
func recoverAs(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", what, v)
	}
}
