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

// w2 is one superstep of many tasks, and a join that appends their results.
var w2 = workload{
	name:    "W2",
	what:    "fan-out and join",
	unit:    "task",
	sizes:   []int{10, 100, 1000, 10000},
	last:    true,
	payload: text64,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: w2Floor},
		// eino takes minutes to compile 10,000 nodes.
		{name: eino, setUp: w2Eino, upTo: 1000},
		{name: weft, setUp: w2Weft},
	},
	targets: func(r results) []target {
		targets := []target{timesFloor(r, 10, 4), timesFloor(r, 100, 3), timesFloor(r, 1000, 3), flat(r, 100, 10000, 1.2)}
		for _, n := range []int{10, 100, 1000} {
			targets = append(targets, ofEino(r, n, 0.25))
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

// An einoFound is the local state of a fan-out of eino.
type einoFound struct{ messages []string }

// w2Eino gives every task a node, which writes its result into the state of the graph.
// The number of tasks flows to the join, since it is quicker to add numbers than to
// merge maps of outputs, as eino does by default.
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

// The input of a task of the fan-out, and the results of all tasks.
var (
	Item  = state.Last[int]("item")
	Found = state.Append[string]("found")
)

func w2Weft(_ context.Context, w workload, n int) (subject, error) {
	task := func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{Found.Put(w.payload.message(Item.Get(s)))}, nil
	}
	g, err := compileFanOut(n, task, joinFound, graph.Options{})
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

// joinFound appends the results of all tasks.
func joinFound(_ context.Context, s state.View) (state.Update, error) {
	found := Found.Get(s)
	return state.Update{Messages.Put(found...), Count.Put(len(found))}, nil
}

// compileFanOut builds a graph that sends n tasks their items and joins them.
func compileFanOut(n int, task, join graph.NodeFunc, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("fan-out", Item, Found, Messages, Count)
	b.BranchMany(graph.Start, func(state.View) (state.Update, error) {
		sends := make(state.Update, n)
		for i := range sends {
			sends[i] = graph.Send("task", Item.Put(i))
		}
		return sends, nil
	}, "task")
	b.Node("task", task)
	b.Edge("task", "join")
	b.Node("join", join)
	b.Edge("join", graph.End)
	return b.Compile(opts)
}
