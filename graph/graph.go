package graph

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// A Graph is a compiled graph. It is immutable, and may run any number of threads at
// once.
type Graph struct {
	plan     *engine.Plan
	opts     Options
	run      RunOptions      // the options of [Graph.With]
	options  *engine.Options // the options of a run without a thread
	endJoins []engine.Join   // joins to End; only Describe uses them
	nested   map[string]*Graph
}

// Declares reports whether the graph has a channel.
func (g *Graph) Declares(channel state.Handle) bool { return g.plan.Schema.Has(channel) }

// Name returns the name with which the graph was built.
func (g *Graph) Name() string {
	if g == nil {
		return ""
	}
	return g.plan.Name
}

// Subgraph returns the graph that a node runs; see [Builder.Subgraph]. It returns nil if the
// graph has no such node, or if the node runs no graph.
func (g *Graph) Subgraph(node string) *Graph {
	if g == nil {
		return nil
	}
	return g.nested[node]
}

// Checkpoints returns the store of the graph's threads, or nil.
func (g *Graph) Checkpoints() checkpoint.Store {
	if g == nil {
		return nil
	}
	return g.opts.Checkpoints
}

// Version returns the [Options.Version] of the graph.
func (g *Graph) Version() string {
	if g == nil {
		return ""
	}
	return g.opts.Version
}

// With returns a copy of the graph with options for its runs. They replace the options of
// an earlier With, and [Thread.With] replaces them. Durability, Metadata and Conflict have
// no effect on runs without a thread. Runs with invalid options fail. If the graph is a
// subgraph, MaxSteps, MaxParallel and the pauses of the options apply to it.
func (g *Graph) With(o RunOptions) *Graph {
	if g == nil {
		return nil
	}
	c := *g
	c.run = o
	c.options = g.opts.engineOptions(o)
	return &c
}

// Invoke runs the graph once, without a thread. Nothing is stored, and the run cannot
// pause. The input may be empty.
func (g *Graph) Invoke(ctx context.Context, writes ...state.Write) (*Snapshot, error) {
	return g.invoke(ctx, nil, nil, writes)
}

// Stream is like [Graph.Invoke], and yields the events of the run; see [Thread.Stream].
// Since nothing is stored, the run may be up to 64 events ahead of the reader.
func (g *Graph) Stream(ctx context.Context, writes ...state.Write) iter.Seq2[Event, error] {
	return g.stream(ctx, nil, writes)
}

// invoke runs the graph; t is nil without a thread.
func (g *Graph) invoke(ctx context.Context, t *Thread, events *engine.Stream, writes []state.Write) (*Snapshot, error) {
	if g == nil {
		return nil, &RunError{Err: errNilGraph}
	}
	o, thread := g.options, ""
	err := g.run.check(g)
	if t != nil && err == nil {
		thread = t.id
		o, err = t.options()
	}
	if err != nil {
		return nil, g.fail(thread, err)
	}
	snap, err := g.plan.Invoke(ctx, o, events, writes)
	return newSnapshot(snap), g.fail(thread, err)
}

// stream yields the events of a run.
func (g *Graph) stream(ctx context.Context, t *Thread, writes []state.Write) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := engine.Consume(ctx, func(ctx context.Context, events *engine.Stream) error {
			_, err := g.invoke(ctx, t, events, writes)
			return err
		}, newEvent, func(e any) bool { return yield(e.(Event), nil) })
		if err != nil {
			yield(nil, err)
		}
	}
}

// fail wraps err in a RunError.
func (g *Graph) fail(thread string, err error) error {
	if err == nil {
		return nil
	}
	return &RunError{Graph: g.plan.Name, Thread: thread, Err: err}
}

// String returns the name of the graph.
func (g *Graph) String() string { return fmt.Sprintf("graph %q", g.Name()) }
