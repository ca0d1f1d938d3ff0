package account

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/server"
)

// byUser keeps the threads of the server in a project. Each call has the rights of the user in its
// context.
type byUser struct{ all *supacheckpoint.Store }

var _ interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.ThreadCopier
	checkpoint.Pruner
	checkpoint.RunDeleter
} = byUser{}

// of returns the store of the user in the context, or [checkpoint.ErrNotFound] without a user.
func (b byUser) of(ctx context.Context) (*supacheckpoint.Store, error) {
	id := server.ThreadOwner(ctx)
	if id == "" {
		return nil, fmt.Errorf("account: threads without a user: %w", checkpoint.ErrNotFound)
	}
	return b.all.As(supacheckpoint.User{ID: id})
}

// Put implements [checkpoint.Store].
func (b byUser) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	s, err := b.of(ctx)
	if err != nil {
		return err
	}
	return s.Put(ctx, c, head)
}

// PutWrites implements [checkpoint.Store].
func (b byUser) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	s, err := b.of(ctx)
	if err != nil {
		return err
	}
	return s.PutWrites(ctx, k, writes)
}

// Get implements [checkpoint.Store].
func (b byUser) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	s, err := b.of(ctx)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return s.Get(ctx, k)
}

// List implements [checkpoint.Store].
func (b byUser) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	s, err := b.of(ctx)
	if err != nil {
		return func(yield func(checkpoint.Checkpoint, error) bool) { yield(checkpoint.Checkpoint{}, err) }
	}
	return s.List(ctx, q)
}

// DeleteThread implements [checkpoint.Store].
func (b byUser) DeleteThread(ctx context.Context, thread string) error {
	s, err := b.of(ctx)
	if err != nil {
		return err
	}
	return s.DeleteThread(ctx, thread)
}

// Lease implements [checkpoint.Leaser].
func (b byUser) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	s, err := b.of(ctx)
	if err != nil {
		return nil, err
	}
	return s.Lease(ctx, thread)
}

// CopyThread implements [checkpoint.ThreadCopier].
func (b byUser) CopyThread(ctx context.Context, from, to string) error {
	s, err := b.of(ctx)
	if err != nil {
		return err
	}
	return s.CopyThread(ctx, from, to)
}

// Prune implements [checkpoint.Pruner].
func (b byUser) Prune(ctx context.Context, p checkpoint.PrunePolicy) (int, error) {
	s, err := b.of(ctx)
	if err != nil {
		return 0, err
	}
	return s.Prune(ctx, p)
}

// DeleteRuns implements [checkpoint.RunDeleter].
func (b byUser) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	s, err := b.of(ctx)
	if err != nil {
		return err
	}
	return s.DeleteRuns(ctx, thread, runs...)
}
