package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/cloudwego/eino/compose"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// w2 is one superstep of many tasks, and a join that appends what they found.
var w2 = workload{
	name:    "W2",
	what:    "fan-out and join",
	unit:    "task",
	sizes:   []int{10, 100, 1000, 10000},
	crowds:  true,
	payload: text64,
	verify: func(w workload, n int, got outcome) error {
		if got.count != n {
			return fmt.Errorf("count: got %d, want %d", got.count, n)
		}
		return verifyMessages(w, n, got.messages)
	},
	contestants: []contestant{
		{name: floor, setUp: w2Floor},
		// Compiling 10,000 nodes takes eino minutes.
		{name: eino, setUp: w2Eino, upTo: 1000},
		{name: weft, setUp: w2Weft},
	},
	targets: func(r results) []target {
		targets := []target{flat(r, 100, 10000, 1.2)}
		for _, n := range []int{10, 100, 1000} {
			targets = append(targets, timesFloor(r, n, 3), fractionOfEino(r, n, 4))
		}
		return targets
	},
}

func w2Floor(_ context.Context, w workload, n int) (subject, error) {
	task := func(i int) string { return w.payload.message(i) }
	return subject{run: func(context.Context) (outcome, error) {
		found := make([]string, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { found[i] = task(i) })
		}
		wg.Wait()
		o := outcome{messages: append([]string(nil), found...)}
		o.count = len(o.messages)
		return o, nil
	}}, nil
}

// An einoFound is eino's local state of a fan-out.
type einoFound struct{ messages []string }

// w2Eino gives every task a node, which writes what it found into the graph's
// state. What flows to the join is how many tasks there were: merging maps of
// outputs, which eino does by itself, takes it three to ten times as long.
func w2Eino(ctx context.Context, w workload, n int) (subject, error) {
	g := compose.NewGraph[int, *outcome](compose.WithGenLocalState(func(context.Context) *einoFound {
		return &einoFound{messages: make([]string, n)}
	}))
	mistakes := []error{
		g.AddLambdaNode("join", compose.InvokableLambda(func(ctx context.Context, tasks int) (*outcome, error) {
			o := &outcome{count: tasks}
			return o, compose.ProcessState(ctx, func(_ context.Context, s *einoFound) error {
				o.messages = append(o.messages, s.messages...)
				return nil
			})
		})),
		g.AddEdge("join", compose.END),
	}
	for i := range n {
		key := "task" + strconv.Itoa(i)
		task := func(ctx context.Context, _ int) (int, error) {
			message := w.payload.message(i)
			return 1, compose.ProcessState(ctx, func(_ context.Context, s *einoFound) error {
				s.messages[i] = message
				return nil
			})
		}
		mistakes = append(mistakes, g.AddLambdaNode(key, compose.InvokableLambda(task)),
			g.AddEdge(compose.START, key), g.AddEdge(key, "join"))
	}
	for _, err := range mistakes {
		if err != nil {
			return subject{}, fmt.Errorf("build: %w", err)
		}
	}
	r, err := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AnyPredecessor))
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (outcome, error) {
		o, err := r.Invoke(ctx, 0)
		if err != nil {
			return outcome{}, err
		}
		return *o, nil
	}}, nil
}

func init() {
	compose.RegisterValuesMergeFunc(func(tasks []int) (int, error) {
		sum := 0
		for _, n := range tasks {
			sum += n
		}
		return sum, nil
	})
}

// What a task of weft's fan-out is sent, and what it finds.
var (
	Item  = state.Last[int]("item")
	Found = state.Append[string]("found")
)

// w2Weft sends every task its item.
func w2Weft(_ context.Context, w workload, n int) (subject, error) {
	b := graph.New("fan-out", Item, Found, Messages, Count)
	b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
		sends := make(state.Update, n)
		for i := range sends {
			sends[i] = graph.Send("task", Item.Put(i))
		}
		return sends, nil
	}, "task")
	b.Node("task", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{Found.Put(w.payload.message(Item.Get(s)))}, nil
	})
	b.Edge("task", "join")
	b.Node("join", func(_ context.Context, s state.View) (state.Update, error) {
		found := Found.Get(s)
		return state.Update{Messages.Put(found...), Count.Put(len(found))}, nil
	})
	b.Edge("join", graph.End)
	g, err := b.Compile(graph.Options{})
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (outcome, error) {
		s, err := g.Invoke(ctx)
		if err != nil {
			return outcome{}, err
		}
		return fromSnapshot(s), nil
	}}, nil
}
