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

// TestNewTurnDropsTheGotoOfTheTurnBefore proves that a new turn drops an unfinished superstep together with the targets
// that callers added to it: a deferred node that a caller scheduled by Goto does not run in the new turn.
func TestNewTurnDropsTheGotoOfTheTurnBefore(t *testing.T) {
	t.Parallel()
	ran := state.Append[string]("ran")
	b := graph.New("turns", ran)
	broken := true
	b.Node("work", func(context.Context, state.View) (state.Update, error) {
		if broken {
			return nil, errors.New("broken")
		}
		return state.Update{ran.Put("work")}, nil
	})
	b.Node("late", func(context.Context, state.View) (state.Update, error) { return state.Update{ran.Put("late")}, nil })
	b.Defer("late")
	b.AllowEdgesAndBranches("late")
	b.Edge(graph.Start, "work")
	b.Destinations(graph.Start, "late")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	th := g.Thread("t")
	_, err = th.Invoke(t.Context(), graph.Begin())
	require.ErrorContains(t, err, "broken")
	_, err = th.Invoke(t.Context(), graph.Goto("late"))
	require.ErrorContains(t, err, "broken", "late waits for work")
	broken = false
	snap, err := th.Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	assert.Equal(t, []string{"work"}, ran.Get(snap))
}
