package executortest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var errWorkerDied = errors.New("executortest: this worker died")

var deliveryCases = []testCase{
	{name: "delivery/twice", promise: "a task that is delivered again after its result was stored does not run again", run: func(f *fixture) {
		f.build(f.fanOut)
		f.after = func(ctx context.Context, sets []graph.TaskSet) {
			for _, s := range sets {
				if err := f.worker.RunTasks(ctx, s); err != nil {
					f.Errorf("the second delivery: %v", err)
				}
			}
		}
		f.wantTrail(f.finish(f.thread(), winner.Put("x")), "item 0", "item 1", "item 2", "item 3")
		for i := range 4 {
			f.wantCount(inWorker, fmt.Sprint("item ", i), 1)
		}
	}},
	{name: "delivery/late", promise: "a task that is delivered after its superstep was committed does not run, and changes nothing", run: func(f *fixture) {
		f.build(f.fanOut)
		want := f.finish(f.thread(), winner.Put("x"))
		for _, s := range f.sets {
			f.wantErr("a late delivery", f.worker.RunTasks(f.ctx, s), checkpoint.ErrConflict)
		}
		got, err := f.thread().Snapshot(f.ctx)
		if err != nil || got.ID != want.ID {
			f.Fatalf("the newest checkpoint is not that of the run: %v", err)
		}
		f.wantTrail(got, trail.Get(want)...)
		f.wantCount(inWorker, "item 0", 1)
	}},
	{name: "delivery/overlap", promise: "when two workers run a task at the same time, the result of one of them counts, as a whole", run: func(f *fixture) {
		var both sync.WaitGroup
		both.Add(2)
		f.build(func(b *graph.Builder, place string) {
			b.Node("one", func(context.Context, state.View) (state.Update, error) {
				f.record(place, "one")
				mine := f.count(inWorker, "one")
				both.Done()
				both.Wait()
				update := state.Update{winner.Put(fmt.Sprint(mine))}
				for range mine {
					update = append(update, trail.Put(fmt.Sprint(mine)))
				}
				return update, nil
			})
			b.Edge(graph.Start, "one")
		})
		f.deliver = func(ctx context.Context, s graph.TaskSet, _ int) error {
			errs := make([]error, 2)
			var group sync.WaitGroup
			for i := range errs {
				group.Go(func() { errs[i] = f.worker.RunTasks(ctx, s) })
			}
			group.Wait()
			return errors.Join(errs...)
		}
		snap := f.finish(f.thread(), item.Put(1))
		if winner.Get(snap) == "1" {
			f.wantTrail(snap, "1")
		} else {
			f.wantTrail(snap, "2", "2")
		}
	}},
	{name: "delivery/overlap_subgraph", promise: "when two workers run a subgraph at the same time, one of them loses a commit, and its failure is no outcome of the task", run: func(f *fixture) {
		var begun sync.WaitGroup
		begun.Add(2)
		lost := make(chan struct{})
		f.build(func(b *graph.Builder, place string) {
			in := graph.New("inner", trail)
			in.Node("draft", func(context.Context, state.View) (state.Update, error) {
				<-lost
				f.record(place, "draft")
				return state.Update{trail.Put("draft")}, nil
			})
			in.Edge(graph.Start, "draft")
			inner, err := in.Compile(graph.Options{})
			if err != nil {
				f.Fatalf("compile: %v", err)
			}
			b.SubgraphWith("write", inner, graph.SubgraphOptions{Input: func(state.View) (state.Update, error) {
				begun.Done() // both workers begin the call before one of them commits
				begun.Wait()
				return nil, nil
			}})
			b.Edge(graph.Start, "write")
		})
		var deliveries sync.WaitGroup
		f.deliver = func(ctx context.Context, s graph.TaskSet, _ int) error {
			errs := make(chan error, 2)
			for range 2 {
				deliveries.Go(func() { errs <- f.worker.RunTasks(ctx, s) })
			}
			first := <-errs
			if !errors.Is(first, checkpoint.ErrConflict) {
				f.Errorf("the worker that lost a commit returned %v, want %v", first, checkpoint.ErrConflict)
				return first
			}
			close(lost)
			return <-errs
		}
		snap, err := f.thread().Invoke(f.ctx, item.Put(1))
		select {
		case <-lost:
		default:
			close(lost)
		}
		deliveries.Wait()
		if err != nil {
			f.Fatalf("invoke: %v", err)
		}
		f.wantTrail(snap, "draft")
		f.wantCount(inWorker, "draft", 1)
	}},
	{name: "delivery/worker_dies", promise: "when a worker dies with a part of its tasks done, the others run again, and the thread ends in the same state", run: func(f *fixture) {
		f.build(f.fanOut)
		f.deliver = func(ctx context.Context, s graph.TaskSet, delivery int) error {
			if delivery > 1 {
				return f.worker.RunTasks(ctx, s)
			}
			s.Tasks = s.Tasks[:(len(s.Tasks)+1)/2]
			return errors.Join(f.worker.RunTasks(ctx, s), errWorkerDied)
		}
		f.wantTrail(f.finishAgain(winner.Put("x")), "item 0", "item 1", "item 2", "item 3")
		for i := range 4 {
			f.wantCount(inWorker, fmt.Sprint("item ", i), 1)
		}
	}},
	{name: "delivery/older_build", promise: "a worker whose build lacks the node runs no task, and another worker runs it", run: func(f *fixture) {
		f.build(f.fanOut)
		older := f.compile(inWorker, func(b *graph.Builder, place string) {
			b.Node(stayHere, f.mark(place, stayHere))
			b.Edge(graph.Start, stayHere)
		}, graph.Options{Checkpoints: f.store, Version: "0"})
		f.deliver = func(ctx context.Context, s graph.TaskSet, delivery int) error {
			if delivery > 1 {
				return f.worker.RunTasks(ctx, s)
			}
			err := older.RunTasks(ctx, s)
			if !errors.Is(err, graph.ErrUnknownNode) {
				f.Errorf("the older build returned %v, want %v", err, graph.ErrUnknownNode)
			}
			return err
		}
		f.wantTrail(f.finishAgain(winner.Put("x")), "item 0", "item 1", "item 2", "item 3")
	}},
	{name: "delivery/renamed", promise: "a worker whose build renamed the node runs its tasks", run: func(f *fixture) {
		f.build(f.fanOut)
		newer := f.compile(inWorker, func(b *graph.Builder, place string) {
			b.Node(stayHere, split("process", 4))
			b.Node("process", f.work(place))
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "process")
		}, graph.Options{Checkpoints: f.store, Version: "2", Migrations: graph.Migrations{Nodes: map[string]string{"work": "process"}}})
		f.deliver = func(ctx context.Context, s graph.TaskSet, _ int) error { return newer.RunTasks(ctx, s) }
		th := newer.Thread("thread")
		if _, err := f.thread().Invoke(f.ctx, winner.Put("x")); err == nil {
			f.Fatalf("the older build understood results under a name that it does not know")
		}
		f.wantTrail(f.finish(th), "item 0", "item 1", "item 2", "item 3")
		for i := range 4 {
			f.wantCount(inWorker, fmt.Sprint("item ", i), 1)
		}
	}},
}

// fanOut adds a node that the executor does not take and a node that it takes. The first one sends
// four tasks to the second one.
func (f *fixture) fanOut(b *graph.Builder, place string) {
	b.Node(stayHere, split("work", 4))
	b.Node("work", f.work(place))
	b.Edge(graph.Start, stayHere)
	b.Destinations(stayHere, "work")
}
