package suitetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Record runs a function with a [testing.TB] that records failures, and returns their texts. A
// test of a suite calls it for a store that must fail. The function may call the methods of
// testing.TB that suites call.
func Record(run func(tb testing.TB)) []string {
	r := &recorder{ctx: context.Background()}
	var done sync.WaitGroup
	done.Go(func() { run(r) })
	done.Wait()
	for _, cleanup := range slices.Backward(r.cleanups) {
		cleanup()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failures
}

type recorder struct {
	testing.TB
	ctx      context.Context
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *recorder) fail(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, text)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failures) > 0
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *recorder) Context() context.Context          { return r.ctx }
func (r *recorder) Helper()                           {}
func (r *recorder) Log(...any)                        {}
func (r *recorder) Logf(string, ...any)               {}
func (r *recorder) Error(args ...any)                 { r.fail(strings.TrimSpace(fmt.Sprintln(args...))) }
func (r *recorder) Errorf(format string, args ...any) { r.fail(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}
