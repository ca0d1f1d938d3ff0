// Package suitetest runs the cases of the suites that backends import, such as package
// checkpointtest. A case that panics or does not end fails only its own test.
package suitetest

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Run runs a case in a goroutine of its own. It fails the test if the case panics, or does not
// end within the limit. The goroutine of a case that does not end keeps running. If the
// test fails, it logs the promise of the case.
func Run(tb testing.TB, promise string, limit time.Duration, check func()) {
	tb.Helper()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("broken promise: %s", promise)
		}
	})
	began := make(chan []byte, 1)
	ended := make(chan error, 1)
	go func() {
		var err error
		// FailNow ends the goroutine of a case, so only a deferred function can send the result.
		defer func() { ended <- err }()
		began <- goroutine()
		err = Recovered(func() error {
			check()
			return nil
		})
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-ended:
		if err != nil {
			tb.Errorf("%v", err)
		}
	case <-timer.C:
		tb.Errorf("the case did not end within %v: a call waits for ever, or a loop has no end\n%s", limit, stack(<-began))
	}
}

// Recovered calls a function. It returns the error of the function, or a panic as an error with
// the stack.
func Recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the case panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}

// Opened returns the value that a function of the suite's caller returned. It fails the test if
// the value is a nil interface or a nil pointer. The argument what names the value, such as "store".
func Opened[S any](tb testing.TB, what string, value S) S {
	tb.Helper()
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		tb.Fatalf("the suite got no %s: the function that the test passes to the suite returned nil", what)
	}
	return value
}

// goroutine returns the start of the stack of the calling goroutine: "goroutine 7 ".
func goroutine() []byte {
	buf := make([]byte, 64)
	buf = buf[:runtime.Stack(buf, false)]
	name, _, _ := bytes.Cut(buf, []byte("["))
	return name
}

// stack returns the stack that begins with the given start.
func stack(start []byte) []byte {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	for one := range bytes.SplitSeq(buf, []byte("\n\n")) {
		if bytes.HasPrefix(one, start) {
			return one
		}
	}
	return nil
}
