package protocolgraphs

import (
	"context"
	"strings"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	topic = state.LastWins[string]("topic")
	out   = state.LastWins[string]("out")
	lines = state.Append[string]("log")
	draft = state.LastWins[string]("draft")
)

func subGraph(o graph.Options) (*graph.Graph, error) {
	c := graph.New("child", topic, draft, out)
	c.Node("draft", func(ctx context.Context, s state.View) (state.Update, error) {
		graph.Emit(ctx, map[string]string{"phase": "draft", "topic": topic.Get(s)})
		return state.Update{draft.Put("draft of " + topic.Get(s))}, nil
	})
	c.Node("polish", func(ctx context.Context, s state.View) (state.Update, error) {
		tone := "plain"
		if strings.HasPrefix(topic.Get(s), "?") {
			answer, err := asking.Wait(ctx, encoded(map[string]string{"ask": "tone"}))
			if err != nil {
				return nil, err
			}
			if tone, err = compact(answer); err != nil {
				return nil, err
			}
		}
		graph.Emit(ctx, map[string]string{"phase": "polish", "tone": tone})
		return state.Update{out.Put(draft.Get(s) + " (" + tone + ")")}, nil
	})
	c.Edge(graph.Start, "draft")
	c.Edge("draft", "polish")
	c.Edge("polish", graph.End)
	child, err := c.Compile(graph.Options{})
	if err != nil {
		return nil, err
	}
	b := graph.New("sub", topic, out, lines)
	b.Node("prepare", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put("prepare " + topic.Get(s))}, nil
	})
	b.SubgraphWith("child", child, graph.SubgraphOptions{Output: func(_, sub state.View) (state.Update, error) {
		return state.Update{topic.Put(topic.Get(sub))}, nil
	}})
	b.Node("close", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put("close " + out.Get(s))}, nil
	})
	b.Edge(graph.Start, "prepare")
	b.Edge("prepare", "child")
	b.Edge("child", "close")
	b.Edge("close", graph.End)
	return b.Compile(o)
}
