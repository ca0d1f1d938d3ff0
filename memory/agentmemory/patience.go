package agentmemory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/weft-go/weft/memory"
)

// errStuck says that something before has not returned, though it was told to.
var errStuck = errors.New("an earlier call has not returned yet")

// errEnded says that a call neither returned nor panicked, as after runtime.Goexit.
var errEnded = errors.New("agentmemory: the call ended its goroutine")

// stuck counts the calls of each scope that were told to return and did not.
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

// patient calls what may panic, and what may not return when its context ends, as embedders of
// others do. It waits as long as the kit is patient. What has not returned then goes on by itself, once
// for each turn that runs in the scope: until it returns, the scope has no other.
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
