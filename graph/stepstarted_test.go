package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// StepStarted has the state that each task sees. For a sent task, this state has only the sent writes.
func TestStepStartedHasTheStatesOfItsTasks(t *testing.T) {
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
		if e, ok := e.(graph.StepStarted); ok {
			for i, task := range e.Tasks {
				values, err := state.Values(e.States[i])
				require.NoError(t, err)
				seen[task] = string(values["lines"]) + string(values["item"])
			}
		}
	}
	assert.Equal(t, map[string]string{"plan": `["first"]`, "work[0]": `"a"`, "work[1]": `"b"`}, seen)
}

// When a superstep runs again, a task whose result is stored has no state.
func TestStepStartedHasNoStateOfFinishedTasks(t *testing.T) {
	t.Parallel()
	lines := state.Append[string]("lines")
	b := graph.New("g", lines)
	b.Node("good", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("good")}, nil })
	b.Node("bad", func(context.Context, state.View) (state.Update, error) { return nil, errors.New("away") })
	b.Edge(graph.Start, "good")
	b.Edge(graph.Start, "bad")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	thread := g.Thread("t")
	_, err = thread.Invoke(t.Context(), lines.Put("a"))
	require.Error(t, err)
	runs := map[string]bool{}
	for e, err := range thread.Stream(t.Context()) {
		if err != nil {
			break
		}
		if e, ok := e.(graph.StepStarted); ok {
			for i, task := range e.Tasks {
				runs[task] = e.States[i] != nil
			}
		}
	}
	assert.Equal(t, map[string]bool{"good": false, "bad": true}, runs)
}
