package agentmemory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/weft-go/weft/memory"
)

// errStuck means that an earlier call did not return after its timeout.
var errStuck = errors.New("an earlier call has not returned yet")

// errEnded means that a call ended its goroutine with runtime.Goexit.
var errEnded = errors.New("agentmemory: the call ended its goroutine")

// stuck counts, for each scope, the calls that did not return after their timeout.
type stuck struct {
	mu    sync.Mutex
	calls map[memory.Scope]int
}

func (s *stuck) add(scope memory.Scope, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[memory.Scope]int{}
	}
	if s.calls[scope] += n; s.calls[scope] == 0 {
		delete(s.calls, scope)
	}
}

func (s *stuck) any(scope memory.Scope) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[scope] > 0
}

// patient calls a function that may panic, or may ignore the end of its context, as embedders
// can. It waits for Options.Patience. A call that does not return in time continues in its
// goroutine, and until it returns all other calls in the scope fail with errStuck.
func patient[T any](ctx context.Context, k *Kit, scope memory.Scope, call func(context.Context) (T, error)) (result T, err error) {
	if err := k.check(scope); err != nil {
		return result, err
	}
	if k.stuck.any(scope) {
		return result, fmt.Errorf("agentmemory: %w", errStuck)
	}
	within, cancel := context.WithTimeout(ctx, k.options.Patience)
	defer cancel()
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	var mu sync.Mutex
	left, returned := false, false
	go func() {
		o := outcome{err: errEnded}
		defer func() {
			if p := recover(); p != nil {
				o.err = fmt.Errorf("agentmemory: panic: %v", p)
				k.log.ErrorContext(ctx, "a memory panicked", "panic", p, "stack", string(debug.Stack()))
			}
			mu.Lock()
			defer mu.Unlock()
			returned = true
			if left {
				k.stuck.add(scope, -1)
			}
			done <- o
		}()
		o.value, o.err = call(within)
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-within.Done():
	}
	mu.Lock()
	defer mu.Unlock()
	if returned {
		o := <-done
		return o.value, o.err
	}
	left = true
	k.stuck.add(scope, 1)
	return result, fmt.Errorf("agentmemory: no answer: %w", within.Err())
}
