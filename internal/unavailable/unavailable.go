// Package unavailable marks the errors of stores that cannot be used for some time, such as a store whose
// database does not answer.
package unavailable

import "slices"

// New returns an error with a text that [Is] recognises. Each call returns a different error.
func New(text string) error { return &storeError{text} }

// Is reports whether an error says that a store cannot be used for some time: the error, or one that it
// wraps, has a method Unavailable that returns true.
func Is(err error) bool {
	if e, ok := err.(interface{ Unavailable() bool }); ok && e.Unavailable() {
		return true
	}
	switch e := err.(type) { //nolint:errorlint // this switch unwraps the error itself
	case interface{ Unwrap() error }:
		return Is(e.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Is)
	}
	return false
}

type storeError struct{ text string }

func (e *storeError) Error() string   { return e.text }
func (*storeError) Unavailable() bool { return true }
