package server

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
)

// foundWrites are the pending writes of a checkpoint before a run: results, questions and answers. The run adds its own
// pending writes, and its first checkpoint deletes all of them.
type foundWrites struct {
	Namespace string             `json:",omitempty"`
	ID        string             // the id of the checkpoint
	Writes    []checkpoint.Write `json:",omitempty"`
}

// findWrites returns the pending writes of the checkpoints at which a run can resume: the newest checkpoint of the
// thread, and the newest one of each subgraph whose call has not ended.
func (a *activeRun) findWrites(ctx context.Context, newest *graph.Snapshot) ([]foundWrites, error) {
	if newest.Done() { // there is no unfinished superstep
		return []foundWrites{{ID: newest.ID}}, nil
	}
	q := checkpoint.Query{Thread: a.thread, Writes: true, AllNamespaces: true} // a call of a subgraph may be unfinished
	var found []foundWrites
	for c, err := range a.g.graph.Checkpoints().List(ctx, q) {
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(found, func(f foundWrites) bool { return f.Namespace == c.Namespace }) {
			if c.Namespace == "" { // earlier checkpoints of subgraphs belong to earlier supersteps
				break
			}
			continue
		}
		found = append(found, foundWrites{Namespace: c.Namespace, ID: c.ID, Writes: c.Writes})
	}
	return found, nil
}

// undo removes the checkpoints that a run has stored, and restores the pending writes that the run has found. If this
// server began the run and the run was not cancelled in another way first, the graph itself has already done so.
func (a *activeRun) undo(ctx context.Context) error {
	if a.g == nil || a.data.Attempt == 0 {
		return nil
	}
	store := a.g.graph.Checkpoints()
	deleter, ok := store.(checkpoint.RunDeleter)
	if !ok {
		return nil
	}
	// Wait for the thread: another server that was stopped and does not know that this server has claimed the run may be
	// about to store the input of the run.
	o := &engine.Options{Store: store, Thread: a.thread, Conflict: engine.Wait}
	return engine.WithThread(ctx, o, func(held checkpoint.Store) error { return a.removeRun(ctx, held, deleter) })
}

// removeRun removes the checkpoints of a run, and restores the pending writes that the run has found.
func (a *activeRun) removeRun(ctx context.Context, store checkpoint.Store, deleter checkpoint.RunDeleter) error {
	var ids []string
	for c, err := range store.List(ctx, checkpoint.Query{Thread: a.thread, AllNamespaces: true, Metadata: map[string]string{metaRun: a.id}}) {
		if err != nil {
			return err
		}
		if !slices.Contains(ids, c.Run) {
			ids = append(ids, c.Run)
		}
	}
	if len(ids) > 0 {
		if err := deleter.DeleteRuns(ctx, a.thread, ids...); err != nil {
			return err
		}
	}
	return a.restoreWrites(ctx, store)
}

// restoreWrites restores the pending writes that the run has found. It does not change a thread that was continued
// outside the server.
func (a *activeRun) restoreWrites(ctx context.Context, store checkpoint.Store) error {
	if len(a.data.Found) == 0 { // the thread is new, or an older version began the run
		return nil
	}
	newest, err := store.Get(ctx, checkpoint.Key{Thread: a.thread})
	if errors.Is(err, checkpoint.ErrNotFound) || err == nil && newest.ID != a.data.Base {
		return nil
	}
	if err != nil {
		return err
	}
	for _, f := range a.data.Found {
		err := engine.RestoreWrites(ctx, store, checkpoint.Key{Thread: a.thread, Namespace: f.Namespace, ID: f.ID}, f.Writes)
		if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
			return err
		}
	}
	return nil
}
