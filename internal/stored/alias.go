package stored

import (
	"context"
	"errors"
	"iter"

	"github.com/weft-go/weft/checkpoint"
)

// An alias is a store in which one thread has another id. It supports only reads, and the
// deletion of a thread.
type alias struct {
	store    checkpoint.Store
	id, name string // the id of the thread for callers, and in the store
}

func (a alias) inside(thread string) string {
	if thread == a.id {
		return a.name
	}
	return thread
}

func (a alias) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	outside := k.Thread
	k.Thread = a.inside(k.Thread)
	c, err := a.store.Get(ctx, k)
	c.Thread = outside
	return c, err
}

func (a alias) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	return func(yield func(checkpoint.Checkpoint, error) bool) {
		outside := q.Thread
		inner := q
		inner.Thread = a.inside(q.Thread)
		for c, err := range a.store.List(ctx, inner) {
			c.Thread = outside
			if !yield(c, err) {
				return
			}
		}
	}
}

func (a alias) DeleteThread(ctx context.Context, thread string) error {
	return a.store.DeleteThread(ctx, a.inside(thread))
}

func (alias) Put(context.Context, checkpoint.Checkpoint, string) error { return errors.ErrUnsupported }

func (alias) PutWrites(context.Context, checkpoint.Key, []checkpoint.Write) error {
	return errors.ErrUnsupported
}
