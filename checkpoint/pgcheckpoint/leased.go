package pgcheckpoint

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// write calls fn with the lease, or with nil if k belongs to another thread. It returns
// [ErrFenced] after the lease was released.
func (l *lease) write(what string, k checkpoint.Key, fn func(l *lease) error) error {
	if k.Thread != l.thread {
		return fn(nil)
	}
	l.mu.Lock()
	released := l.released
	l.newest = nil
	l.mu.Unlock()
	if released {
		return l.fail(what, k, fmt.Errorf("the lease was released: %w", ErrFenced))
	}
	start := time.Now()
	err := fn(l)
	if err == nil {
		l.setRenewed(start)
	}
	return err
}

// Put implements [checkpoint.Store].
func (l *lease) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	return l.write("put", c.Key, func(held *lease) error { return l.Store.put(ctx, &c, head, held) })
}

// PutWrites implements [checkpoint.Store].
func (l *lease) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	return l.write("put writes", k, func(held *lease) error { return l.putWrites(ctx, k, writes, held) })
}

// DeleteThread implements [checkpoint.Store].
func (l *lease) DeleteThread(ctx context.Context, thread string) error {
	k := checkpoint.Key{Thread: thread}
	return l.write("delete", k, func(held *lease) error { return l.deleteThread(ctx, thread, held) })
}

// Get implements [checkpoint.Store].
func (l *lease) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if newest := l.takeNewest(k); newest != nil && ctx.Err() == nil {
		c, err := newest.checkpoint(&k)
		if err != nil {
			return checkpoint.Checkpoint{}, l.fail("get", k, err)
		}
		return c, nil
	}
	return l.Store.Get(ctx, k)
}

// takeNewest returns the checkpoint that was read with the lease, and drops it. It returns
// nil if k does not ask for the newest checkpoint of the root namespace, or if the lease has
// no such checkpoint any more.
func (l *lease) takeNewest(k checkpoint.Key) *loaded {
	if k != (checkpoint.Key{Thread: l.thread}) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	newest := l.newest
	l.newest = nil
	return newest
}
