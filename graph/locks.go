package graph

import "sync"

// threadLocks keeps two runs of this process off one thread, for stores that
// have no leases.
type threadLocks struct {
	mu   sync.Mutex
	held map[string]bool
}

func newThreadLocks() *threadLocks { return &threadLocks{held: map[string]bool{}} }

func (l *threadLocks) lock(thread string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[thread] {
		return false
	}
	l.held[thread] = true
	return true
}

func (l *threadLocks) unlock(thread string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, thread)
}
