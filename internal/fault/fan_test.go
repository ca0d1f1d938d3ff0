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

// A teller is told what a run does: that a task runs, that its result is kept, that a
// checkpoint is stored.
type teller func(kind, checkpoint, task string)

func nobodyHears(string, string, string) {}

// fan is a graph of two supersteps a round: a plan, and a fan of sent tasks beside one
// with a side effect.
func fan(store checkpoint.Store, rounds int, tell teller) (*graph.Graph, error) {
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

// fanTrail is what a run of so many rounds leaves.
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

// fanSteps is how many checkpoints it leaves.
func fanSteps(rounds int) int { return 2*rounds + 1 }

// A toldStore tells what it has stored.
type toldStore struct {
	checkpoint.Store
	tell teller
}

func (s toldStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	err := s.Store.Put(ctx, c, head)
	if err == nil {
		s.tell("put", c.ID, "")
	}
	return err
}

func (s toldStore) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	err := s.Store.PutWrites(ctx, k, writes)
	if err != nil {
		return err
	}
	for _, w := range writes {
		if w.Channel == "$done" { // the end of a task's result
			s.tell("kept", k.ID, w.Task)
		}
	}
	return nil
}

func (s toldStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.(checkpoint.Leaser).Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return toldLease{toldStore{l, s.tell}, l}, nil
}

type toldLease struct {
	toldStore
	lease checkpoint.Lease
}

func (l toldLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

// goOn begins a thread, or goes on with it.
func goOn(ctx context.Context, th *graph.Thread) (*graph.Snapshot, error) {
	_, err := th.Snapshot(ctx)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return th.Invoke(ctx, graph.Begin())
	case err != nil:
		return nil, err
	}
	return th.Invoke(ctx)
}

// checkThread says what is wrong with a thread that has ended: it is not what a run
// without a fault leaves, or what was acknowledged is gone.
func checkThread(ctx context.Context, store checkpoint.Store, thread string, rounds int, acknowledged []string) error {
	c, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	g, err := fan(store, rounds, nobodyHears)
	if err != nil {
		return err
	}
	snap, err := g.Thread(thread).Snapshot(ctx)
	if err != nil {
		return err
	}
	if got := trail.Get(snap); !slices.Equal(got, fanTrail(rounds)) {
		return fmt.Errorf("thread %s: got the trail %q", thread, got)
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
		return fmt.Errorf("thread %s: %d checkpoints are on no way to the newest", thread, n-len(ids))
	}
	for _, id := range acknowledged {
		if !slices.Contains(ids, id) {
			return fmt.Errorf("thread %s: the acknowledged %s is gone", thread, id)
		}
	}
	return nil
}
