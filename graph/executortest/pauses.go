package executortest

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var pauseCases = []testCase{
	{name: "pauses/questions", promise: "a question of a node pauses the run; the answer reaches the node in a worker, and other questions keep waiting", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			work := f.work(place)
			b.Node(stayHere, split("work", 3))
			b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
				if item.Get(v) > 0 {
					f.record(place, fmt.Sprint("asks ", item.Get(v)))
					ok, err := approve.Wait(ctx, fmt.Sprint("item ", item.Get(v)))
					if err != nil {
						return nil, err
					}
					if !ok {
						return state.Update{trail.Put("refused")}, nil
					}
				}
				return work(ctx, v)
			})
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "work")
		})
		snap, err := f.thread().Invoke(f.ctx, winner.Put("x"))
		if err != nil {
			f.Fatalf("invoke: %v", err)
		}
		open := f.questions(snap, 2)
		if snap, err = f.thread().Invoke(f.ctx, approve.Answer(open[1].ID, false)); err != nil {
			f.Fatalf("answer: %v", err)
		}
		open = f.questions(snap, 1)
		f.wantCount(inWorker, "asks 1", 1)
		f.wantTrail(f.finish(f.thread(), approve.Answer(open[0].ID, true)), "item 0", "item 1", "refused")
		f.wantCount(inWorker, "item 0", 1)
		f.wantCount(inWorker, "asks 1", 2)
		f.wantCount(inWorker, "asks 2", 2)
	}},
	{name: "pauses/subgraph", promise: "a worker runs a subgraph with its questions and checkpoints, and the next worker resumes it", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			in := graph.New("inner", trail)
			in.Node("draft", f.mark(place, "draft"))
			in.Node("review", func(ctx context.Context, _ state.View) (state.Update, error) {
				ok, err := approve.Wait(ctx, "publish")
				return state.Update{trail.Put(fmt.Sprint("approved ", ok))}, err
			})
			in.Edge(graph.Start, "draft")
			in.Edge("draft", "review")
			inner, err := in.Compile(graph.Options{})
			if err != nil {
				f.Fatalf("compile: %v", err)
			}
			b.Subgraph("write", inner)
			b.Edge(graph.Start, "write")
		})
		th := f.thread().With(graph.RunOptions{Metadata: map[string]string{"tenant": "a"}})
		snap, err := th.Invoke(f.ctx, winner.Put("x"))
		if err != nil {
			f.Fatalf("invoke: %v", err)
		}
		open := f.questions(snap, 1)
		if got, want := open[0].Path, "write/review"; got != want {
			f.Errorf("the question has the path %q, want %q", got, want)
		}
		for c, err := range f.store.List(f.ctx, checkpoint.Query{Thread: "thread", AllNamespaces: true}) {
			if err != nil {
				f.Fatalf("list: %v", err)
			}
			if c.Run != snap.Run || c.Metadata["tenant"] != "a" {
				f.Errorf("checkpoint in namespace %q has run %q and metadata %v, want run %q", c.Namespace, c.Run, c.Metadata, snap.Run)
			}
		}
		f.wantTrail(f.finish(th, approve.Answer(open[0].ID, true)), "draft", "approved true")
		f.wantCount(inWorker, "draft", 1)
	}},
	{name: "pauses/unreadable", promise: "after an answer that a worker cannot read, the question is open again", run: func(f *fixture) {
		f.build(func(b *graph.Builder, _ string) {
			in := graph.New("inner", trail, item)
			in.Node("ask", func(ctx context.Context, v state.View) (state.Update, error) {
				ok, err := approve.Wait(ctx, fmt.Sprint("item ", item.Get(v)))
				return state.Update{trail.Put(fmt.Sprint(item.Get(v), " ", ok))}, err
			})
			in.Edge(graph.Start, "ask")
			inner, err := in.Compile(graph.Options{})
			if err != nil {
				f.Fatalf("compile: %v", err)
			}
			b.Node(stayHere, split("work", 3))
			b.Subgraph("work", inner)
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "work")
		})
		snap, err := f.thread().Invoke(f.ctx, winner.Put("x"))
		if err != nil {
			f.Fatalf("invoke: %v", err)
		}
		open := f.questions(snap, 3)
		wrong := graph.NewInterrupt[string, string](approve.Name())
		snap, err = f.thread().Invoke(f.ctx, approve.Answer(open[0].ID, true), wrong.Answer(open[1].ID, "yes"))
		if err == nil {
			f.Fatalf("the run with an unreadable answer did not fail")
		}
		f.questions(snap, 2)
		if snap, err = f.thread().Snapshot(f.ctx); err != nil {
			f.Fatalf("snapshot: %v", err)
		}
		f.questions(snap, 2)
		snap = f.finish(f.thread(), approve.Answer(open[1].ID, false), approve.Answer(open[2].ID, true))
		f.wantTrail(snap, "0 true", "1 false", "2 true")
	}},
	{name: "pauses/once", promise: "a side effect in Once is not repeated in another worker", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			b.Node("pay", func(ctx context.Context, _ state.View) (state.Update, error) {
				f.record(place, "pay")
				receipt, err := graph.Once(ctx, "charge", func(ctx context.Context) (string, error) {
					f.record(place, "charge")
					return "receipt of " + graph.IdempotencyKey(ctx), nil
				})
				if err == nil && f.count(inWorker, "pay") == 1 {
					err = errBroken
				}
				return state.Update{trail.Put(receipt)}, err
			})
			b.Edge(graph.Start, "pay")
		})
		if _, err := f.thread().Invoke(f.ctx, winner.Put("x")); err == nil {
			f.Fatalf("the first run did not fail")
		}
		f.finish(f.thread())
		f.wantCount(inWorker, "pay", 2)
		f.wantCount(inWorker, "charge", 1)
	}},
}

// questions returns the open questions of a snapshot, and fails the case unless their number is want.
func (f *fixture) questions(snap *graph.Snapshot, want int) []graph.OpenQuestion[string] {
	f.Helper()
	open, err := approve.Open(snap)
	if err != nil || len(open) != want {
		f.Fatalf("the run has %d open questions, want %d; error: %v", len(open), want, err)
	}
	return open
}
