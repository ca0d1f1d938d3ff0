package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/lru"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// Threads is a store of records that also has a record for each thread of a checkpoint store.
// These additional records are in memory only. Threads is safe for concurrent use.
type Threads struct {
	runs.Store // runs, assistants and events, and the threads that a server has stored
	lister     checkpoint.ThreadLister
	store      checkpoint.Store
	id         func(thread string) string

	all  *memruns.Store
	pass chan struct{} // has one value during a pass; in a pass, one call reads all threads

	mu      sync.Mutex
	synced  time.Time        // zero if the threads have to be read
	changes int              // the number of changes made through this store
	took    time.Duration    // the time of the last pass
	round   int              // the number of passes; a pass that continues a failed pass does not count
	failed  time.Time        // the end of the last pass if it has failed, else zero
	known   map[string]known // by the id of the record
	graphs  *lru.Cache[string, cached]
}

// A known describes a thread whose record is in memory.
type known struct {
	name    string // the id in the checkpoint store, or "" if there are no checkpoints
	updated time.Time
	status  string // the status of the record, if no server has stored the record
	stored  int64  // the revision of the stored record, or 0 if there is none
	round   int    // the round of the pass that has read the thread
}

type cached struct {
	head  string
	graph *graph.Graph
}

// After a pass, the threads are not read again for the time fresh or for pause times the duration of the pass, whichever
// is longer. If a pass has failed, a call within the time resume continues it.
const (
	fresh  = time.Second
	pause  = 5
	resume = time.Minute
)

// maxGraphs is the maximum number of cached graphs.
const maxGraphs = 64

// NewThreads returns a store with the records of inner, and a record for each thread of the
// checkpoint store. The function id returns the id of the record of a thread.
func NewThreads(inner runs.Store, store checkpoint.Store, id func(thread string) string) (*Threads, error) {
	lister, ok := store.(checkpoint.ThreadLister)
	if !ok {
		return nil, fmt.Errorf("%T cannot list threads: %w", store, errors.ErrUnsupported)
	}
	return &Threads{
		Store: inner, store: store, lister: lister, id: id, all: memruns.New(), pass: make(chan struct{}, 1), known: map[string]known{}, graphs: lru.New[string, cached](maxGraphs),
	}, nil
}

// Graph returns the graph of a thread. It caches the graph, and reads it again if the thread has changed.
func (t *Threads) Graph(ctx context.Context, id string) (*graph.Graph, error) {
	t.mu.Lock()
	k, ok := t.known[id]
	t.mu.Unlock()
	if !ok {
		if _, err := t.Get(ctx, runs.Thread, id); err != nil {
			return nil, err
		}
		t.mu.Lock()
		k = t.known[id]
		t.mu.Unlock()
	}
	store := t.store
	if k.name != id && k.name != "" {
		store = alias{store: t.store, id: id, name: k.name}
	}
	head := ""
	for c, err := range store.List(ctx, checkpoint.Query{Thread: id, AllNamespaces: true, Limit: 1, Writes: true}) {
		if err != nil {
			return nil, err
		}
		head = fmt.Sprintf("%s/%d", c.ID, len(c.Writes))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if c, ok := t.graphs.Get(id); ok && c.head == head {
		return c.graph, nil
	}
	g, err := Graph(ctx, store, id)
	if err == nil {
		t.graphs.Put(id, cached{head, g}, 0)
	}
	return g, err
}

// Get returns a record.
func (t *Threads) Get(ctx context.Context, kind runs.Kind, id string) (runs.Record, error) {
	if kind != runs.Thread {
		return t.Store.Get(ctx, kind, id)
	}
	if err := t.sync(ctx); err != nil {
		return runs.Record{}, err
	}
	return t.all.Get(ctx, kind, id)
}

// Search returns the records that a query selects.
func (t *Threads) Search(ctx context.Context, q runs.Query) ([]runs.Record, int, error) {
	if q.Kind != runs.Thread {
		return t.Store.Search(ctx, q)
	}
	if err := t.sync(ctx); err != nil {
		return nil, 0, err
	}
	return t.all.Search(ctx, q)
}

// Insert adds records.
func (t *Threads) Insert(ctx context.Context, records ...runs.Record) error {
	defer t.stale()
	return t.Store.Insert(ctx, records...)
}

// Update replaces a record. The record of a thread that no server has stored is changed in memory.
func (t *Threads) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind != runs.Thread {
		return t.Store.Update(ctx, r)
	}
	t.mu.Lock()
	k := t.known[r.ID]
	t.mu.Unlock()
	if k.stored == 0 {
		return t.all.Update(ctx, r)
	}
	defer t.stale()
	own := r.Revision
	r.Revision = k.stored
	if _, err := t.Store.Update(ctx, r); err != nil {
		return 0, err
	}
	return own + 1, nil
}

// Delete removes a record, and a thread with its checkpoints.
func (t *Threads) Delete(ctx context.Context, kind runs.Kind, id string) error {
	if kind != runs.Thread {
		return t.Store.Delete(ctx, kind, id)
	}
	t.mu.Lock()
	k := t.known[id]
	t.mu.Unlock()
	defer t.stale()
	if k.name != "" {
		if err := t.store.DeleteThread(ctx, k.name); err != nil {
			return err
		}
	}
	err := t.Store.Delete(ctx, kind, id)
	if errors.Is(err, runs.ErrNotFound) && k.name != "" {
		return nil
	}
	return err
}

// stale makes the next call read all threads.
func (t *Threads) stale() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changes++
	t.synced, t.failed = time.Time{}, time.Time{}
}

