package checkpoint

import (
	"context"
	"iter"
	"strings"
	"time"
)

// A Leaser is a [Store] that can give one run at a time the right to a thread.
// Package graph takes a lease for the length of a run where the store has it.
type Leaser interface {
	// Lease gives the caller the thread until it is released, or the process
	// ends. It returns [ErrConflict] at once when another run holds it, in
	// this process or another.
	Lease(ctx context.Context, thread string) (Lease, error)
}

// A Lease is a [Store] for one run of one thread. Where leases can run out,
// every Put and PutWrites through it checks that it is still held, and renews
// it; one that was lost is an [ErrConflict].
type Lease interface {
	Store
	// Release gives the thread back. It takes effect even when ctx is done,
	// and a second time does nothing. Put and PutWrites through a lease that
	// was released return [ErrConflict].
	Release(ctx context.Context) error
}

// A ThreadLister is a [Store] that can list its threads.
type ThreadLister interface {
	// ListThreads yields the threads whose id begins with the prefix, by id.
	ListThreads(ctx context.Context, prefix string) iter.Seq2[ThreadInfo, error]
}

// ThreadInfo describes a thread.
type ThreadInfo struct {
	ID          string
	Checkpoints int // in all namespaces
	Created     time.Time
	Updated     time.Time
}

// A ThreadCopier is a [Store] that can copy a thread.
type ThreadCopier interface {
	// CopyThread copies every checkpoint and pending write of a thread, in
	// order and with their ids. The target must not exist ([ErrConflict]); a
	// source that does not exist is an [ErrNotFound]. Whether the times are
	// those of the source or of the copy is up to the store.
	CopyThread(ctx context.Context, from, to string) error
}

// A Pruner is a [Store] that can forget old checkpoints.
type Pruner interface {
	// Prune removes old checkpoints and returns how many. What is kept can
	// still be read, forked and continued: the changes it builds on are kept
	// with it, and its parent is the nearest ancestor that was kept. Threads
	// that do not exist are no error.
	Prune(ctx context.Context, p PrunePolicy) (int, error)
}

// A PrunePolicy says what [Pruner.Prune] keeps. A checkpoint stays when any of
// its rules holds; the newest one of every namespace always stays, with one
// exception. A namespace that belongs to one call of a subgraph, as [CalledAt]
// reports, is removed whole as soon as the checkpoint at which the call was made
// is not kept: nothing can resume that call any more.
type PrunePolicy struct {
	// Threads are the threads to prune. Nil means all of them.
	Threads []string
	// KeepLast keeps the newest so many of every namespace. Below 1 counts as 1.
	KeepLast int
	// KeepFor keeps what is younger.
	KeepFor time.Duration
	// KeepPending keeps checkpoints that have pending writes, such as the
	// questions of a paused run.
	KeepPending bool
}

// Keeps reports whether the policy keeps a checkpoint, given how many of its
// namespace are newer, its age, and whether it has pending writes. It is for
// those who write a [Pruner].
func (p PrunePolicy) Keeps(newer int, age time.Duration, pending bool) bool {
	return newer < max(p.KeepLast, 1) || age < p.KeepFor || p.KeepPending && pending
}

// CalledAt returns the checkpoint at which a subgraph was called, given the
// namespace that holds the checkpoints of that call: the namespace of the caller
// and the id of the checkpoint in it. It returns false for a namespace that does
// not belong to one call: the empty one, and that of a persistent subgraph, whose
// checkpoints outlive the call. It is for those who write a [Pruner].
func CalledAt(namespace string) (caller, id string, ok bool) {
	call := namespace
	if i := strings.LastIndexByte(namespace, '/'); i >= 0 {
		caller, call = namespace[:i], namespace[i+1:]
	}
	i := strings.LastIndexByte(call, '@')
	if i < 0 || call[0] == '~' {
		return "", "", false
	}
	return caller, call[i+1:], true
}

// A RunDeleter is a [Store] that can remove what some runs wrote.
type RunDeleter interface {
	// DeleteRuns removes the checkpoints, with their pending writes, that the
	// runs wrote to the thread, in all namespaces. Checkpoints of other runs
	// that were built on them keep their state. Runs that do not exist are no
	// error, and an empty id is [ErrInvalid]. The newest checkpoint that stays
	// becomes the head of its namespace.
	DeleteRuns(ctx context.Context, thread string, runs ...string) error
}
