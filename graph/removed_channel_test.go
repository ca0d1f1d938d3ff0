package graph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestRemovedChannelIsIgnoredWithOneWarningOrNone proves that a stored channel which the graph does not have is logged
// once for each time a thread is read, and not at all if Migrations say that it was removed.
func TestRemovedChannelIsIgnoredWithOneWarningOrNone(t *testing.T) {
	t.Parallel()
	s := newStore()
	old := build(t, s, func(b *graph.Builder) {
		b.Node("a", func(context.Context, state.View) (state.Update, error) {
			return state.Update{trail.Put("a"), total.Put(1)}, nil
		})
		b.Node("b", func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(1)}, nil })
		chain(b, "a", "b")
	})
	done(t, old.Thread("t"), note.Put("go"))

	var log logged
	version := func(m graph.Migrations) *graph.Thread {
		b := graph.New("test", trail, note)
		b.Node("a", mark("a"))
		chain(b, "a")
		return compile(t, b, graph.Options{Checkpoints: s, Logger: &log, Migrations: m}).Thread("t")
	}
	wantTrail(t, snapshot(t, version(graph.Migrations{})), "a")
	require.Len(t, log, 1)
	require.Contains(t, log[0], "channel total")

	log = nil
	wantTrail(t, snapshot(t, version(graph.Migrations{Channels: map[string]string{"total": ""}})), "a")
	require.Empty(t, log)
}

// TestStoredResultForRemovedChannel proves that a thread cannot be read if a stored result of its unfinished superstep
// writes to a channel that the graph does not have. If Migrations say that the channel was removed, the write is ignored.
func TestStoredResultForRemovedChannel(t *testing.T) {
	t.Parallel()
	s := newStore()
	old := build(t, s, func(b *graph.Builder) {
		b.Node("count", func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(1)}, nil })
		b.Node("ask", asks("sure?"))
		b.Edge(graph.Start, "count")
		b.Edge(graph.Start, "ask")
	})
	q := pending(t, ask, invoke(t, old.Thread("t"), note.Put("go")))[0].ID

	version := func(m graph.Migrations) *graph.Thread {
		b := graph.New("test", trail, note)
		b.Node("count", mark("count"))
		b.Node("ask", asks("sure?"))
		b.Edge(graph.Start, "count")
		b.Edge(graph.Start, "ask")
		return compile(t, b, graph.Options{Checkpoints: s, Migrations: m}).Thread("t")
	}
	_, err := version(graph.Migrations{}).Snapshot(t.Context())
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	require.ErrorContains(t, err, "renamed or removed, say so in the graph's Migrations")
	wantTrail(t, done(t, version(graph.Migrations{Channels: map[string]string{"total": ""}}), ask.Answer(q, "yes")), "yes")
}

// TestWaitingWriteForRemovedChannel proves for a stored write of a Send, and for a write of a subgraph for its parent: if the
// graph does not have the channel, the run fails. If Migrations say that the channel was removed, the write is ignored.
func TestWaitingWriteForRemovedChannel(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"send", "subgraph"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newStore()
			version := func(m graph.Migrations, channels ...state.Handle) *graph.Thread {
				inner := graph.New("inner", trail)
				inner.Node("raise", func(context.Context, state.View) (state.Update, error) {
					return state.Update{graph.ToParent(total.Put(1))}, nil
				})
				inner.Node("ask", asks("sure?"))
				chain(inner, "raise", "ask")
				b := graph.New("test", append(channels, trail)...)
				b.Node("a", mark("a"))
				b.Node("ask", asks("sure?"))
				b.Subgraph("sub", compile(t, inner, graph.Options{}))
				b.Edge(graph.Start, "a")
				b.BranchMany("a", func(state.View) (state.Update, error) {
					if kind == "send" {
						return state.Update{graph.Send("ask", total.Put(1))}, nil
					}
					return state.Update{graph.Goto("sub")}, nil
				}, "ask", "sub")
				return compile(t, b, graph.Options{Checkpoints: s, Migrations: m}).Thread("t")
			}
			q := pending(t, ask, invoke(t, version(graph.Migrations{}, total), graph.Begin()))[0].ID

			bare := version(graph.Migrations{})
			_, err := bare.Invoke(t.Context(), ask.Answer(q, "yes"))
			require.ErrorIs(t, err, state.ErrUnknownChannel)
			require.ErrorContains(t, err, "say so in the graph's Migrations")
			snap, err := bare.Snapshot(t.Context())
			if kind == "subgraph" {
				require.NoError(t, err)
				_, err = bare.Subgraph(snap.Tasks[0].ID).Snapshot(t.Context())
			}
			require.ErrorIs(t, err, state.ErrUnknownChannel)
			wantTrail(t, done(t, version(graph.Migrations{Channels: map[string]string{"total": ""}}), ask.Answer(q, "yes")), "a", "yes")
		})
	}
}

func TestRemovedChannelMustNotBeInTheGraph(t *testing.T) {
	t.Parallel()
	b := graph.New("test", trail)
	b.Node("a", mark("a"))
	chain(b, "a")
	_, err := b.Compile(graph.Options{Migrations: graph.Migrations{Channels: map[string]string{"trail": ""}}})
	require.ErrorContains(t, err, "the graph still has it")
}
