package graph

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/uuid"
)

// journal brings the progress of one run to the store, in order. A nil journal
// keeps nothing.
type journal struct {
	store checkpoint.Store
	mode  Durability

	mu    sync.Mutex        // guards what follows, for subgraphs that run at once; see name
	ids   uuid.Series       // of the run's checkpoints: they ascend through all namespaces
	top   string            // the newest checkpoint of the thread's own graph, stored or on its way
	heads map[string]string // the same for the namespaces of subgraphs

	// Exit: what the end of the run will store, per namespace.
	held   map[string]*heldBack
	stored bool // the end of the run stored a checkpoint of the thread's own graph

	// Async: one entry is under way at most.
	queue chan entry
	done  chan struct{}
	err   error
}

// entry is work for the writer. Done, if not nil, is closed when its turn has
// come, whatever became of it.
type entry struct {
	work func(context.Context) error
	done chan struct{}
}

// heldBack is the one checkpoint that [Exit] stores.
type heldBack struct {
	checkpoint *checkpoint.Checkpoint
	head       string
	writes     []checkpoint.Write
	key        checkpoint.Key
}

func newJournal(store checkpoint.Store, mode Durability) *journal {
	return &journal{store: store, mode: mode}
}

// name gives a checkpoint its id and returns the one that it follows.
func (j *journal) name(c *checkpoint.Checkpoint) (head string) {
	if c.Namespace != "" { // else no task runs, and no subgraph
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	c.ID = j.ids.Next()
	return j.follow(c.Namespace, c.ID)
}

// put gives a checkpoint its id and stores it, or sees to it that it will be.
func (j *journal) put(ctx context.Context, c *checkpoint.Checkpoint) error {
	head := j.name(c)
	switch j.mode {
	case Exit:
		j.hold(c, head)
		return nil
	case Async:
		later := *c
		return j.enqueue(ctx, entry{work: func(ctx context.Context) error { return j.store.Put(ctx, later, head) }})
	}
	return j.store.Put(ctx, *c, head)
}

// write stores pending writes of a checkpoint.
func (j *journal) write(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if len(writes) == 0 {
		return nil
	}
	switch j.mode {
	case Exit:
		j.holdWrites(k, writes)
		return nil
	case Async:
		return j.enqueue(ctx, entry{work: func(ctx context.Context) error { return j.store.PutWrites(ctx, k, writes) }})
	}
	return j.store.PutWrites(ctx, k, writes)
}

// hold merges a step into what the end of the run will store.
func (j *journal) hold(c *checkpoint.Checkpoint, head string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held == nil {
		j.held = map[string]*heldBack{}
	}
	h := j.held[c.Namespace]
	if h == nil || h.checkpoint == nil {
		later := *c
		j.held[c.Namespace] = &heldBack{checkpoint: &later, head: head, key: c.Key}
		return
	}
	c.Parent = h.checkpoint.Parent // the one between is never stored
	merged := *c
	merged.Settles = h.checkpoint.Settles
	if c.Snapshot == nil {
		merged.Snapshot = nil
	}
	merged.Changes = append(h.checkpoint.Changes[:len(h.checkpoint.Changes):len(h.checkpoint.Changes)], c.Changes...)
	if h.checkpoint.Source == checkpoint.Input && c.Namespace != "" {
		merged.Source = checkpoint.Input // a subgraph's call begins here
	}
	*h = heldBack{checkpoint: &merged, head: h.head, key: c.Key}
}

func (j *journal) holdWrites(k checkpoint.Key, writes []checkpoint.Write) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.held == nil {
		j.held = map[string]*heldBack{}
	}
	h := j.held[k.Namespace]
	if h == nil || h.key != k {
		h = &heldBack{key: k}
		j.held[k.Namespace] = h
	}
	h.writes = append(h.writes, writes...)
}

// enqueue hands work to the writer once the work before it is done.
func (j *journal) enqueue(ctx context.Context, e entry) error {
	j.mu.Lock()
	if j.queue == nil {
		j.queue, j.done = make(chan entry), make(chan struct{})
		go j.drain(context.WithoutCancel(ctx))
	}
	j.mu.Unlock()
	j.queue <- e
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

func (j *journal) drain(ctx context.Context) {
	defer close(j.done)
	for e := range j.queue {
		if e.work != nil && j.failed() == nil {
			if err := e.work(ctx); err != nil {
				j.mu.Lock()
				j.err = err
				j.mu.Unlock()
			}
		}
		if e.done != nil {
			close(e.done)
		}
	}
}

func (j *journal) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// close stores what is held back and waits for what is under way.
func (j *journal) close(ctx context.Context) error {
	if j == nil {
		return nil
	}
	if j.queue != nil {
		close(j.queue)
		<-j.done
		j.queue = nil
		return j.err
	}
	for _, ns := range j.order() {
		h := j.held[ns]
		if err := j.keep(ctx, h); err != nil {
			return err
		}
		delete(j.held, ns)
		j.stored = j.stored || ns == "" && h.checkpoint != nil
	}
	return nil
}

// order returns the namespaces of what is held back. What a checkpoint names, which is the newest of a persistent
// subgraph, comes before it, and was made before; the thread's own graph comes last.
func (j *journal) order() []string {
	return slices.SortedFunc(maps.Keys(j.held), func(a, b string) int {
		switch {
		case a == "":
			return 1
		case b == "":
			return -1
		}
		return strings.Compare(j.held[a].key.ID, j.held[b].key.ID)
	})
}

// keep stores what was held back.
func (j *journal) keep(ctx context.Context, h *heldBack) error {
	if h.checkpoint != nil {
		if err := j.store.Put(ctx, *h.checkpoint, h.head); err != nil {
			return err
		}
	}
	if len(h.writes) > 0 {
		return j.store.PutWrites(ctx, h.key, h.writes)
	}
	return nil
}

// release keeps what was held back for a namespace. If that fails, close tries again.
func (j *journal) release(ctx context.Context, namespace string) error {
	j.mu.Lock()
	h := j.held[namespace]
	j.mu.Unlock()
	if h == nil {
		return nil
	}
	if err := j.keep(ctx, h); err != nil {
		return err
	}
	j.mu.Lock()
	delete(j.held, namespace)
	j.mu.Unlock()
	return nil
}

// get reads a checkpoint of a subgraph's namespace. What is held back for that is stored before: a subgraph that
// is called again begins a checkpoint of its own, on what it remembers of the call before.
func (j *journal) get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	err := j.flush(ctx)
	if err == nil && j.mode == Exit {
		err = j.release(ctx, k.Namespace)
	}
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	return j.store.Get(ctx, k)
}

// flush waits for what is under way.
func (j *journal) flush(ctx context.Context) error {
	j.mu.Lock()
	running := j.queue != nil
	j.mu.Unlock()
	if !running {
		return nil
	}
	done := make(chan struct{})
	if err := j.enqueue(ctx, entry{done: done}); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// advance notes the newest checkpoint of a namespace, which the next one
// follows.
func (j *journal) advance(ns, id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.follow(ns, id)
}

// follow is advance, with the lock held. It returns the one before.
func (j *journal) follow(ns, id string) (head string) {
	if ns == "" {
		head, j.top = j.top, id
		return head
	}
	if j.heads == nil {
		j.heads = map[string]string{}
	}
	head, j.heads[ns] = j.heads[ns], id
	return head
}

// drop forgets what is held back for a namespace: a subgraph that ended needs
// no storage of its own.
func (j *journal) drop(ns string) {
	if j == nil || j.mode != Exit {
		return
	}
	j.mu.Lock()
	delete(j.held, ns)
	j.mu.Unlock()
}
