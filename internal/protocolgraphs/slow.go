package protocolgraphs

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	tag   = state.LastWins[string]("tag")
	n     = state.LastWins[int]("n")
	steps = state.Append[string]("steps")
)

func slowGraph(o graph.Options, pass func(ctx context.Context, thread string, events int)) (*graph.Graph, error) {
	b := graph.New("slow", tag, n, steps)
	b.Node("begin", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{steps.Put(tag.Get(s) + ":begin")}, nil
	})
	b.Node("work", func(ctx context.Context, s state.View) (state.Update, error) {
		at, _ := graph.FromContext(ctx)
		for i := range n.Get(s) {
			graph.Emit(ctx, map[string]any{"tag": tag.Get(s), "step": i})
			select {
			case <-time.After(recordedPause):
				pass(ctx, at.Thread, i+1)
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		return state.Update{steps.Put(tag.Get(s) + ":done")}, nil
	})
	b.Edge(graph.Start, "begin")
	b.Edge("begin", "work")
	b.Edge("work", graph.End)
	return b.Compile(o)
}
