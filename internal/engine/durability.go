package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// Durability selects when the progress of a run is stored.
type Durability uint8

// The durability modes.
// Sync stores a step before the next step starts.
// Async stores a step while the next step runs.
// Exit stores all steps at the end of the run.
const (
	Sync Durability = iota
	Async
	Exit
)

// String returns the name of the mode.
func (d Durability) String() string {
	switch d {
	case Sync:
		return "sync"
	case Async:
		return "async"
	case Exit:
		return "exit"
	}
	return fmt.Sprintf("durability(%d)", uint8(d))
}

// A writer stores the checkpoints and pending writes of one run in order.
// Each durability mode has its own writer.
// The subgraphs of a superstep use the writer concurrently.
//
// Only the async writer uses the argument of put after put has returned.
// After a put of another writer, the caller may reuse the memory of the checkpoint,
// except the memory of its snapshot.
type writer interface {
	// put stores a checkpoint that follows head.
	put(ctx context.Context, c *checkpoint.Checkpoint, head string) error
	// write stores pending writes.
	write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error
	// sync returns when a read of the namespace can see all earlier puts and writes.
	sync(ctx context.Context, namespace string) error
	// drop removes held data of a namespace that no run will read again.
	drop(namespace string)
	// close stores all held data. The async writer also waits for its current job.
	// After close, write returns an error, and so does put of the async and exit writers.
	close(ctx context.Context) error
}

func newWriter(d Durability, store checkpoint.Store) writer {
	switch d {
	case Async:
		return newAsyncWriter(store)
	case Exit:
		return newExitWriter(store)
	}
	return &syncWriter{store: store}
}

// A syncWriter stores checkpoints and pending writes before put and write return.
// It groups pending writes of a checkpoint that arrive during a call of PutWrites.
// The next call of PutWrites stores the whole group.
type syncWriter struct {
	store checkpoint.Store

	mu     sync.Mutex
	closed bool
	groups map[checkpoint.Key]*writeGroup // the groups that still accept writes
	busy   map[checkpoint.Key]bool        // whether a goroutine stores groups of the checkpoint
}

// A writeGroup holds pending writes that one call of PutWrites stores.
type writeGroup struct {
	parts [][]checkpoint.Write
	done  chan struct{}
	errs  []error // the error of each part; nil if all parts were stored
}

func (w *syncWriter) put(ctx context.Context, c *checkpoint.Checkpoint, head string) error {
	return w.store.Put(ctx, *c, head)
}

// write adds the pending writes to the open group of the checkpoint.
// One goroutine at a time stores the groups of a checkpoint.
// If no goroutine stores them yet, the goroutine that calls write does.
func (w *syncWriter) write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errRunEnded
	}
	if w.groups == nil {
		w.groups, w.busy = map[checkpoint.Key]*writeGroup{}, map[checkpoint.Key]bool{}
	}
	g := w.groups[k]
	if g == nil {
		g = &writeGroup{done: make(chan struct{})}
		w.groups[k] = g
	}
	part := len(g.parts)
	g.parts = append(g.parts, writes)
	leads := !w.busy[k]
	w.busy[k] = true
	w.mu.Unlock()
	if leads {
		w.storeGroups(ctx, k)
	}
	<-g.done
	if g.errs == nil {
		return nil
	}
	return g.errs[part]
}

// storeGroups stores the groups of a checkpoint until none is left.
func (w *syncWriter) storeGroups(ctx context.Context, k checkpoint.Key) {
	for {
		w.mu.Lock()
		g := w.groups[k]
		delete(w.groups, k)
		if g == nil {
			delete(w.busy, k)
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		g.store(ctx, w.store, k)
	}
}

// store stores a group.
// If the store rejects the group as too large or invalid, each part is stored alone.
// A rejected part then fails only its own task.
func (g *writeGroup) store(ctx context.Context, store checkpoint.Store, k checkpoint.Key) {
	defer close(g.done)
	all := g.parts[0]
	for _, part := range g.parts[1:] {
		all = append(all, part...)
	}
	err := store.PutWrites(ctx, k, all)
	if err == nil {
		return
	}
	g.errs = make([]error, len(g.parts))
	alone := len(g.parts) > 1 && (errors.Is(err, checkpoint.ErrTooLarge) || errors.Is(err, checkpoint.ErrInvalid))
	for i, part := range g.parts {
		if alone {
			err = store.PutWrites(ctx, k, part)
		}
		g.errs[i] = err
	}
}

func (w *syncWriter) sync(context.Context, string) error { return nil }
func (w *syncWriter) drop(string)                        {}

func (w *syncWriter) close(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return nil
}

// An asyncWriter stores checkpoints and pending writes in order, in another goroutine.
// A caller waits until the goroutine has taken its job, but not until the job has ended.
type asyncWriter struct {
	store checkpoint.Store
	jobs  chan job
	stop  chan struct{} // closed by the method close
	done  chan struct{} // closed at the end of the goroutine

	mu      sync.Mutex
	started bool
	closed  bool
	err     error // the first error of a job; later jobs are skipped
}

// A job is a function for the goroutine of an asyncWriter.
// The goroutine closes done after the job. Both fields may be nil.
type job struct {
	work func() error
	done chan struct{}
}

func newAsyncWriter(store checkpoint.Store) *asyncWriter {
	return &asyncWriter{store: store, jobs: make(chan job), stop: make(chan struct{}), done: make(chan struct{})}
}

func (w *asyncWriter) put(ctx context.Context, c *checkpoint.Checkpoint, head string) error {
	return w.enqueue(ctx, job{work: func() error { return w.store.Put(ctx, *c, head) }})
}

func (w *asyncWriter) write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	return w.enqueue(ctx, job{work: func() error { return w.store.PutWrites(ctx, k, writes) }})
}

// enqueue waits until the goroutine takes the job, and returns the error of earlier jobs.
func (w *asyncWriter) enqueue(ctx context.Context, j job) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errRunEnded
	}
	if !w.started {
		w.started = true
		go w.run()
	}
	w.mu.Unlock()
	select {
	case w.jobs <- j:
		return w.failure()
	case <-w.stop:
		return errRunEnded
	case <-ctx.Done():
		return errors.Join(w.failure(), context.Cause(ctx))
	}
}

func (w *asyncWriter) run() {
	defer close(w.done)
	for {
		select {
		case j := <-w.jobs:
			w.do(j)
		case <-w.stop:
			return
		}
	}
}

func (w *asyncWriter) do(j job) {
	if j.work != nil && w.failure() == nil {
		if err := j.work(); err != nil {
			w.mu.Lock()
			w.err = err
			w.mu.Unlock()
		}
	}
	if j.done != nil {
		close(j.done)
	}
}

func (w *asyncWriter) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// sync waits until all earlier jobs have ended.
func (w *asyncWriter) sync(ctx context.Context, _ string) error {
	w.mu.Lock()
	idle := !w.started
	w.mu.Unlock()
	if idle {
		return nil
	}
	done := make(chan struct{})
	if err := w.enqueue(ctx, job{done: done}); err != nil {
		return err
	}
	select {
	case <-done:
		return w.failure()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *asyncWriter) drop(string) {}

// close waits for the current job. It does not cancel the job;
// the context that was passed with the job limits its time.
func (w *asyncWriter) close(context.Context) error {
	w.mu.Lock()
	started, closed := w.started, w.closed
	w.closed = true
	w.mu.Unlock()
	if !closed {
		close(w.stop)
	}
	if started {
		<-w.done
	}
	return w.failure()
}
