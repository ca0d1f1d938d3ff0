package flow

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/state"
)

// Retry returns a task function that calls fn again when it fails; see [node.Retry]. Tasks and
// calls of [graph.Once] that completed in a failed attempt keep their results.
func Retry[T any](p node.RetryPolicy, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return decorate(fn, func(n graph.NodeFunc) graph.NodeFunc { return node.Retry(p, n) })
}

// Timeout returns a task function that ends the context of fn after d; see [node.Timeout]. The
// error of a task that runs longer is a [graph.ErrTimeout].
func Timeout[T any](d time.Duration, fn func(context.Context) (T, error)) func(context.Context) (T, error) {
	return decorate(fn, func(n graph.NodeFunc) graph.NodeFunc { return node.Timeout(d, n) })
}

// decorate applies a node decorator to the function of a task.
func decorate[T any](fn func(context.Context) (T, error), decorator func(graph.NodeFunc) graph.NodeFunc) func(context.Context) (T, error) {
	return func(ctx context.Context) (value T, err error) {
		_, err = decorator(func(ctx context.Context, _ state.View) (state.Update, error) {
			var err error
			value, err = runTask(ctx, fn)
			return nil, err
		})(ctx, nil)
		return value, err
	}
}
