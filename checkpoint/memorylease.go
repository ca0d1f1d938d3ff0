package checkpoint

import (
	"context"
	"fmt"
	"sync/atomic"
)

// A memoryLease passes everything on to its store while it is held.
type memoryLease struct {
	*Memory
	thread   string
	released atomic.Bool
	own      atomic.Pointer[memoryThread] // so that it is looked up once
}

// met returns the thread as it was last seen, or nil. It may be gone.
func (l *memoryLease) met() *memoryThread {
	if l == nil {
		return nil
	}
	return l.own.Load()
}

func (l *memoryLease) meet(t *memoryThread) {
	if l != nil && l.own.Load() != t {
		l.own.Store(t)
	}
}

// Lease implements [Leaser]. A lease of this store does not run out.
func (m *Memory) Lease(ctx context.Context, thread string) (Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if thread == "" {
		return nil, fmt.Errorf("checkpoint: lease: empty thread id: %w", ErrInvalid)
	}
	s := m.shard(thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[thread] != nil {
		return nil, fmt.Errorf("checkpoint: lease of thread %q: another run holds it: %w", thread, ErrConflict)
	}
	if s.held == nil {
		s.held = map[string]*memoryLease{}
	}
	l := &memoryLease{Memory: m, thread: thread}
	s.held[thread] = l
	return l, nil
}

// Release implements [Lease].
func (l *memoryLease) Release(context.Context) error {
	s := l.shard(l.thread)
	s.mu.Lock()
	defer s.mu.Unlock()
	l.released.Store(true)
	if s.held[l.thread] == l {
		delete(s.held, l.thread)
	}
	return nil
}

// Put implements [Store].
func (l *memoryLease) Put(ctx context.Context, c Checkpoint, head string) error {
	if l.released.Load() {
		return l.lost()
	}
	if c.Thread != l.thread {
		return l.Memory.Put(ctx, c, head)
	}
	return l.put(ctx, &c, head, l)
}

// PutWrites implements [Store].
func (l *memoryLease) PutWrites(ctx context.Context, k Key, writes []Write) error {
	if l.released.Load() {
		return l.lost()
	}
	return l.Memory.PutWrites(ctx, k, writes)
}

func (l *memoryLease) lost() error {
	return fmt.Errorf("checkpoint: lease of thread %q was released: %w", l.thread, ErrConflict)
}
