package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
)

// A transfer is the checkpoints of a thread, oldest first, with their changes and pending writes. It
// contains the removed checkpoints on whose changes other checkpoints build.
type transfer []transferred

// A transferred is a checkpoint in a transfer. If it was removed from the thread, only its id, parent, source and
// changes are known.
type transferred struct {
	checkpoint.Checkpoint
	removed bool
}

// readTransfer reads a whole thread into memory.
func readTransfer(ctx context.Context, s checkpoint.Store, thread string) (transfer, error) {
	r := transferReader{parts: map[string]part{}, done: map[string]bool{}}
	for c, err := range s.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Writes: true}) {
		if err != nil {
			return nil, err
		}
		r.steps, r.done[c.ID] = append(r.steps, c), true
	}
	if len(r.steps) == 0 {
		return nil, missing(thread, "")
	}
	for i := range r.steps { // the lineage of the newest checkpoint has the changes of most others
		if err := r.read(ctx, s, &r.steps[i]); err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", r.steps[i].ID, err)
		}
	}
	for i := range slices.Backward(r.steps) {
		r.add(&r.steps[i])
	}
	return r.out, nil
}

// A transferReader reads the checkpoints of a thread.
type transferReader struct {
	steps []checkpoint.Checkpoint // newest first
	parts map[string]part         // by the id of the checkpoint
	done  map[string]bool         // the ids of the stored checkpoints, and of the removed ones in out
	out   transfer
}

// A part is the entry of one checkpoint in a lineage.
type part struct {
	checkpoint.Delta
	prev string // the id of the previous part
}

// read sets the changes of a listed checkpoint, because a list leaves them out.
func (r *transferReader) read(ctx context.Context, s checkpoint.Store, c *checkpoint.Checkpoint) error {
	if p, known := r.parts[c.ID]; known && !p.Snapshot {
		c.Changes = p.Changes
		return nil
	}
	full, err := s.Get(ctx, c.Key)
	if err != nil {
		return err
	}
	c.Changes, c.Snapshot = full.Changes, full.Snapshot
	prev := ""
	for _, d := range full.Lineage {
		if _, known := r.parts[d.ID]; !known {
			r.parts[d.ID] = part{d, prev}
		}
		prev = d.ID
	}
	return nil
}

// add adds a checkpoint to the transfer, after the removed checkpoints on which it builds.
func (r *transferReader) add(c *checkpoint.Checkpoint) {
	var removed transfer
	for id := r.parts[c.ID].prev; id != "" && !r.done[id]; id = r.parts[id].prev {
		p := r.parts[id]
		gone := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: c.Thread, Namespace: c.Namespace, ID: id}, Parent: p.prev, Source: p.Source}
		if p.prev == "" {
			gone.Parent = c.Parent
		}
		if p.Snapshot {
			gone.Snapshot = p.Changes
		} else {
			gone.Changes = p.Changes
		}
		removed = append(removed, transferred{gone, true})
		r.done[id] = true
	}
	slices.Reverse(removed)
	r.out = append(r.out, removed...)
	if prev := r.parts[c.ID].prev; prev != "" {
		c.Parent = prev
	}
	r.out = append(r.out, transferred{Checkpoint: *c})
}

// until returns the part of a transfer that ends at a checkpoint of the thread's own graph, without the pending writes of
// this checkpoint. The part has the ancestors of the checkpoint, the subgraph calls that they made, and the earlier
// checkpoints of persistent subgraphs.
func (t transfer) until(at string) (transfer, bool) {
	end := slices.IndexFunc(t, func(c transferred) bool { return c.ID == at && c.Namespace == "" && !c.removed })
	if end < 0 {
		return nil, false
	}
	parents := map[string]string{}
	for _, c := range t[:end+1] {
		parents[c.ID] = c.Parent
	}
	keep := map[string]bool{}
	for id := at; id != ""; id = parents[id] {
		keep[id] = true
	}
	var out transfer
	for _, c := range t[:end+1] {
		if c.Namespace != "" {
			_, caller, called := checkpoint.CalledAt(c.Namespace)
			keep[c.ID] = !called || keep[caller]
		}
		if !keep[c.ID] {
			continue
		}
		if c.ID == at {
			c.Writes = nil
		}
		out = append(out, c)
	}
	return out, true
}

// write stores the checkpoints as a new thread. If it fails, it removes what it has written.
func (t transfer) write(ctx context.Context, s checkpoint.Store, thread string) error {
	for _, err := range s.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true, Limit: 1}) {
		if err == nil {
			err = exists(thread)
		}
		return err
	}
	err := t.put(ctx, s, thread)
	if err != nil {
		err = fmt.Errorf("thread %q: %w", thread, errors.Join(err, s.DeleteThread(context.WithoutCancel(ctx), thread)))
	}
	return err
}

// exists returns the error for a new thread whose id is already in the store.
func exists(thread string) error { return fmt.Errorf("thread %q exists in this store", thread) }

// put stores the checkpoints. It stores the removed ones with the id of a temporary run, and then deletes this run. The
// store removes the checkpoints again, but keeps their changes for the checkpoints that build on them.
func (t transfer) put(ctx context.Context, s checkpoint.Store, thread string) error {
	heads, standIn, some := map[string]string{}, "import-"+rand.Text(), false
	for _, c := range t {
		c.Thread = thread
		if c.removed {
			c.Run, some = standIn, true
		}
		if err := s.Put(ctx, c.Checkpoint, heads[c.Namespace]); err != nil {
			return err
		}
		heads[c.Namespace] = c.ID
		if len(c.Writes) > 0 {
			if err := s.PutWrites(ctx, c.Key, c.Writes); err != nil {
				return err
			}
		}
	}
	if !some {
		return nil
	}
	deleter, ok := s.(checkpoint.RunDeleter)
	if !ok {
		return fmt.Errorf("the thread was pruned, and this store cannot keep such a copy: %w", errors.ErrUnsupported)
	}
	return deleter.DeleteRuns(ctx, thread, standIn)
}
