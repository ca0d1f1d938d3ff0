package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ResealOptions configures [EncryptedStore.Reseal]. Its zero value works.
type ResealOptions struct {
	// Prefix selects the threads whose id begins with it. Empty means all threads.
	Prefix string
	// DryRun makes Reseal change nothing. It then reports the threads that it would
	// encrypt again, and checks that each can be decrypted.
	DryRun bool
	// Progress, when set, is called after each thread.
	Progress func(ResealProgress)
}

// ResealProgress describes the thread that Reseal has finished last.
type ResealProgress struct {
	Thread      string
	Checkpoints int   // the number of the thread's checkpoints
	Resealed    bool  // the thread was encrypted again, or would be without DryRun
	Err         error // the error of this thread, or nil
	Done, Total int   // the numbers of finished threads and of all threads
}

// ResealResult counts threads.
type ResealResult struct {
	Threads  int // all threads that Reseal examined
	Resealed int // threads that were encrypted again, or would be without DryRun
	Busy     int // threads with an [ErrConflict], for example because a run held them
	Failed   int // threads with another error
}

// Reseal encrypts again each thread whose values have an old key or an old form. Afterwards
// the old keys can be removed from the key ring. Checkpoints keep their ids, order, parents,
// pending writes and tags, and this store continues to report their times. In the inner
// store they get new times, which [PrunePolicy.KeepFor] and [ThreadInfo] use.
//
// The inner store needs to be a [ThreadLister] and a [ThreadCopier] whose CopyThread
// is atomic, and a [RunDeleter] for threads from which checkpoints were removed.
// Reseal writes each thread to another thread of the inner store, deletes the
// original and copies the new one back. The thread does not exist for a moment, so
// no runs should use the store meanwhile. If the store is a [Leaser], Reseal skips a
// thread that a run has leased. Reseal loads a whole thread into memory.
//
// If Reseal is interrupted, no data is lost, but one thread may be missing until
// Reseal is called again with the same or an empty Prefix. Do not delete or start threads
// before that call.
//
// If a thread cannot be encrypted again, Reseal leaves it unchanged and continues with the
// next thread. At the end it returns the first such error.
func (e *EncryptedStore) Reseal(ctx context.Context, o ResealOptions) (ResealResult, error) {
	var result ResealResult
	copier, ok := e.inner.(ThreadCopier)
	if !ok {
		return result, e.lacks("reseal: copy thread")
	}
	threads, begun, err := e.resealThreads(ctx, o.Prefix)
	if err != nil {
		return result, fmt.Errorf("checkpoint: reseal: %w", err)
	}
	var first error
	for i, thread := range threads {
		r := &resealing{store: e, copier: copier, thread: thread, begun: begun[thread], dry: o.DryRun}
		err := r.run(ctx)
		result.add(r.changed, err)
		if first == nil && err != nil {
			first = fmt.Errorf("thread %q: %w", thread, err)
		}
		if o.Progress != nil {
			o.Progress(ResealProgress{
				Thread: thread, Checkpoints: r.checkpoints, Resealed: r.changed && err == nil,
				Err: err, Done: i + 1, Total: len(threads),
			})
		}
		if err != nil && (ctx.Err() != nil || !r.unleased && !concernsOneThread(err)) {
			return result, fmt.Errorf("checkpoint: reseal: stopped after %d of %d threads; call it again: %w", i, len(threads), first)
		}
	}
	if first != nil {
		return result, fmt.Errorf("checkpoint: reseal: %d of %d threads remain as they were, the first is %w",
			result.Busy+result.Failed, len(threads), first)
	}
	return result, nil
}

func (r *ResealResult) add(changed bool, err error) {
	r.Threads++
	switch {
	case errors.Is(err, ErrConflict):
		r.Busy++
	case err != nil:
		r.Failed++
	case changed:
		r.Resealed++
	}
}

