package engine

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/weft-go/weft/checkpoint"
)

// An exitWriter keeps the progress of a run in memory and stores it at the end.
// For each namespace it holds one checkpoint, into which it merges every step.
// It also holds the pending writes of that checkpoint.
type exitWriter struct {
	store checkpoint.Store

	mu     sync.Mutex
	closed bool
	held   map[string]*heldCheckpoint
}

// A heldCheckpoint is the unstored progress of one namespace.
type heldCheckpoint struct {
	checkpoint *checkpoint.Checkpoint // without changes and snapshot; nil if only pending writes are held
	changes    changeList             // its changes, or its snapshot
	snapshot   bool                   // the list changes is a snapshot
	head       string                 // the newest stored checkpoint of the namespace
	key        checkpoint.Key         // the checkpoint of the pending writes
	writes     []checkpoint.Write
}

func newExitWriter(store checkpoint.Store) *exitWriter {
	return &exitWriter{store: store, held: map[string]*heldCheckpoint{}}
}

func (w *exitWriter) put(_ context.Context, c *checkpoint.Checkpoint, head string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errRunEnded
	}
	h := w.held[c.Namespace]
	if h == nil || h.checkpoint == nil {
		h = &heldCheckpoint{head: head, checkpoint: &checkpoint.Checkpoint{Parent: c.Parent, Settles: c.Settles, Source: c.Source}}
		w.held[c.Namespace] = h
	}
	h.merge(c)
	return nil
}

// merge replaces the held checkpoint by a copy of c, and puts the held changes before
// the changes of c. The held parent and Settles replace the parent and Settles of c, also in c itself.
// A snapshot in c includes the earlier changes, so merge drops them.
// So the held data stays within a constant factor of the size of the state.
func (h *heldCheckpoint) merge(c *checkpoint.Checkpoint) {
	before := h.checkpoint
	c.Parent, c.Settles = before.Parent, before.Settles
	if before.Source == checkpoint.Input && c.Namespace != "" {
		c.Source = checkpoint.Input // the call of the subgraph begins with this checkpoint
	}
	control := append(before.Control[:0], c.Control...)
	*before = *c
	before.Control, before.Changes, before.Snapshot = control, nil, nil
	if c.Snapshot != nil {
		h.changes, h.snapshot = changeList{}, true
		h.changes.add(c.Snapshot)
	} else {
		h.changes.add(c.Changes)
	}
	h.key, h.writes = c.Key, nil
}

// A changeList holds copies of changes. It never copies its own elements,
// so an addition costs the same at any length.
type changeList struct {
	parts [][]checkpoint.Change // a new part has room for as many elements as the list has at that time
	n     int
	data  []byte // the end of its capacity has room for the data of further changes
}

// Capacities of the first part of a changeList, in elements, and of its buffers for data, in bytes.
const (
	firstChanges = 8
	minHeldData  = 512
	maxHeldData  = 64 << 10
)

// add appends deep copies of changes to the list.
func (l *changeList) add(changes []checkpoint.Change) {
	for _, c := range changes {
		if len(c.Data) > 0 { // else the data may be nil, and stays so
			c.Data = l.copyData(c.Data)
		}
		last := len(l.parts) - 1
		if last < 0 || len(l.parts[last]) == cap(l.parts[last]) {
			l.parts = append(l.parts, make([]checkpoint.Change, 0, max(l.n, firstChanges)))
			last++
		}
		l.parts[last] = append(l.parts[last], c)
		l.n++
	}
}

// copyData returns a copy of data, without room after it.
func (l *changeList) copyData(data []byte) []byte {
	if cap(l.data)-len(l.data) < len(data) {
		l.data = make([]byte, 0, max(len(data), minHeldData, min(2*cap(l.data), maxHeldData)))
	}
	start := len(l.data)
	l.data = append(l.data, data...)
	return slices.Clip(l.data[start:])
}

// all returns all changes. The result is not nil.
func (l *changeList) all() []checkpoint.Change {
	out := make([]checkpoint.Change, 0, l.n)
	for _, part := range l.parts {
		out = append(out, part...)
	}
	return out
}

func (w *exitWriter) write(_ context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return errRunEnded
	}
	h := w.held[k.Namespace]
	if h == nil || h.key != k {
		h = &heldCheckpoint{key: k}
		w.held[k.Namespace] = h
	}
	h.writes = append(h.writes, writes...)
	return nil
}

// sync stores the held data of the namespace.
// A later call of a subgraph reads the namespace, so the data must be in the store.
func (w *exitWriter) sync(ctx context.Context, namespace string) error {
	w.mu.Lock()
	h := w.held[namespace]
	w.mu.Unlock()
	return w.release(ctx, h)
}

// release stores the held data of a namespace. If the store fails, the data stays held.
func (w *exitWriter) release(ctx context.Context, h *heldCheckpoint) error {
	if h == nil {
		return nil
	}
	if h.checkpoint != nil {
		c := *h.checkpoint
		if h.snapshot {
			c.Snapshot = h.changes.all()
		} else {
			c.Changes = h.changes.all()
		}
		if err := w.store.Put(ctx, c, h.head); err != nil {
			return err
		}
	}
	if len(h.writes) > 0 {
		if err := w.store.PutWrites(ctx, h.key, h.writes); err != nil {
			return err
		}
	}
	w.drop(h.key.Namespace)
	return nil
}

func (w *exitWriter) drop(namespace string) {
	w.mu.Lock()
	delete(w.held, namespace)
	w.mu.Unlock()
}

// close stores the held data of all namespaces and stops at the first error.
// A checkpoint can refer to a checkpoint of a persistent subgraph with a smaller id.
// So close stores the subgraphs in the order of their checkpoint ids,
// and the outermost graph last.
func (w *exitWriter) close(ctx context.Context) error {
	w.mu.Lock()
	w.closed = true
	top := w.held[""]
	byID := map[string]*heldCheckpoint{}
	for namespace, h := range w.held {
		if namespace != "" {
			byID[h.key.ID] = h
		}
	}
	w.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		if err := w.release(ctx, byID[id]); err != nil {
			return err
		}
	}
	return w.release(ctx, top)
}
