package executortest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

var errBroken = errors.New("the wheel is broken")

var failureCases = []testCase{
	{name: "failures/error", promise: "the error of a node is an outcome: the run fails with a NodeError, and the next run repeats only that task", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			work := f.work(place)
			b.Node(stayHere, split("work", 3))
			b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
				update, err := work(ctx, v)
				if item.Get(v) == 1 && f.count(inWorker, "item 1") == 1 {
					return nil, errBroken
				}
				return update, err
			})
			b.Edge(graph.Start, stayHere)
			b.Destinations(stayHere, "work")
		})
		_, err := f.thread().Invoke(f.ctx, winner.Put("x"))
		ne, ok := errors.AsType[*graph.NodeError](err)
		if !ok || ne.Node != "work" || ne.Task != "work[1]" || ne.Err.Error() != errBroken.Error() {
			f.Fatalf("got the error %v, want a NodeError of task work[1] with the text %q", err, errBroken)
		}
		f.wantTrail(f.finish(f.thread()), "item 0", "item 1", "item 2")
		f.wantCount(inWorker, "item 0", 1)
		f.wantCount(inWorker, "item 1", 2)
		f.wantCount(inWorker, "item 2", 1)
	}},
	{name: "failures/panic", promise: "a panic of a node fails its task, and not the worker", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			mark := f.mark(place, "one")
			b.Node("one", func(ctx context.Context, v state.View) (state.Update, error) {
				update, err := mark(ctx, v)
				if f.count(inWorker, "one") == 1 {
					panic("the wheel fell off")
				}
				return update, err
			})
			b.Edge(graph.Start, "one")
		})
		_, err := f.thread().Invoke(f.ctx, winner.Put("x"))
		if ne, ok := errors.AsType[*graph.NodeError](err); !ok || !strings.Contains(ne.Error(), "the wheel fell off") {
			f.Fatalf("got the error %v, want a NodeError with the panic", err)
		}
		f.wantTrail(f.finish(f.thread()), "one")
	}},
	{name: "failures/retry", promise: "node.Retry repeats the node within one delivery", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			mark := f.mark(place, "one")
			b.Node("one", node.Retry(node.RetryPolicy{Initial: -1}, func(ctx context.Context, v state.View) (state.Update, error) {
				update, err := mark(ctx, v)
				if f.count(inWorker, "one") < 3 {
					return nil, errBroken
				}
				return update, err
			}))
			b.Edge(graph.Start, "one")
		})
		f.wantTrail(f.finish(f.thread(), winner.Put("x")), "one")
		f.wantCount(inWorker, "one", 3)
		if f.deliveries != 1 {
			f.Errorf("the task was delivered %d times, want 1", f.deliveries)
		}
	}},
	{name: "failures/refused", promise: "results that cannot be applied together are dropped, and the next run runs their tasks again", run: func(f *fixture) {
		f.build(func(b *graph.Builder, place string) {
			for _, name := range []string{"a", "b"} {
				b.Node(name, func(context.Context, state.View) (state.Update, error) {
					f.record(place, name)
					if f.count(inWorker, name) == 1 {
						return state.Update{winner.Put(name)}, nil
					}
					return state.Update{trail.Put(name)}, nil
				})
				b.Edge(graph.Start, name)
			}
		})
		_, err := f.thread().Invoke(f.ctx, item.Put(1))
		f.wantErr("two writes to one channel", err, state.ErrConcurrentWrite)
		snap := f.finish(f.thread())
		f.wantTrail(snap, "a", "b")
		if got := winner.Get(snap); got != "" {
			f.Errorf("the refused write %q was applied", got)
		}
	}},
	{name: "failures/cancel", promise: "the context of a node ends when its run is cancelled, and results that were stored before are not lost", run: func(f *fixture) {
		quick := make(chan struct{})
		ended := make(chan struct{}, 10)
		f.build(func(b *graph.Builder, place string) {
			quickMark, slowMark := f.mark(place, "quick"), f.mark(place, "slow")
			b.Node("quick", quickMark)
			b.Node("slow", func(ctx context.Context, v state.View) (state.Update, error) {
				update, err := slowMark(ctx, v)
				if f.count(inWorker, "slow") > 1 {
					return update, err
				}
				close(quick)
				<-ctx.Done()
				ended <- struct{}{}
				return nil, ctx.Err()
			})
			b.Edge(graph.Start, "quick")
			b.Edge(graph.Start, "slow")
		})
		ctx, cancel := context.WithCancel(f.ctx)
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := f.thread().Invoke(ctx, winner.Put("x"))
			failed <- err
		}()
		select {
		case <-quick:
		case err := <-failed:
			f.Fatalf("the run ended before its nodes ran: %v", err)
		}
		f.waitResult("quick")
		cancel()
		f.wantErr("invoke", <-failed, context.Canceled)
		select {
		case <-ended:
		case <-f.ctx.Done():
			f.Fatalf("the context of the node did not end")
		}
		f.wantTrail(f.finishAgain(), "quick", "slow")
		f.wantCount(inWorker, "quick", 1)
	}},
}

// waitResult waits until the result of a task is stored.
func (f *fixture) waitResult(task string) {
	f.Helper()
	for {
		snap, err := f.thread().Snapshot(f.ctx)
		if err != nil {
			f.Fatalf("snapshot: %v", err)
		}
		for _, t := range snap.Tasks {
			if t.ID == task && t.Finished {
				return
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-f.ctx.Done():
			f.Fatalf("task %q has no stored result", task)
		}
	}
}
