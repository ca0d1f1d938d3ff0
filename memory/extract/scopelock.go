package extract

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-go/weft/memory"
)

// scopeLocks is a lock for each scope. Its zero value is ready to use.
type scopeLocks struct {
	mu   sync.Mutex
	held map[memory.Scope]chan struct{} // closed when the holder unlocks
}

// lock waits for the lock of a scope. The lock is released when unlock is called or when
// the context ends, so that a hanging holder does not block the scope.
func (s *scopeLocks) lock(ctx context.Context, scope memory.Scope) (unlock func(), err error) {
	for {
		s.mu.Lock()
		held := s.held[scope]
		if held == nil {
			unlock := s.hold(scope)
			s.mu.Unlock()
			stop := context.AfterFunc(ctx, unlock)
			return func() { stop(); unlock() }, nil
		}
		s.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another turn of the scope %s: %w", scope, context.Cause(ctx))
		}
	}
}

// hold takes the lock of a scope. The caller holds s.mu.
func (s *scopeLocks) hold(scope memory.Scope) (unlock func()) {
	if s.held == nil {
		s.held = map[memory.Scope]chan struct{}{}
	}
	released := make(chan struct{})
	s.held[scope] = released
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.held, scope)
		close(released)
	})
}
