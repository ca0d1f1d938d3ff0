package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func TestThreadSubgraph(t *testing.T) {
	t.Parallel()
	shared, own := state.Append[string]("shared"), state.Last[string]("own")
	ask := graph.NewInterrupt[string, bool]("ask")
	inner := graph.New("inner", shared, own)
	inner.Node("first", func(context.Context, state.View) (state.Update, error) {
		return state.Update{own.Put("draft"), shared.Put("drafted")}, nil
	})
	inner.Node("second", func(ctx context.Context, s state.View) (state.Update, error) {
		_, err := ask.Wait(ctx, own.Get(s))
		return nil, err
	})
	inner.Edge(graph.Start, "first")
	inner.Edge("first", "second")
	ig, err := inner.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	outer := graph.New("outer", shared)
	outer.Subgraph("write", ig)
	outer.Edge(graph.Start, "write")
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := outer.Compile(graph.Options{Checkpoints: open(t)})
			if err != nil {
				t.Fatal(err)
			}
			th := g.Thread("t")
			if _, err := th.Invoke(t.Context(), shared.Put("in")); err != nil {
				t.Fatal(err)
			}
			in, err := th.Subgraph(t.Context(), "write")
			if err != nil {
				t.Fatal(err)
			}
			if got := own.Get(in); got != "draft" || len(in.Next) != 1 || in.Next[0] != "second" || len(in.Pauses) != 1 {
				t.Errorf("got own %q, next %q, %d pauses", got, in.Next, len(in.Pauses))
			}
			if got := shared.Get(in); len(got) != 2 || got[1] != "drafted" {
				t.Errorf("got shared %q", got)
			}
			if _, err := th.Subgraph(t.Context(), "read"); !errors.Is(err, checkpoint.ErrNotFound) {
				t.Errorf("got %v, want %v", err, checkpoint.ErrNotFound)
			}
		})
	}
}
