package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

func TestDueIsTheStateWithoutTheWritesOfTheUnfinishedSuperstep(t *testing.T) {
	t.Parallel()
	lines, ask := state.Append[string]("log"), graph.NewInterrupt[string, string]("ask")
	b := graph.New("due", lines)
	b.Node("asks", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := ask.Wait(ctx, "?")
		return state.Update{lines.Put("asks")}, err
	})
	b.Node("writes", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("writes")}, nil })
	b.Edge(graph.Start, "asks")
	b.Edge(graph.Start, "writes")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	ran, err := g.Thread("t").Invoke(t.Context(), lines.Put("input"))
	require.NoError(t, err)
	read, err := g.Thread("t").Snapshot(t.Context())
	require.NoError(t, err)
	for _, snap := range []*graph.Snapshot{ran, read} {
		assert.Equal(t, []string{"input", "writes"}, lines.Get(snap))
		assert.Equal(t, []string{"input"}, lines.Get(snap.Due()))
	}
	done, err := g.Thread("t").Invoke(t.Context(), ask.Answer(read.Pauses[0].ID, "yes"))
	require.NoError(t, err)
	assert.Equal(t, []string{"input", "asks", "writes"}, lines.Get(done.Due()))

	data, err := json.Marshal(ran)
	require.NoError(t, err)
	again, err := g.ReadSnapshot(data)
	require.NoError(t, err)
	assert.Equal(t, []string{"input", "writes"}, lines.Get(again.Due()))
}
