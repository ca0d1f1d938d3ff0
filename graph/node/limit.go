package node

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Limit lets at most n runs of a node go on at once, over all threads. The others
// wait for their turn, or until their context ends. N below 1 counts as 1.
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
