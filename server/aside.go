package server

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is the error of a call that panicked.
var errPanic = errors.New("panic")

// errExited is the error of a call that ended its goroutine.
var errExited = errors.New("the code that it called has ended its goroutine with runtime.Goexit")

// safely calls f, and returns its panic as an error.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	return f()
}

// aside calls f on another goroutine, waits for its end, and returns its panic as an error. The stack of a goroutine
// grows with the deepest call and rarely shrinks. With aside, the goroutine of a run or a stream keeps a small stack while
// it waits for long.
func aside(f func() error) error {
	done := make(chan error, 1)
	go func() {
		err := errExited
		defer func() { done <- err }()
		err = safely(f)
	}()
	return <-done
}
