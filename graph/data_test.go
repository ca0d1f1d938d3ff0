package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

func TestSnapshotAsJSONShowsEveryChannelAndReadsBack(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var (
			lines  = state.Append[string]("lines")
			prices = state.Map[string, float64]("prices")
			sum    = state.Sum[int]("sum")
			unset  = state.Last[int]("unset")
			handle = state.Untracked[func()]("handle")
		)
		b := graph.New("shop", lines, prices, sum, unset, handle)
		b.Node("work", func(context.Context, state.View) (state.Update, error) {
			return state.Update{lines.Put("b"), prices.Put(map[string]float64{"tea": 2.5}), sum.Put(3), handle.Put(func() {})}, nil
		})
		b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := ask.Wait(ctx, "sure?")
			return nil, err
		})
		b.Edge(graph.Start, "work")
		b.Edge("work", "ask")
		g, err := b.Compile(graph.Options{Checkpoints: s})
		require.NoError(t, err)

		input, err := g.ReadInput([]byte(`{"lines": ["a"], "sum": 4}`))
		require.NoError(t, err)
		snap, err := g.Thread("t").Invoke(t.Context(), input...)
		require.NoError(t, err)
		data, err := json.Marshal(snap)
		require.NoError(t, err)
		var shown struct {
			Values map[string]any
			Next   []string
			Done   bool
			Pauses []graph.Pause
		}
		require.NoError(t, json.Unmarshal(data, &shown))
		assert.Equal(t, map[string]any{"lines": []any{"a", "b"}, "prices": map[string]any{"tea": 2.5}, "sum": 7.0}, shown.Values)
		assert.Equal(t, []string{"ask"}, shown.Next)
		assert.False(t, shown.Done)
		assert.Len(t, shown.Pauses, 1)

		values, err := state.Values(snap)
		require.NoError(t, err)
		assert.JSONEq(t, `["a","b"]`, string(values["lines"]), "a snapshot is a view")
		edited, err := state.Apply(snap, sum.Put(1))
		require.NoError(t, err)
		assert.Equal(t, 8, sum.Get(edited))

		back, err := g.ReadSnapshot(data)
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "b"}, lines.Get(back))
		assert.Equal(t, 7, sum.Get(back))
		_, ok := unset.Lookup(back)
		assert.False(t, ok, "an absent channel is absent when it is read back")
		again, err := json.Marshal(back)
		require.NoError(t, err)
		assert.JSONEq(t, string(data), string(again))
	})
}

func TestReadInputNamesTheMistake(t *testing.T) {
	t.Parallel()
	g := build(t, nil, func(b *graph.Builder) {
		b.Node("a", mark("a"))
		b.Edge(graph.Start, "a")
	})
	_, err := g.ReadInput([]byte(`{"trial": ["x"]}`))
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	assert.ErrorContains(t, err, `did you mean "trail"`)
	_, err = g.ReadInput([]byte(`{"trail": 7}`))
	ce, ok := err.(interface{ Unwrap() error })
	require.True(t, ok)
	assert.ErrorContains(t, ce.Unwrap(), `"trail"`)
	_, err = g.ReadInput([]byte(`[]`))
	require.Error(t, err)
}

func TestJSONSchemaDescribesTheChannels(t *testing.T) {
	t.Parallel()
	g := build(t, nil, func(b *graph.Builder) {
		b.Node("a", mark("a"))
		b.Edge(graph.Start, "a")
	})
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(g.JSONSchema(), &schema))
	assert.Contains(t, schema.Properties, "trail")
	require.NoError(t, json.Unmarshal(g.InputJSONSchema(), &schema))
	assert.Contains(t, schema.Properties, "trail")
}

// ReadInput, which decodes data from outside such as a request, refuses internal channels. Go code can write them.
func TestReadInputRefusesInternalChannels(t *testing.T) {
	t.Parallel()
	role, seen, notes := state.Last[string]("role").Internal(), state.Append[string]("seen").Internal(), state.Last[string]("notes")
	users, known, ages := state.Keyed("users", llm.ByID).Internal(), state.Set[string]("known").Internal(), state.Map[string, int]("ages").Internal()
	b := graph.New("g", role, seen, notes, users, known, ages)
	b.Node("a", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "a")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	for name, value := range map[string]string{"role": `"admin"`, "seen": `["x"]`, "users": `[]`, "known": `["x"]`, "ages": `{"a":1}`} {
		_, err = g.ReadInput([]byte(`{"notes": "n", "` + name + `": ` + value + `}`))
		ce, ok := errors.AsType[*state.ChannelError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, name, ce.Channel)
		assert.ErrorContains(t, err, "it is internal")
	}
	var schema struct{ Properties map[string]any }
	require.NoError(t, json.Unmarshal(g.InputJSONSchema(), &schema))
	assert.Equal(t, []string{"notes"}, slices.Collect(maps.Keys(schema.Properties)))
	snap, err := g.Invoke(t.Context(), role.Put("admin"))
	require.NoError(t, err)
	assert.Equal(t, "admin", role.Get(snap))
}
