package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// Durability says when the progress of a run is stored.
type Durability uint8

// The durability modes. Sync stores a step before the next one starts, Async
// while the next one runs, Exit at the end of the run.
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

// A writer brings the progress of one run to the store, in order. There is one
// for each durability mode. Subgraphs of one superstep use it at the same time.
//
// The arguments of put and write belong to the writer. The sync writer alone has used
// them when it returns, so that the caller may use their memory again.
type writer interface {
	// put stores a checkpoint that follows head.
	put(ctx context.Context, c *checkpoint.Checkpoint, head string) error
	// write stores pending writes.
	write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error
	// sync returns when everything that the store has to hold before a read of the
	// namespace is stored.
	sync(ctx context.Context, namespace string) error
	// drop forgets the checkpoint that is held for a namespace that nobody will read.
	drop(namespace string)
	// close stores all that is held, and waits for calls that are under way. A writer that
	// was closed refuses further work.
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

// A syncWriter stores everything at once. Pending writes that come while an
// earlier write is under way are stored together, in one call for each checkpoint.
type syncWriter struct {
	store checkpoint.Store

	mu     sync.Mutex
	closed bool
	groups map[checkpoint.Key]*writeGroup // those that are being filled
	busy   map[checkpoint.Key]bool        // a call of PutWrites is under way
}

// A writeGroup is pending writes that are stored in one call.
type writeGroup struct {
	parts [][]checkpoint.Write
	done  chan struct{}
	errs  []error // by part; nil if all were stored
}

func (w *syncWriter) put(ctx context.Context, c *checkpoint.Checkpoint, head string) error {
	return w.store.Put(ctx, *c, head)
}

// write joins the group that waits for the call under way, or begins a call. The
// goroutine that begins a call stores all the groups that form meanwhile.
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

// storeGroups stores groups of a checkpoint until there is none.
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

// store stores a group. If the store refuses the group, each part is tried alone. A
// part that is too large then fails only one task.
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

// An asyncWriter stores in a goroutine of its own, in order. At most one job is
// under way and one waits to be taken.
type asyncWriter struct {
	store checkpoint.Store
	jobs  chan job
	stop  chan struct{} // closed by close
	done  chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	started bool
	closed  bool
	err     error // of the first job that failed; later ones do nothing
}

// A job is work for the goroutine. Done is closed when its turn has passed; it may be nil.
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

// enqueue waits until the goroutine takes the job. It returns the error of an
// earlier job.
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

// sync waits for the jobs before it.
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

// close waits for the job under way. The store ends it when the context that the
// job was given ends.
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
