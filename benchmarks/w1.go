package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/compose"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// w1 is the loop of an agent: agent, branch, tools, agent and so on. Both nodes append
// a message and add 1 to a sum; the branch reads the sum. Nothing is stored.
var w1 = workload{
	name:    "W1",
	what:    "agent loop, nothing stored",
	unit:    "superstep",
	sizes:   []int{11, 101, 1001},
	payload: text64,
	verify:  verifyLoop,
	contestants: []contestant{
		{name: floor, setUp: w1Floor},
		{name: eino, setUp: w1Eino},
		{name: weft, setUp: w1Weft},
	},
	targets: func(r results) []target {
		targets := []target{
			timesFloor(r, 11, 4),
			timesFloor(r, 1001, 2.5),
			flat(r, 101, 1001, 1),
		}
		for _, n := range []int{11, 101, 1001} {
			targets = append(targets, ofEino(r, n, 0.2), atMost(r, cell{weft, n}, 8, "allocs", allocsOf))
		}
		return targets
	},
}

// A mapState is the state of the floor.
type mapState map[string]any

// agentNode and toolsNode are the nodes of the floor. They return their update.
func agentNode(p payload, s mapState) mapState {
	count := s["count"].(int)
	return mapState{"messages": []string{p.message(count)}, "count": 1}
}

func toolsNode(p payload, s mapState) mapState {
	count := s["count"].(int)
	return mapState{"messages": []string{p.message(count)}, "count": 1}
}

// mapLoop calls the two nodes in turn and adds their updates to a map, until the branch
// after the agent ends the loop.
func mapLoop(p payload, n int) mapState {
	s := newMapState()
	for {
		s.add(agentNode(p, s))
		if s["count"].(int) >= n {
			return s
		}
		s.add(toolsNode(p, s))
	}
}

func newMapState() mapState { return mapState{"messages": []string(nil), "count": 0} }

func (s mapState) add(update mapState) {
	s["messages"] = append(s["messages"].([]string), update["messages"].([]string)...)
	s["count"] = s["count"].(int) + update["count"].(int)
}

func (o *outcome) fromMap(s mapState) {
	o.messages, _ = s["messages"].([]string)
	o.count, _ = s["count"].(int)
}

func w1Floor(_ context.Context, w workload, n int) (subject, error) {
	return subject{run: func(context.Context) (o outcome, err error) {
		o.fromMap(mapLoop(w.payload, n))
		return o, nil
	}}, nil
}

// An einoState is the local state of a run of eino.
type einoState struct {
	Messages []string
	Count    int
}

func w1Eino(ctx context.Context, w workload, n int) (subject, error) {
	g, err := einoLoop(ctx, einoPointers(w.payload, n))
	if err != nil {
		return subject{}, err
	}
	return subject{run: func(ctx context.Context) (outcome, error) {
		s, err := g.Invoke(ctx, nil)
		if err != nil {
			return outcome{}, err
		}
		return outcome{messages: s.Messages, count: s.Count}, nil
	}}, nil
}

// einoParts are the node of the loop and the condition of its branch. Values of type E
// flow along the edges; the graph holds the state.
type einoParts[E any] struct {
	step func(ctx context.Context, in E) (E, error)
	done func(E) bool
}

// einoPointers passes a pointer to the state along the edges, so that the branch and
// the caller can read it.
func einoPointers(p payload, n int) einoParts[*einoState] {
	return einoParts[*einoState]{
		step: func(ctx context.Context, _ *einoState) (out *einoState, err error) {
			err = compose.ProcessState(ctx, func(_ context.Context, s *einoState) error {
				s.Messages = append(s.Messages, p.message(s.Count))
				s.Count++
				out = s
				return nil
			})
			return out, err
		},
		done: func(s *einoState) bool { return s.Count >= n },
	}
}

// einoLoop compiles the loop for eino.
func einoLoop[E any](ctx context.Context, parts einoParts[E], opts ...compose.GraphCompileOption) (compose.Runnable[E, E], error) {
	route := func(_ context.Context, e E) (string, error) {
		if parts.done(e) {
			return compose.END, nil
		}
		return "tools", nil
	}
	g := compose.NewGraph[E, E](compose.WithGenLocalState(func(context.Context) *einoState { return &einoState{} }))
	for _, err := range []error{
		g.AddLambdaNode("agent", compose.InvokableLambda(parts.step)),
		g.AddLambdaNode("tools", compose.InvokableLambda(parts.step)),
		g.AddEdge(compose.START, "agent"),
		g.AddBranch("agent", compose.NewGraphBranch(route, map[string]bool{"tools": true, compose.END: true})),
		g.AddEdge("tools", "agent"),
	} {
		if err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	return g.Compile(ctx, append(opts, compose.WithMaxRunSteps(maxSteps))...)
}

// maxSteps exceeds the supersteps of every workload.
const maxSteps = 100_000

// The channels of the loop of weft.
var (
	Messages = state.Append[string]("messages")
	Count    = state.Sum[int]("count")
)

func w1Weft(_ context.Context, w workload, n int) (subject, error) {
	g, err := weftLoop(w.payload, n, graph.Options{})
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

func fromSnapshot(s *graph.Snapshot) outcome {
	return outcome{messages: Messages.Get(s), count: Count.Get(s)}
}

// weftLoop compiles the loop with its usual step.
func weftLoop(p payload, n int, opts graph.Options) (*graph.Graph, error) {
	return compileLoop(weftStep(p), n, opts)
}

// weftStep is the node of the loop.
func weftStep(p payload) graph.NodeFunc {
	return func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{Messages.Put(p.message(Count.Get(s))), Count.Put(1)}, nil
	}
}

// compileLoop builds the graph of the loop.
func compileLoop(step graph.NodeFunc, n int, opts graph.Options) (*graph.Graph, error) {
	b := graph.New("loop", Messages, Count)
	b.Node("agent", step)
	b.Node("tools", step)
	b.Edge(graph.Start, "agent")
	b.Branch("agent", func(s state.View) (string, error) {
		if Count.Get(s) >= n {
			return graph.End, nil
		}
		return "tools", nil
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	opts.MaxSteps = maxSteps
	return b.Compile(opts)
}
