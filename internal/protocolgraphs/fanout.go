package protocolgraphs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	items   = state.LastWins[[]string]("items")
	results = state.Append[string]("results")
	summary = state.LastWins[string]("summary")
	item    = state.LastWins[string]("item")
	index   = state.LastWins[int]("index")
)

func fanoutGraph(o graph.Options) (*graph.Graph, error) {
	b := graph.New("fanout", items, results, summary, item, index)
	b.Node("plan", func(_ context.Context, s state.View) (state.Update, error) {
		list := items.Get(s)
		if len(list) == 0 {
			list = []string{"a", "b", "c"}
		}
		u := state.Update{items.Put(list)}
		for i, it := range list {
			u = append(u, graph.Send("worker", item.Put(it), index.Put(i)))
		}
		return u, nil
	})
	b.Destinations("plan", "worker")
	b.Node("worker", func(ctx context.Context, s state.View) (state.Update, error) {
		i := index.Get(s)
		select {
		// The recorded workers wait for a third of this time. Here they wait longer, so that they finish in order on a busy machine.
		case <-time.After(time.Duration(i) * 300 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return state.Update{results.Put(fmt.Sprint(i, ":", strings.ToUpper(item.Get(s))))}, nil
	})
	b.Node("join", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{summary.Put(strings.Join(results.Get(s), " "))}, nil
	})
	b.Edge(graph.Start, "plan")
	b.Edge("worker", "join")
	b.Edge("join", graph.End)
	return b.Compile(o)
}
