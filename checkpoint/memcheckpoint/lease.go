package memcheckpoint

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint"
)

// A lease passes calls to its store. After Release, Put and PutWrites return an error.
type lease struct {
	*Store
	thread   string
	released atomic.Bool
}

// Lease implements [checkpoint.Leaser]. The lease does not expire.
func (s *Store) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if thread == "" {
		return nil, fmt.Errorf("memcheckpoint: lease: empty thread id: %w", checkpoint.ErrInvalid)
	}
	l := &lease{Store: s, thread: thread}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leases[thread] != nil {
		return nil, fmt.Errorf("memcheckpoint: lease of thread %q: another run holds it: %w", thread, checkpoint.ErrConflict)
	}
	s.leases[thread] = l
	return l, nil
}

// Release implements [checkpoint.Lease].
func (l *lease) Release(context.Context) error {
	l.released.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leases[l.thread] == l {
		delete(l.leases, l.thread)
	}
	return nil
}

// Put implements [checkpoint.Store].
func (l *lease) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if l.released.Load() {
		return l.lost()
	}
	return l.Store.Put(ctx, c, head)
}

// PutWrites implements [checkpoint.Store].
func (l *lease) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if l.released.Load() {
		return l.lost()
	}
	return l.Store.PutWrites(ctx, k, writes)
}

func (l *lease) lost() error {
	return fmt.Errorf("memcheckpoint: the lease of thread %q was released: %w", l.thread, checkpoint.ErrConflict)
}
