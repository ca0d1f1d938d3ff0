package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TaskStarted has the state that the node sees: for a sent task, what was sent to it.
func TestTaskStartedHasTheStateOfTheTask(t *testing.T) {
	t.Parallel()
	lines, item := state.Append[string]("lines"), state.LastWins[string]("item")
	b := graph.New("g", lines, item)
	b.Node("plan", func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.Send("work", item.Put("a")), graph.Send("work", item.Put("b"))}, nil
	})
	b.Destinations("plan", "work")
	b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{lines.Put(item.Get(s))}, nil
	})
	b.Edge(graph.Start, "plan")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	seen := map[string]string{}
	for e, err := range g.Stream(t.Context(), lines.Put("first")) {
		require.NoError(t, err)
		if e, ok := e.(graph.TaskStarted); ok {
			values, err := state.Values(e.State)
			require.NoError(t, err)
			seen[e.At().Task] = string(values["lines"]) + string(values["item"])
		}
	}
	assert.Equal(t, map[string]string{"plan": `["first"]`, "work[0]": `"a"`, "work[1]": `"b"`}, seen)
}
