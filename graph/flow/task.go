package flow

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/state"
)

// Do runs a task and returns its result. If the result is stored, Do returns it without
// calling fn. The key identifies the task within the function of the flow, or within the task
// that calls Do. A second task with the same key is a [graph.ErrDuplicateKey]. Outside of a
// flow, Do returns [ErrNotInFlow].
//
// The result is stored as JSON before Do returns, even if the context ends meanwhile. If it
// cannot be stored, the flow fails. An error of fn is not stored. Do returns it in a
// [graph.NodeError] that names the task. A panic of fn is a [graph.PanicError]. Without a
// thread, the result is kept only until the run ends. With [graph.Exit], a crash loses it.
//
// Inside fn, questions, [graph.Once] and [graph.IdempotencyKey] belong to the task: other
// tasks may use the same keys. If fn asks a question, Do returns an error, which the function
// of the flow must return. [Retry], [Timeout] and [Cache.Wrap] wrap fn.
func Do[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	return do(ctx, key, nil, fn)
}

// Call runs a graph as a task and returns a value that the function result reads from its
// final state, such as the method Get of a channel. The value is stored as the result of the
// task. The graph starts with the given input, and shares no channels with the flow. The
// checkpoints of the graph are stored in the thread of the flow, so the graph resumes at its last
// checkpoint. Questions of the graph pause the flow. Events of the graph have the task in their path.
// [graph.Thread.Subgraph] cannot return a handle on the graph, so no caller can read or edit its state.
// The graph runs with its own middleware, and with its own MaxSteps, MaxParallel and pauses. Its store
// is not used.
func Call[T any](ctx context.Context, key string, g *graph.Graph, result func(state.View) T, input ...state.Write) (T, error) {
	var zero T
	if g == nil {
		return zero, fmt.Errorf("flow: task %q: the graph is nil; check the error of its Compile", key)
	}
	sub := engine.SubgraphOf(g)
	sub.Private = channels // a flow may call itself
	sub.Input = func(state.View) (state.Update, error) { return input, nil }
	var value T
	sub.Output = func(_, final state.View) (state.Update, error) {
		value = result(final)
		return nil, nil
	}
	return do(ctx, key, sub, func(ctx context.Context) (T, error) {
		update, err := engine.RunSubgraph(ctx)
		if err == nil && len(update) > 0 {
			err = errors.New("the graph writes to its parent, and a flow has no channels for it")
		}
		return value, err
	})
}

// do runs fn as a task. The argument sub is the graph that fn runs, or nil.
func do[T any](ctx context.Context, key string, sub *engine.Subgraph, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	s, err := scopeOf(ctx)
	if err != nil {
		return zero, fmt.Errorf("flow: task %q: %w", key, err)
	}
	data, err := engine.Inner(ctx, s.task, key, sub, func(ctx context.Context) ([]byte, error) {
		v, err := runTask(ctx, fn)
		if err != nil {
			return nil, err
		}
		data, err := jsonform.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		return data, nil
	})
	if err != nil {
		return zero, err
	}
	v, err := jsonform.Unmarshal[T](data)
	if err != nil {
		return zero, fmt.Errorf("flow: task %q: the stored result is no %T; give the task a new key to run it again: %w", key, zero, err)
	}
	return v, nil
}

// runTask calls the function of a task in a scope of its own.
func runTask[T any](ctx context.Context, fn func(context.Context) (T, error)) (T, error) {
	s := newScope(ctx)
	s.inTask = true
	return runIn(ctx, s, fn)
}
