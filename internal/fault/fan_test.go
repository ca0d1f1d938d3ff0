//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	trail = state.Append[string]("trail")
	turns = state.Sum[int]("turns")
	item  = state.Last[int]("item")
)

// A progressFunc receives events of a run. The kind is "run" if a task has started, "kept"
// if its result is stored, and "put" if a checkpoint is stored.
type progressFunc func(kind, checkpoint, task string)

func ignoreProgress(string, string, string) {}

// fan returns a graph with two supersteps in each round. The first runs the node plan.
// The second runs four sent tasks and a task with a side effect.
func fan(store checkpoint.Store, rounds int, tell progressFunc) (*graph.Graph, error) {
	b := graph.New("fan", trail, turns, item)
	node := func(name string, fn func(ctx context.Context, v state.View) (state.Update, error)) {
		b.Node(name, func(ctx context.Context, v state.View) (state.Update, error) {
			at, _ := graph.FromContext(ctx)
			tell("run", at.Checkpoint, at.Task)
			return fn(ctx, v)
		})
	}
	node("plan", func(_ context.Context, v state.View) (state.Update, error) {
		u := state.Update{trail.Put("plan"), turns.Put(1)}
		for i := range 4 {
			u = append(u, graph.Send("work", item.Put(10*turns.Get(v)+i)))
		}
		return u, nil
	})
	node("work", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put(fmt.Sprint("w", item.Get(v)))}, nil
	})
	node("note", func(ctx context.Context, _ state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		name, err := graph.Once(ctx, "effect", func(context.Context) (string, error) {
			tell("run", at.Checkpoint, "effect")
			return "note", nil
		})
		if err == nil {
			tell("kept", at.Checkpoint, "effect")
		}
		return state.Update{trail.Put(name)}, err
	})
	b.Edge(graph.Start, "plan")
	b.Destinations("plan", "work", "note")
	b.AllowEdgesAndBranches("plan")
	b.Edge("plan", "note")
	b.Branch("note", func(v state.View) (string, error) {
		if turns.Get(v) < rounds {
			return "plan", nil
		}
		return graph.End, nil
	}, "plan", graph.End)
	return b.Compile(graph.Options{Checkpoints: store})
}

// fanTrail returns the value of the channel trail after a run of the graph fan.
func fanTrail(rounds int) []string {
	var all []string
	for r := range rounds {
		all = append(all, "plan", "note")
		for i := range 4 {
			all = append(all, fmt.Sprint("w", 10*r+i))
		}
	}
	return all
}

// fanSteps returns the number of checkpoints that a run of the graph fan stores.
func fanSteps(rounds int) int { return 2*rounds + 1 }

// An observedStore reports each stored checkpoint and each stored result of a task.
type observedStore struct {
	checkpoint.Store
	tell progressFunc
}

func (s observedStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Store.Put(ctx, c, head)
	if err == nil {
		s.tell("put", c.ID, "")
	}
	return err
}

func (s observedStore) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	err := s.Store.PutWrites(ctx, k, writes)
	if err != nil {
		return err
	}
	for _, w := range writes {
		if w.Kind&0x80 != 0 { // this write completes the result of a task
			s.tell("kept", k.ID, w.Task)
		}
	}
	return nil
}

func (s observedStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.(checkpoint.Leaser).Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return observedLease{observedStore{l, s.tell}, l}, nil
}

type observedLease struct {
	observedStore
	lease checkpoint.Lease
}

func (l observedLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

var errBegun = errors.New("another run has begun the thread")

// startOrResume starts a thread, or resumes it if it has a checkpoint. If the process that began the thread was killed, the
// first checkpoint may still be on its way to the database. So startOrResume looks for a checkpoint again when it holds the
// lease.
func startOrResume(ctx context.Context, th *graph.Thread) (*graph.Snapshot, error) {
	missing := func(ctx context.Context, _ graph.Running) error {
		switch _, err := th.Snapshot(ctx); {
		case err == nil:
			return errBegun
		case !errors.Is(err, checkpoint.ErrNotFound):
			return err
		}
		return nil
	}
	err := missing(ctx, graph.Running{})
	if err == nil {
		var snap *graph.Snapshot
		if snap, err = th.With(graph.RunOptions{Hooks: &graph.Hooks{Held: missing}}).Invoke(ctx, graph.Begin()); !errors.Is(err, errBegun) {
			return snap, err
		}
	}
	if !errors.Is(err, errBegun) {
		return nil, err
	}
	return th.Invoke(ctx)
}

// checkThread checks a finished thread of the graph fan. It returns an error if the thread
// differs from a thread without faults, or if an acknowledged checkpoint is missing.
func checkThread(ctx context.Context, store checkpoint.Store, thread string, rounds int, acknowledged []string) error {
	c, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	g, err := fan(store, rounds, ignoreProgress)
	if err != nil {
		return err
	}
	snap, err := g.Thread(thread).Snapshot(ctx)
	if err != nil {
		return err
	}
	if got := trail.Get(snap); !slices.Equal(got, fanTrail(rounds)) {
		return fmt.Errorf("thread %s: got the trail %q, want %q", thread, got, fanTrail(rounds))
	}
	var ids []string
	for _, d := range c.Lineage {
		ids = append(ids, d.ID)
	}
	if len(ids) != fanSteps(rounds) || len(c.Writes) != 0 {
		return fmt.Errorf("thread %s: got %d checkpoints and %d pending writes, want %d and none", thread, len(ids), len(c.Writes), fanSteps(rounds))
	}
	n := 0
	for _, err := range store.List(ctx, checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		if err != nil {
			return err
		}
		n++
	}
	if n != len(ids) {
		return fmt.Errorf("thread %s: %d checkpoints are not in the lineage of the newest", thread, n-len(ids))
	}
	for _, id := range acknowledged {
		if !slices.Contains(ids, id) {
			return fmt.Errorf("thread %s: the acknowledged checkpoint %s is missing", thread, id)
		}
	}
	return nil
}
