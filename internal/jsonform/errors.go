package jsonform

import (
	"errors"
	"fmt"
)

var (
	// ErrRoundTrip is returned for a type or value that storage cannot restore
	// unchanged.
	ErrRoundTrip = errors.New("does not survive storage")
	// ErrStored is returned for stored data that cannot be read.
	ErrStored = errors.New("stored change cannot be read")
	// ErrUpgrade begins an error of the Upgrade function of a channel.
	ErrUpgrade = errors.New("its Upgrade function")
)

// recoverAs turns a panic of the user's code into an error.
// The argument what is the name of that code in the error.
func recoverAs(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v", what, v)
	}
}
