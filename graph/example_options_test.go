package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Every run pauses before the node "apply". An Invoke without writes resumes it.
func ExampleOptions_pauseBefore() {
	steps := state.Append[string]("steps")
	did := func(what string) graph.NodeFunc {
		return func(context.Context, state.View) (state.Update, error) {
			return state.Update{steps.Put(what)}, nil
		}
	}

	b := graph.New("migrate", steps)
	b.Node("plan", did("planned"))
	b.Node("apply", did("applied"))
	b.Edge(graph.Start, "plan")
	b.Edge("plan", "apply")
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		PauseBefore: []string{"apply"},
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx, migration := context.Background(), g.Thread("v7")
	snap, err := migration.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap), snap.Pauses[0].Kind, snap.Pauses[0].Node)

	snap, err = migration.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(steps.Get(snap), snap.Done())
	// Output:
	// [planned] before apply
	// [planned applied] true
}

// Every run pauses after the node "write", so that a person can check the draft.
func ExampleOptions_pauseAfter() {
	draft := state.Last[string]("draft")
	sent := state.Last[bool]("sent")

	b := graph.New("newsletter", draft, sent)
	b.Node("write", func(context.Context, state.View) (state.Update, error) {
		return state.Update{draft.Put("All is well.")}, nil
	})
	b.Node("send", func(context.Context, state.View) (state.Update, error) {
		return state.Update{sent.Put(true)}, nil
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", "send")
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		PauseAfter:  []string{"write"},
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx, may := context.Background(), g.Thread("may")
	snap, err := may.Invoke(ctx, graph.Begin())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(draft.Get(snap), sent.Get(snap), snap.Pauses[0].Kind, snap.Pauses[0].Node)

	snap, err = may.Invoke(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(draft.Get(snap), sent.Get(snap))
	// Output:
	// All is well. false after write
	// All is well. true
}

// MaxSteps ends a run that loops. The next run resumes it with the same limit.
func ExampleOptions_maxSteps() {
	pages := state.Sum[int]("pages")

	b := graph.New("crawl", pages)
	b.Node("fetch", func(context.Context, state.View) (state.Update, error) {
		return state.Update{pages.Put(1)}, nil
	})
	b.Edge(graph.Start, "fetch")
	b.Edge("fetch", "fetch")
	g, err := b.Compile(graph.Options{
		Checkpoints: memcheckpoint.New(memcheckpoint.Options{}),
		MaxSteps:    20,
	})
	if err != nil {
		log.Fatal(err)
	}

	ctx, site := context.Background(), g.Thread("site")
	snap, err := site.Invoke(ctx, graph.Begin())
	fmt.Println(pages.Get(snap), errors.Is(err, graph.ErrMaxSteps))
	snap, err = site.Invoke(ctx)
	fmt.Println(pages.Get(snap), errors.Is(err, graph.ErrMaxSteps))
	// Output:
	// 20 true
	// 40 true
}

// A hundred tasks are due, and at most four of them run at once.
func ExampleOptions_maxParallel() {
	done := state.Sum[int]("done")
	var running, most atomic.Int64

	b := graph.New("thumbnails", done)
	b.Node("list", func(context.Context, state.View) (state.Update, error) {
		var tasks state.Update
		for range 100 {
			tasks = append(tasks, graph.Send("resize"))
		}
		return tasks, nil
	})
	b.Node("resize", func(context.Context, state.View) (state.Update, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		return state.Update{done.Put(1)}, nil
	})
	b.Edge(graph.Start, "list")
	b.Destinations("list", "resize")
	g, err := b.Compile(graph.Options{MaxParallel: 4})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Get(snap), most.Load() <= 4)
	// Output: 100 true
}

// The node returns an answer in the last superstep that MaxSteps allows.
func ExampleRemainingSteps() {
	answer := state.Last[string]("answer")
	tries := state.Sum[int]("tries")

	b := graph.New("research", answer, tries)
	b.Node("search", func(ctx context.Context, s state.View) (state.Update, error) {
		if graph.RemainingSteps(ctx) == 0 {
			text := fmt.Sprintf("nothing found in %d tries", tries.Get(s))
			return state.Update{answer.Put(text), graph.Goto(graph.End)}, nil
		}
		return state.Update{tries.Put(1), graph.Goto("search")}, nil
	})
	b.Edge(graph.Start, "search")
	b.Destinations("search", "search", graph.End)
	g, err := b.Compile(graph.Options{MaxSteps: 5})
	if err != nil {
		log.Fatal(err)
	}

	snap, err := g.Invoke(context.Background())
	fmt.Println(answer.Get(snap), err)
	// Output: nothing found in 4 tries <nil>
}

// Sync and Async store every superstep. Exit stores only the end of the run.
func ExampleDurability() {
	n := state.Sum[int]("n")

	b := graph.New("count", n)
	b.Node("add", func(context.Context, state.View) (state.Update, error) {
		return state.Update{n.Put(1)}, nil
	})
	b.Edge(graph.Start, "add")
	b.Branch("add", func(s state.View) (string, error) {
		if n.Get(s) < 5 {
			return "add", nil
		}
		return graph.End, nil
	}, "add", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.Exit} {
		t := g.Thread(d.String()).With(graph.RunOptions{Durability: &d})
		snap, err := t.Invoke(ctx, graph.Begin())
		if err != nil {
			log.Fatal(err)
		}
		stored := 0
		for _, err := range t.History(ctx, graph.HistoryQuery{}) {
			if err != nil {
				log.Fatal(err)
			}
			stored++
		}
		fmt.Printf("%s: n is %d, %d checkpoints\n", d, n.Get(snap), stored)
	}
	// Output:
	// sync: n is 5, 6 checkpoints
	// async: n is 5, 6 checkpoints
	// exit: n is 5, 1 checkpoints
}

// A server that shuts down drains the run: the current superstep completes and is
// stored.
func ExampleThread_Invoke_drain() {
	rows := state.Sum[int]("rows")
	ctx, cancel := context.WithCancelCause(context.Background())

	b := graph.New("import", rows)
	b.Node("first", func(context.Context, state.View) (state.Update, error) {
		cancel(graph.ErrDrained) // a server calls this in its handler of SIGTERM
		return state.Update{rows.Put(100)}, nil
	})
	b.Node("second", func(context.Context, state.View) (state.Update, error) {
		return state.Update{rows.Put(200)}, nil
	})
	b.Edge(graph.Start, "first")
	b.Edge("first", "second")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	if err != nil {
		log.Fatal(err)
	}

	job := g.Thread("monday")
	snap, err := job.Invoke(ctx, graph.Begin())
	fmt.Println(rows.Get(snap), errors.Is(err, graph.ErrDrained))

	snap, err = job.Invoke(context.Background()) // after the restart
	fmt.Println(rows.Get(snap), err)
	// Output:
	// 100 true
	// 300 <nil>
}
