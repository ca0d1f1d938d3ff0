package graph_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"sync"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// continueThreads runs the threads that a killed process left unfinished, at most eight at a time. It skips threads that are
// paused, and threads with a failed node.
func continueThreads(ctx context.Context, g *graph.Graph, store checkpoint.ThreadLister) error {
	var runs sync.WaitGroup
	defer runs.Wait()
	slots := make(chan struct{}, 8)
	for info, err := range store.ListThreads(ctx, "") {
		if err != nil && info.ID == "" { // an error with an id is about that thread alone
			return err
		}
		slots <- struct{}{}
		runs.Go(func() {
			defer func() { <-slots }()
			if err == nil {
				err = continueThread(ctx, g.Thread(info.ID))
			}
			if err != nil {
				slog.ErrorContext(ctx, "the thread was not continued", "thread", info.ID, "error", err)
			}
		})
	}
	return ctx.Err()
}

// continueThread runs a thread that was left unfinished.
func continueThread(ctx context.Context, thread *graph.Thread) error {
	snap, err := thread.Snapshot(ctx)
	if err != nil || !unfinished(snap) {
		return err
	}
	wait := graph.RunOptions{Conflict: graph.ConflictWait} // until the lease of the killed process ends
	_, err = thread.With(wait).Invoke(ctx)                 // without input, the thread resumes
	return err
}

// unfinished reports whether a thread has work that is due, no pause and no failed node.
func unfinished(snap *graph.Snapshot) bool {
	if snap.Done() || len(snap.Pauses) > 0 {
		return false
	}
	for _, task := range snap.Tasks {
		if task.Err != "" {
			return false
		}
	}
	return true
}

// One thread is unfinished, and one waits for an answer. continueThreads resumes only the unfinished one.
func ExampleThread_Invoke_restart() {
	ctx, store := context.Background(), memcheckpoint.New(memcheckpoint.Options{})
	done, ask := state.Append[string]("done"), graph.NewInterrupt[string, bool]("send")
	b := graph.New("order", done)
	b.Node("pack", func(context.Context, state.View) (state.Update, error) {
		return state.Update{done.Put("packed")}, nil
	})
	b.Node("send", func(ctx context.Context, s state.View) (state.Update, error) {
		if _, err := ask.Wait(ctx, "Send it?"); err != nil {
			return nil, err
		}
		return state.Update{done.Put("sent")}, nil
	})
	b.Edge(graph.Start, "pack")
	b.Edge("pack", "send")
	g, err := b.Compile(graph.Options{Checkpoints: store})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := g.Thread("waits").Invoke(ctx, graph.Begin()); err != nil {
		log.Fatal(err)
	}
	killed := g.Thread("killed").With(graph.RunOptions{MaxSteps: 1}) // as if the process had ended here
	if _, err := killed.Invoke(ctx, graph.Begin()); err == nil {
		log.Fatal("it has ended")
	}

	if err := continueThreads(ctx, g, store); err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"waits", "killed"} {
		snap, err := g.Thread(id).Snapshot(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, done.Get(snap), len(snap.Pauses))
	}
	// Output:
	// waits [packed] 1
	// killed [packed] 1
}
