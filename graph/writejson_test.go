package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Writes that are read from JSON have the effect of the writes that were encoded.
func TestReadWriteReadsEncodedWrites(t *testing.T) {
	t.Parallel()
	var (
		name     = state.Last[string]("name")
		total    = state.Sum[int]("total")
		lines    = state.Append[string]("lines")
		messages = state.Keyed("messages", llm.ByID)
		scores   = state.Map[string, int]("scores")
	)
	b := graph.New("g", name, total, lines, messages, scores)
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Edge(graph.Start, "n")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	one, two := llm.User("1"), llm.User("2")
	one.ID, two.ID = "1", "2"
	before := []state.Write{messages.Put(one), scores.Put(map[string]int{"a": 1, "b": 2}), lines.Put("0")}
	for _, w := range []state.Write{
		name.Put("x"), total.Put(3), lines.Put("a", "b"), lines.Overwrite([]string{"c"}), messages.Put(two),
		messages.Remove("1"), messages.Overwrite([]llm.Message{two}), scores.Put(map[string]int{"c": 3}), scores.Remove("a"), name.Overwrite("y"),
	} {
		data, err := json.Marshal(w)
		require.NoError(t, err)
		read, err := g.ReadWrite(data)
		require.NoError(t, err, "%s", data)
		assert.JSONEq(t, values(t, g, append(before, w)...), values(t, g, append(before, read)...), "%s", data)
	}
	for _, text := range []string{
		`{"channel":"nam","op":"update","value":"x"}`, `{"channel":"name","op":"remove","value":["x"]}`,
		`{"channel":"messages","op":"grow","value":[]}`, `{"channel":"total","op":"update","value":"x"}`, `{"channel":"scores","op":"remove","value":{}}`, `[`,
	} {
		_, err := g.ReadWrite([]byte(text))
		require.Error(t, err, text)
	}
}

func values(t *testing.T, g *graph.Graph, writes ...state.Write) string {
	t.Helper()
	snap, err := g.Invoke(t.Context(), writes...)
	require.NoError(t, err)
	data, err := json.Marshal(snap)
	require.NoError(t, err)
	var out struct{ Values json.RawMessage }
	require.NoError(t, json.Unmarshal(data, &out))
	return string(out.Values)
}

// A run at Start begins a branch with an empty state; the first branch stays in the history.
func TestRunAtStartBeginsWithAnEmptyState(t *testing.T) {
	t.Parallel()
	file, err := sqlitecheckpoint.Open(t.Context(), t.TempDir()+"/g.db", sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, file.Close()) })
	lines := state.Append[string]("lines")
	b := graph.New("g", lines)
	b.Node("n", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("n")}, nil })
	b.Edge(graph.Start, "n")
	for _, o := range []graph.Options{{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}, {Checkpoints: file}} {
		g, err := b.Compile(o)
		require.NoError(t, err)
		thread := g.Thread("t")
		_, err = thread.At(graph.Start).Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrNoInput)
		for _, input := range []string{"a", "b"} {
			snap, err := thread.At(graph.Start).Invoke(t.Context(), lines.Put(input))
			require.NoError(t, err)
			assert.Equal(t, []string{input, "n"}, lines.Get(snap))
		}
		snap, err := thread.Invoke(t.Context(), lines.Put("c"))
		require.NoError(t, err)
		assert.Equal(t, []string{"b", "n", "c", "n"}, lines.Get(snap))
		var parents []string
		for info, err := range thread.History(t.Context(), graph.HistoryQuery{}) {
			require.NoError(t, err)
			parents = append(parents, info.Parent)
		}
		require.Len(t, parents, 6)
		assert.Empty(t, parents[3], "the first input of the second branch")
	}
}

// A run that is cancelled with ErrRolledBack is undone.
func TestErrRolledBackUndoesTheRun(t *testing.T) {
	t.Parallel()
	lines := state.Append[string]("lines")
	b := graph.New("g", lines)
	b.Node("first", func(context.Context, state.View) (state.Update, error) { return state.Update{lines.Put("first")}, nil })
	b.Node("second", func(ctx context.Context, s state.View) (state.Update, error) {
		if len(lines.Get(s)) > 4 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, nil
	})
	b.Edge(graph.Start, "first")
	b.Edge("first", "second")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	thread := g.Thread("t")
	before, err := thread.Invoke(t.Context(), lines.Put("a", "b"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for e, err := range thread.Stream(ctx, lines.Put("c")) {
		if e, ok := e.(graph.TaskStarted); ok && e.At().Node == "second" {
			cancel(graph.ErrRolledBack)
		}
		if err != nil {
			require.ErrorIs(t, err, graph.ErrRolledBack)
		}
	}
	after, err := thread.Snapshot(t.Context())
	require.NoError(t, err)
	assert.Equal(t, before.ID, after.ID)
	assert.Equal(t, []string{"a", "b", "first"}, lines.Get(after))
}
