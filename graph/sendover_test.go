package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A task of SendOver sees the state with the sent writes, even when a new build of the graph resumes
// the task, as in another process. The checkpoint stores only the sent writes.
func TestSentOverTaskSeesTheWholeState(t *testing.T) {
	t.Parallel()
	var (
		text  = state.Last[string]("text")
		item  = state.Last[int]("item")
		seen  = state.Append[string]("seen")
		ready = graph.NewInterrupt[string, bool]("ready")
	)
	store := memcheckpoint.New(memcheckpoint.Options{})
	build := func() *graph.Graph {
		b := graph.New("over", text, item, seen)
		b.Node("split", func(context.Context, state.View) (state.Update, error) {
			return state.Update{
				text.Put(strings.Repeat("x", 10_000)), seen.Put("split"),
				graph.SendOver("work", item.Put(1)), graph.SendOver("work", item.Put(2), seen.Put("sent")), graph.Send("work", item.Put(3)),
			}, nil
		})
		b.Node("work", func(ctx context.Context, s state.View) (state.Update, error) {
			if _, err := ready.WaitKey(ctx, fmt.Sprint(item.Get(s)), ""); err != nil {
				return nil, err
			}
			return state.Update{seen.Put(fmt.Sprint(item.Get(s), len(text.Get(s)), seen.Get(s)))}, nil
		})
		b.Edge(graph.Start, "split")
		b.Destinations("split", "work")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		require.NoError(t, err)
		return g
	}
	snap, err := build().Thread("1").Invoke(t.Context(), text.Put("hello"))
	require.NoError(t, err)
	c, err := store.Get(t.Context(), checkpoint.Key{Thread: "1"})
	require.NoError(t, err)
	assert.Less(t, len(c.Control), 400)
	open, err := ready.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 3)
	for _, q := range open {
		snap, err = build().Thread("1").Invoke(t.Context(), ready.Answer(q.ID, true))
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"split", "1 10000 [split]", "2 10000 [split sent]", "3 0 []"}, seen.Get(snap))
}

func TestSendOverRejectsWritesToUnknownChannels(t *testing.T) {
	t.Parallel()
	other := state.Last[int]("other")
	b := graph.New("over", state.Last[int]("item"))
	b.Node("split", func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.SendOver("work", other.Put(1))}, nil
	})
	b.Node("work", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "split")
	b.Destinations("split", "work")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), graph.Begin())
	var ce *state.ChannelError
	require.ErrorAs(t, err, &ce)
	assert.Equal(t, "other", ce.Channel)
}

// A subgraph passes a SendOver to its parent. The task sees the parent's state, even if a later run executes the task.
func TestSubgraphSendsOverToItsParent(t *testing.T) {
	t.Parallel()
	text, item, seen := state.Last[string]("text"), state.Last[int]("item"), state.Append[string]("seen")
	in := graph.New("in", item)
	in.Node("leave", func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.ToParent(graph.SendOver("work", item.Put(7)))}, nil
	})
	in.Edge(graph.Start, "leave")
	sub, err := in.Compile(graph.Options{})
	require.NoError(t, err)
	b := graph.New("out", text, item, seen)
	b.Subgraph("in", sub)
	b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{seen.Put(fmt.Sprint(item.Get(s), text.Get(s)))}, nil
	})
	b.Edge(graph.Start, "in")
	b.Destinations("in", "work")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{}), PauseBefore: []string{"work"}})
	require.NoError(t, err)
	_, err = g.Thread("1").Invoke(t.Context(), text.Put("hello"))
	require.NoError(t, err)
	snap, err := g.Thread("1").Invoke(t.Context(), graph.Continue())
	require.NoError(t, err)
	assert.Equal(t, []string{"7hello"}, seen.Get(snap))
}
