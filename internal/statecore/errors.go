package statecore

import (
	"errors"
	"fmt"
)

// Package state exports and documents these errors.
var (
	ErrConcurrentWrite = errors.New("more than one task wrote to it in one superstep")
	ErrUnknownChannel  = errors.New("the graph does not have this channel")
	ErrDuplicate       = errors.New("two channels have this name")
	ErrName            = errors.New("a channel's name must not be empty or begin with $")
)

// errFinished is returned for a write after the end of a transaction.
// Such a write would change a view that the caller already has.
var errFinished = errors.New("the transaction or replay has ended and accepts no more writes")

// NewChannelError returns an error with the name of a channel.
// Package state replaces it by a function that returns a *state.ChannelError,
// since this package cannot import package state.
var NewChannelError = func(channel string, err error) error {
	return fmt.Errorf("state: channel %q: %w", channel, err)
}

// ChannelError adds the name of a channel to err. It returns nil if err is nil.
func ChannelError(channel string, err error) error {
	if err == nil {
		return nil
	}
	return NewChannelError(channel, err)
}

// recoverAs turns a panic of the user's code into an error.
// The argument what names that code in the error.
func recoverAs(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", what, v)
	}
}
