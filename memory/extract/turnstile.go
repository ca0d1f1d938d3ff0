package extract

import (
	"context"
	"fmt"
	"sync"

	"github.com/weft-go/weft/memory"
)

// A turnstile lets one turn of a scope through at a time, so that each sees what the one before has changed.
type turnstile struct {
	mu     sync.Mutex
	inside map[memory.Scope]chan struct{} // closed when the one that is inside leaves
}

// enter waits until nobody is inside. Who is has left at the latest when the context ends.
func (s *turnstile) enter(ctx context.Context, scope memory.Scope) (leave func(), err error) {
	for {
		s.mu.Lock()
		busy := s.inside[scope]
		if busy == nil {
			leave := s.begin(scope)
			s.mu.Unlock()
			stop := context.AfterFunc(ctx, leave)
			return func() { stop(); leave() }, nil
		}
		s.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another turn of the scope %s: %w", scope, context.Cause(ctx))
		}
	}
}

// begin is called with the lock.
func (s *turnstile) begin(scope memory.Scope) (leave func()) {
	if s.inside == nil {
		s.inside = map[memory.Scope]chan struct{}{}
	}
	left := make(chan struct{})
	s.inside[scope] = left
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.inside, scope)
		close(left)
	})
}
