package checkpoint

import (
	"context"
	"iter"
	"strings"
	"time"
)

// A Leaser is a [Store] that can reserve a thread for one run at a time. Package graph
// holds a lease for the length of a run if the store supports it.
type Leaser interface {
	// Lease reserves the thread for the caller until the lease is released or the
	// process ends. It returns [ErrConflict] at once if another run holds the thread,
	// in this process or another.
	Lease(ctx context.Context, thread string) (Lease, error)
}

// A Lease is a [Store] for one run of one thread. If leases of the store can expire, every
// Put and PutWrites renews the lease. They return [ErrConflict] if the lease has expired
// and was lost to another run.
type Lease interface {
	Store
	// Release ends the lease. It takes effect even if ctx is done. Another call does
	// nothing. After Release, Put and PutWrites return [ErrConflict].
	Release(ctx context.Context) error
}

// A ThreadLister is a [Store] that can list its threads.
type ThreadLister interface {
	// ListThreads yields the threads whose id begins with the prefix, ordered by id. An error
	// with an id is about that thread alone, and the caller may continue the loop.
	ListThreads(ctx context.Context, prefix string) iter.Seq2[ThreadInfo, error]
}

// ThreadInfo describes a thread.
type ThreadInfo struct {
	ID          string
	Checkpoints int // the number of checkpoints in all namespaces
	Created     time.Time
	Updated     time.Time
}

// A ThreadCopier is a [Store] that can copy a thread.
type ThreadCopier interface {
	// CopyThread copies every checkpoint and pending write of a thread to a new thread. Ids
	// and order remain the same. The store decides whether the times also remain the same.
	// CopyThread returns [ErrConflict] if the target exists, and [ErrNotFound] if the
	// source does not exist.
	CopyThread(ctx context.Context, from, to string) error
}

// A Pruner is a [Store] that can remove old checkpoints.
type Pruner interface {
	// Prune removes old checkpoints and returns their number. A checkpoint that is
	// kept can still be read, forked and continued: the store keeps the changes that
	// it builds on, and its parent becomes the nearest ancestor that is kept. Threads
	// that do not exist are ignored. If Prune was interrupted, another call removes the rest.
	//
	// A thread whose stored values cannot be read keeps its checkpoints, unless DeleteIdle deletes it. Prune continues with the
	// other threads. At the end it returns a [*ThreadError] for each such thread, joined with [errors.Join].
	Prune(ctx context.Context, p PrunePolicy) (int, error)
}

// A PrunePolicy says which checkpoints [Pruner.Prune] keeps. It keeps a checkpoint if at
// least one of the rules applies, and always keeps the newest of each namespace. Only
// DeleteIdle removes whole threads.
//
// There is one exception: the namespace of one call of a subgraph, as [CalledAt] reports.
// When the checkpoint at which the call was made is removed, Prune removes the whole
// namespace, because the call can no longer be resumed.
type PrunePolicy struct {
	// Threads are the threads to prune. Nil means all threads.
	Threads []string
	// KeepLast keeps this many of the newest checkpoints of each namespace. Values
	// below 1 mean 1; see DeleteIdle for an exception.
	KeepLast int
	// KeepFor keeps checkpoints that are younger than this.
	KeepFor time.Duration
	// KeepPending keeps checkpoints that have pending writes, such as the questions
	// of a paused run.
	KeepPending bool
	// DeleteIdle, if above zero, deletes each thread whose newest checkpoint is older, with
	// all its checkpoints. It does not delete a thread that a run holds. With KeepPending, it also does not delete
	// a thread if the newest checkpoint of any of its namespaces has pending writes. The other rules prune the
	// threads that remain. If both KeepLast and KeepFor are zero, these threads keep all
	// their checkpoints.
	DeleteIdle time.Duration
	// Progress, if not nil, is called from time to time, by the goroutine of Prune.
	Progress func(PruneProgress)
}

// PruneProgress describes the progress of a call of [Pruner.Prune].
type PruneProgress struct {
	Threads     int // threads that were deleted
	Checkpoints int // checkpoints that were removed, including those of deleted threads
}

// Deletes reports whether the policy deletes a thread, given the age of its newest checkpoint
// and whether the newest checkpoint of one of its namespaces has pending writes. It is for
// implementers of [Pruner].
func (p PrunePolicy) Deletes(age time.Duration, pending bool) bool {
	return p.DeleteIdle > 0 && age >= p.DeleteIdle && !(p.KeepPending && pending)
}

// OnlyDeletes reports whether the policy deletes idle threads, and keeps all checkpoints of the
// other threads. It is for implementers of [Pruner].
func (p PrunePolicy) OnlyDeletes() bool {
	return p.DeleteIdle > 0 && p.KeepLast == 0 && p.KeepFor == 0
}

// Keeps reports whether the policy keeps a checkpoint, given the number of newer
// checkpoints in its namespace, its age, and whether it has pending writes. It is for
// implementers of [Pruner].
func (p PrunePolicy) Keeps(newer int, age time.Duration, pending bool) bool {
	return newer < max(p.KeepLast, 1) || age < p.KeepFor || p.KeepPending && pending
}

// CalledAt returns the checkpoint at which a subgraph was called: the caller's namespace
// and the id of the checkpoint. The argument is the namespace of the call's checkpoints.
// CalledAt returns false for the empty namespace and for the namespace of a persistent
// subgraph, because these do not belong to one call. It is for implementers of [Pruner].
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

// A RunDeleter is a [Store] that can remove the checkpoints of a run.
type RunDeleter interface {
	// DeleteRuns removes the checkpoints of the runs from all namespaces of the
	// thread, with their pending writes. Checkpoints of other runs that build on them
	// keep their state. The newest remaining checkpoint becomes the head of its
	// namespace. Runs that do not exist are ignored. An empty run id is [ErrInvalid].
	DeleteRuns(ctx context.Context, thread string, runs ...string) error
}
