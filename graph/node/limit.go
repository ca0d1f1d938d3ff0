package node

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Limit allows at most n concurrent runs of a node, over all threads. Further runs wait
// until a run ends or until their context ends. If n is below 1, it counts as 1.
func Limit(n int, fn graph.NodeFunc) graph.NodeFunc {
	if fn == nil {
		return nil
	}
	slots := make(chan struct{}, max(n, 1))
	return func(ctx context.Context, s state.View) (state.Update, error) {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		defer func() { <-slots }()
		return fn(ctx, s)
	}
}
