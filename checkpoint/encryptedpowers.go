package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Lease implements [Leaser].
func (e *EncryptedStore) Lease(ctx context.Context, thread string) (Lease, error) {
	leaser, ok := e.inner.(Leaser)
	if !ok {
		return nil, e.lacks("lease")
	}
	lease, err := leaser.Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return &encryptedLease{EncryptedStore: e.over(lease), lease: lease}, nil
}

// over returns a store that wraps inner and shares the keys and the cache of e.
func (e *EncryptedStore) over(inner Store) *EncryptedStore {
	return &EncryptedStore{inner: inner, seal: e.seal, known: e.known}
}

type encryptedLease struct {
	*EncryptedStore
	lease Lease
}

// Release implements [Lease].
func (l *encryptedLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

// ListThreads implements [ThreadLister]. It omits the temporary threads of
// [EncryptedStore.Reseal].
func (e *EncryptedStore) ListThreads(ctx context.Context, prefix string) iter.Seq2[ThreadInfo, error] {
	return func(yield func(ThreadInfo, error) bool) {
		lister, ok := e.inner.(ThreadLister)
		if !ok {
			yield(ThreadInfo{}, e.lacks("list threads"))
			return
		}
		for info, err := range lister.ListThreads(ctx, prefix) {
			if err == nil && isResealThread(info.ID) {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// ListStatus implements [StatusLister]. It does not list static pauses, because their nodes are
// encrypted.
func (e *EncryptedStore) ListStatus(ctx context.Context, q StatusQuery) iter.Seq2[ThreadStatus, error] {
	lister, ok := e.inner.(StatusLister)
	if !ok {
		return func(yield func(ThreadStatus, error) bool) { yield(ThreadStatus{}, e.lacks("list by status")) }
	}
	return lister.ListStatus(ctx, q)
}

// Prune implements [Pruner].
func (e *EncryptedStore) Prune(ctx context.Context, p PrunePolicy) (int, error) {
	if pruner, ok := e.inner.(Pruner); ok {
		return pruner.Prune(ctx, p)
	}
	return 0, e.lacks("prune")
}

// DeleteRuns implements [RunDeleter].
func (e *EncryptedStore) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	if deleter, ok := e.inner.(RunDeleter); ok {
		return deleter.DeleteRuns(ctx, thread, runs...)
	}
	return e.lacks("delete runs")
}

func (e *EncryptedStore) lacks(power string) error {
	return fmt.Errorf("checkpoint: %s: the inner store %T does not support it: %w", power, e.inner, errors.ErrUnsupported)
}