func concernsOneThread(err error) bool {
	for _, target := range []error{ErrConflict, ErrDecrypt, ErrCorrupt, ErrFormat, ErrTooLarge, ErrInvalid, errors.ErrUnsupported} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// The prefixes of two temporary threads of the inner store. For each thread, Reseal writes
// the new checkpoints to the first. It creates the second when the first is complete.
const (
	resealPrefix         = "weft-reseal/"
	resealCompletePrefix = "weft-resealed/"
)

func isResealThread(thread string) bool {
	return strings.HasPrefix(thread, resealPrefix) || strings.HasPrefix(thread, resealCompletePrefix)
}

// resealThreads returns the ids of the threads with a prefix. The map is true for a thread
// for which an interrupted Reseal left temporary threads.
func (e *EncryptedStore) resealThreads(ctx context.Context, prefix string) ([]string, map[string]bool, error) {
	lister, ok := e.inner.(ThreadLister)
	if !ok {
		return nil, nil, e.lacks("list threads")
	}
	var threads []string
	begun := map[string]bool{}
	for _, before := range []string{"", resealPrefix, resealCompletePrefix} {
		for info, err := range lister.ListThreads(ctx, before+prefix) {
			if err != nil && info.ID == "" { // an error with an id is found again when the thread is read
				return nil, nil, err
			}
			if before == "" && isResealThread(info.ID) {
				continue
			}
			thread := strings.TrimPrefix(info.ID, before)
			threads = append(threads, thread)
			if before != "" {
				begun[thread] = true
			}
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads), begun, nil
}

// A resealing encrypts one thread again.
type resealing struct {
	store       *EncryptedStore
	copier      ThreadCopier
	thread      string
	begun       bool // an earlier attempt was interrupted
	dry         bool
	unleased    bool // the thread could not be leased, for example because it is parked
	checkpoints int
	changed     bool
}

func (r *resealing) run(ctx context.Context) error {
	needed, err := r.needed(ctx)
	if err != nil {
		return err
	}
	if r.dry {
		r.changed = needed || r.begun
		if !needed {
			return nil
		}
		return newThreadCopy(r.store, r.thread, r.thread).read(ctx)
	}
	if !needed && !r.begun {
		return nil
	}
	inner, release, err := r.lease(ctx)
	if err != nil {
		return err
	}
	err = r.replace(ctx, inner, release)
	return errors.Join(err, release(context.WithoutCancel(ctx)))
}

// lease leases the thread. It returns the lease and a function that releases it. If the
// inner store has no leases, it returns the inner store and a function that does nothing.
func (r *resealing) lease(ctx context.Context) (Store, func(context.Context) error, error) {
	inner := r.store.inner
	none := func(context.Context) error { return nil }
	leaser, ok := inner.(Leaser)
	if !ok {
		return inner, none, nil
	}
	lease, err := leaser.Lease(ctx, r.thread)
	if errors.Is(err, errors.ErrUnsupported) {
		return inner, none, nil
	}
	if err != nil {
		r.unleased = true
		return nil, nil, err
	}
	return lease, lease.Release, nil
}

// replace encrypts the thread again, or completes an interrupted attempt.
func (r *resealing) replace(ctx context.Context, leased Store, release func(context.Context) error) error {
	if r.begun {
		complete, err := r.recover(ctx)
		if err != nil {
			return err
		}
		if complete {
			return r.finish(ctx, release)
		}
	}
	needed, err := r.needed(ctx)
	if err != nil || !needed {
		return err
	}
	before, err := r.fingerprint(ctx)
	if err != nil {
		return err
	}
	if err := r.copy(ctx); err != nil {
		return err
	}
	after, err := r.fingerprint(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("it was changed meanwhile; call Reseal again: %w", ErrConflict)
	}
	if err != nil {
		return errors.Join(err, r.store.inner.DeleteThread(context.WithoutCancel(ctx), resealPrefix+r.thread))
	}
	mark := Checkpoint{Key: Key{Thread: resealCompletePrefix + r.thread, ID: "complete"}, Source: Edited}
	if err := r.store.inner.Put(ctx, mark, ""); err != nil {
		return err
	}
	if err := leased.DeleteThread(ctx, r.thread); err != nil {
		return err
	}
	return r.finish(ctx, release)
}

// copy writes the new checkpoints and their tags to the first temporary thread.
func (r *resealing) copy(ctx context.Context) error {
	c := newThreadCopy(r.store, r.thread, resealPrefix+r.thread)
	c.boundTo = r.thread
	if err := c.read(ctx); err != nil {
		return err
	}
	if err := c.write(ctx); err != nil {
		return err
	}
	store, ok := r.store.inner.(tagger)
	if !ok {
		return nil
	}
	tags, err := store.Tags(ctx, r.thread)
	if err != nil {
		return err
	}
	for tag, k := range tags {
		k.Thread = resealPrefix + r.thread
		if err := store.Tag(ctx, k, tag); err != nil {
			return err
		}
	}
	return nil
}

// A tagger is a store that can give names to checkpoints.
type tagger interface {
	Tag(ctx context.Context, k Key, tag string) error
	Tags(ctx context.Context, thread string) (map[string]Key, error)
}

// finish copies the new checkpoints to the id of the deleted thread, and deletes the
// temporary threads. It releases the lease first, because in some stores a lease of the
// target prevents the copy.
func (r *resealing) finish(ctx context.Context, release func(context.Context) error) error {
	if err := release(ctx); err != nil {
		return err
	}
	err := r.copier.CopyThread(ctx, resealPrefix+r.thread, r.thread)
	if err != nil {
		return fmt.Errorf("its checkpoints are in thread %q of the inner store; call Reseal again: %w", resealPrefix+r.thread, err)
	}
	r.changed = true
	return r.clean(ctx)
}

func (r *resealing) clean(ctx context.Context) error {
	// Delete the thread with resealCompletePrefix first. If clean is interrupted then, the
	// next Reseal finds only the other temporary thread and deletes it.
	if err := r.store.inner.DeleteThread(ctx, resealCompletePrefix+r.thread); err != nil {
		return err
	}
	return r.store.inner.DeleteThread(ctx, resealPrefix+r.thread)
}

// recover deletes the temporary threads of an interrupted attempt. If the thread does not
// exist and its copy is complete, recover keeps the copy and returns true.
func (r *resealing) recover(ctx context.Context) (bool, error) {
	mark, err := r.ids(ctx, resealCompletePrefix+r.thread)
	if err != nil {
		return false, err
	}
	if len(mark) == 0 {
		return false, r.clean(ctx)
	}
	copied, err := r.ids(ctx, resealPrefix+r.thread)
	if err != nil {
		return false, err
	}
	present, err := r.ids(ctx, r.thread)
	if err != nil {
		return false, err
	}
	if len(copied) > 0 && len(present) == 0 {
		return true, nil
	}
	// CopyThread is atomic, so the thread is the original or a complete copy, or a new
	// thread with the same id.
	same := func(id string) bool { return slices.Contains(copied, id) }
	if len(copied) > 0 && !slices.ContainsFunc(present, same) {
		return false, fmt.Errorf("a new thread was started under this id while Reseal was interrupted; "+
			"copy or delete that one, and call Reseal again to restore the earlier one, which is in thread %q of the inner store: %w",
			resealPrefix+r.thread, ErrConflict)
	}
	return false, r.clean(ctx)
}
