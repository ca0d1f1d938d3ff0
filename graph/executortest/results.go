package executortest

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var resultCases = []testCase{
	{name: "results/fan_out", promise: "each taken task runs once in a worker, and the writes are applied in task order", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			b.Node(stayHere, split("work", 7))
			b.Node("work", f.work(place))
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "work")
		})
		snap := f.finish(f.thread(), trail.Put("input"))
		want := []string{"input"}
		for i := range 7 {
			want = append(want, fmt.Sprint("item ", i))
			f.wantCount(inWorker, want[i+1], 1)
		}
		f.wantTrail(snap, want...)
		stored, err := f.thread().Snapshot(f.ctx)
		if err != nil {
			f.Fatalf("snapshot: %v", err)
		}
		f.wantTrail(stored, want...)
	}},
	{name: "results/beside", promise: "tasks that the executor does not take run in the process of the run, in the same superstep", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			for _, name := range []string{"after", "before", stayHere} {
				b.Node(name, f.mark(place, name))
				b.Edge(graph.Start, name)
			}
		})
		f.wantTrail(f.finish(f.thread(), winner.Put("x")), "after", "before", stayHere)
		f.wantCount(inRun, stayHere, 1)
		f.wantCount(inWorker, "before", 1)
		f.wantCount(inWorker, "after", 1)
	}},
	{name: "results/single", promise: "the only task of a superstep may run in a worker, and its branch reads its writes", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			b.Node("one", f.mark(place, "one"))
			b.Node("yes", f.mark(place, "yes"))
			b.Node("no", f.mark(place, "no"))
			b.Edge(graph.Start, "one")
			b.Branch("one", func(v state.View) (string, error) {
				if slices.Contains(trail.Get(v), "one") {
					return "yes", nil
				}
				return "no", nil
			}, "yes", "no")
		})
		f.wantTrail(f.finish(f.thread(), winner.Put("x")), "one", "yes")
		f.wantCount(inWorker, "yes", 1)
	}},
	{name: "results/signals", promise: "Goto, Send, SendOver, joins and deferred nodes have the same effect as in a local run", run: func(f *fixture) {
		f.build(f.signals)
		want := f.finish(f.local.Thread("thread"), trail.Put("input"))
		f.wantTrail(f.finish(f.thread(), trail.Put("input")), trail.Get(want)...)
		f.wantCount(inRun, "a", 0)
		f.wantCount(inWorker, "a", 1)
	}},
	{name: "results/edits", promise: "a task sees the writes and the targets that the caller added to the checkpoint", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			b.Node("see", func(_ context.Context, v state.View) (state.Update, error) {
				f.record(place, "see")
				return state.Update{trail.Put("saw " + winner.Get(v))}, nil
			})
			b.Node("other", f.mark(place, "other"))
			b.Edge(graph.Start, "see")
			b.Destinations(graph.Start, "other")
		})
		th := f.thread()
		paused, err := th.With(graph.RunOptions{PauseBefore: []string{"see"}}).Invoke(f.ctx, winner.Put("first"))
		if err != nil || len(paused.Pauses) != 1 {
			f.Fatalf("the run did not pause: %v", err)
		}
		f.wantTrail(f.finish(th, winner.Put("edited"), graph.Goto("other")), "other", "saw edited")
	}},
	{name: "results/identity", promise: "a task has the thread, run, step, remaining steps and idempotency key of a local run, and the run's metadata", run: func(f *fixture) {
		identity := func(place string) graph.NodeFunc {
			return func(ctx context.Context, _ state.View) (state.Update, error) {
				r, _ := graph.FromContext(ctx)
				f.record(place, "identity")
				return state.Update{trail.Put(fmt.Sprintf("%s %s %s step %d attempt %d, %d steps left, key %s",
					r.Thread, r.Node, r.Task, r.Step, r.Attempt, graph.RemainingSteps(ctx), graph.IdempotencyKey(ctx)))}, nil
			}
		}
		f.build(func(b *graph.Builder, place string) {
			b.Node("first", identity(place))
			b.Node("second", identity(place))
			b.Edge(graph.Start, "first")
			b.Edge("first", "second")
		})
		options := graph.RunOptions{MaxSteps: 9, Metadata: map[string]string{"tenant": "a"}}
		want := f.finish(f.local.Thread("thread").With(options), winner.Put("x"))
		snap := f.finish(f.thread().With(options), winner.Put("x"))
		f.wantTrail(snap, trail.Get(want)...)
		for _, s := range f.sets {
			if s.Run != snap.Run || s.Metadata["tenant"] != "a" || s.Version != "1" {
				f.Errorf("the set names run %q, metadata %v and version %q; want run %q", s.Run, s.Metadata, s.Version, snap.Run)
			}
		}
	}},
	{name: "results/events", promise: "the reader of the run gets the start and the result of each task, in order of the tasks", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			b.Node(stayHere, split("work", 3))
			b.Node("work", f.work(place))
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "work")
		})
		var got []string
		for ev, err := range f.thread().Stream(f.ctx, winner.Put("x")) {
			if err != nil {
				f.Fatalf("stream: %v", err)
			}
			switch ev := ev.(type) {
			case graph.TaskStarted:
				got = append(got, "start "+ev.At().Task)
			case graph.TaskFinished:
				got = append(got, fmt.Sprintf("end %s with %d writes", ev.At().Task, len(ev.Update)))
			}
		}
		want := []string{
			"start here", "end here with 3 writes", "start work[0]", "start work[1]", "start work[2]",
			"end work[0] with 1 writes", "end work[1] with 1 writes", "end work[2] with 1 writes",
		}
		if want[1] = "end here with 0 writes"; !slices.Equal(got, want) {
			f.Errorf("got the events %q, want %q", got, want)
		}
	}},
}

// signals adds nodes that steer the graph in each way.
func (f *fixture) signals(b *graph.Builder, place string) {
	b.Node("a", func(_ context.Context, v state.View) (state.Update, error) {
		f.record(place, "a")
		return state.Update{
			trail.Put(fmt.Sprint("a after ", len(trail.Get(v)))), graph.Goto("c"),
			graph.Send("work", item.Put(1)), graph.SendOver("over", item.Put(2)),
		}, nil
	})
	for _, name := range []string{"b", "c", "joined", "last"} {
		b.Node(name, f.mark(place, name))
	}
	b.Node("work", f.work(place))
	b.Node("over", func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{trail.Put(fmt.Sprint("over ", item.Get(v), " with ", len(trail.Get(v))))}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Destinations("a", "c", "work", "over")
	b.Join("joined", "b", "c")
	b.Edge("a", "last")
	b.Defer("last")
	b.AllowEdgesAndBranches("a")
}