// sync reads the list of the threads, and the newest checkpoint of each thread that may have changed. If the threads
// were read recently, it does nothing. While another call reads them, sync waits only if no pass has ended yet, or none
// since the last change through this store.
func (t *Threads) sync(ctx context.Context) error {
	if fresh, read := t.state(); fresh {
		return nil
	} else if read {
		select {
		case t.pass <- struct{}{}:
		default:
			return nil
		}
	} else {
		select {
		case t.pass <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	defer func() { <-t.pass }()
	if fresh, _ := t.state(); fresh {
		return nil
	}
	return t.readAll(ctx)
}

// state reports whether the threads need not be read now, and whether a pass has ended since the last
// change through this store.
func (t *Threads) state() (isFresh, isRead bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.synced) < max(fresh, pause*t.took), !t.synced.IsZero()
}

// readAll reads the threads. One call at a time may run.
func (t *Threads) readAll(ctx context.Context) (err error) {
	begin := time.Now()
	t.mu.Lock()
	changes := t.changes
	if begin.Sub(t.failed) > resume {
		t.round++
	}
	t.mu.Unlock()
	now, err := t.readThreads(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		if t.changes == changes {
			t.failed = time.Now()
		}
		return err
	}
	t.known, t.took, t.failed = now, time.Since(begin), time.Time{}
	if t.changes == changes {
		t.synced = time.Now()
	}
	return nil
}

// readThreads updates the records of all threads in memory, and removes the records of deleted
// threads.
func (t *Threads) readThreads(ctx context.Context) (map[string]known, error) {
	now, err := t.readStored(ctx)
	if err != nil {
		return nil, err
	}
	for info, err := range t.lister.ListThreads(ctx, "") {
		if err != nil && (info.ID == "" || !Unreadable(err)) { // else readThread finds the fault
			return nil, err
		}
		id := t.id(info.ID)
		k := now[id]
		k.name = info.ID
		if k.stored == 0 {
			if k, err = t.readThread(ctx, id, info); err != nil {
				return nil, err
			}
		}
		now[id] = k
		t.mu.Lock()
		t.known[id] = k
		t.mu.Unlock()
	}
	t.mu.Lock()
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(t.known)), func(id string) bool { _, ok := now[id]; return ok })
	t.mu.Unlock()
	for _, id := range gone {
		if err := t.all.Delete(ctx, runs.Thread, id); err != nil && !errors.Is(err, runs.ErrNotFound) {
			return nil, err
		}
	}
	return now, nil
}

// readStored returns the threads that a server has stored. It updates the records in memory of those that changed.
func (t *Threads) readStored(ctx context.Context) (map[string]known, error) {
	found, _, err := t.Store.Search(ctx, runs.Query{Kind: runs.Thread})
	if err != nil {
		return nil, err
	}
	out := make(map[string]known, len(found))
	for _, r := range found {
		k := known{updated: r.Updated, stored: r.Revision}
		out[r.ID] = k
		t.mu.Lock()
		old, ok := t.known[r.ID]
		k.name = old.name
		t.mu.Unlock()
		if ok && old.stored == r.Revision {
			continue
		}
		if err := t.put(ctx, r); err != nil {
			return nil, err
		}
		t.mu.Lock()
		t.known[r.ID] = k
		t.mu.Unlock()
	}
	return out, nil
}

// put adds a record to the memory, or replaces it.
func (t *Threads) put(ctx context.Context, r runs.Record) error {
	old, err := t.all.Get(ctx, r.Kind, r.ID)
	if errors.Is(err, runs.ErrNotFound) {
		return t.all.Insert(ctx, r)
	}
	r.Revision = old.Revision
	_, err = t.all.Update(ctx, r)
	return err
}

// readThread adds the record of a thread that no server has stored, or replaces it if the thread has changed. A pending write,
// such as a question, changes the status of a thread and not its time. So readThread reads a thread that is not idle even if
// its time is the same.
func (t *Threads) readThread(ctx context.Context, id string, info checkpoint.ThreadInfo) (known, error) {
	t.mu.Lock()
	old, same := t.known[id]
	round := t.round
	t.mu.Unlock()
	if same = same && old.stored == 0 && old.updated.Equal(info.Updated); same && (old.status == Idle || old.round == round) {
		return old, nil
	}
	k := known{name: info.ID, updated: info.Updated, round: round}
	var err error
	if k.status, err = t.statusOf(ctx, info.ID); err != nil || same && k.status == old.status {
		return k, err
	}
	meta, err := json.Marshal(map[string]any{"title": info.ID, "checkpoints": info.Checkpoints})
	if err != nil {
		return k, err
	}
	return k, t.put(ctx, runs.Record{
		Kind: runs.Thread, ID: id, Status: k.status, Created: info.Created.UTC(), Updated: info.Updated.UTC(), Metadata: meta, Data: json.RawMessage("{}"),
	})
}

// statusOf returns the status of a thread. It returns the status Error for a thread whose stored values cannot be read.
func (t *Threads) statusOf(ctx context.Context, thread string) (string, error) {
	for c, err := range t.store.List(ctx, checkpoint.Query{Thread: thread, Limit: 1, Writes: true}) {
		if Unreadable(err) {
			return Error, nil
		}
		if err != nil {
			return "", err
		}
		return StatusOf(&c), nil
	}
	return Idle, nil
}

// Unreadable reports whether an error is about the stored values of one thread.
func Unreadable(err error) bool {
	return errors.Is(err, checkpoint.ErrCorrupt) || errors.Is(err, checkpoint.ErrFormat) || errors.Is(err, checkpoint.ErrDecrypt)
}
