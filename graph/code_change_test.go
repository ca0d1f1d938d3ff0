package graph_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// TestResumeWithoutDueNode proves that a run fails with ErrUnknownNode if the due node was
// removed from the graph, and that the thread proceeds after an Update or a new turn.
func TestResumeWithoutDueNode(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		version := func(v string, fill func(b *graph.Builder)) *graph.Graph {
			b := graph.New("g", trail, note, item)
			fill(b)
			return compile(t, b, graph.Options{Checkpoints: s, Version: v})
		}
		one := version("1", func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			b.Node("gone", asking("gone", func(string) {}))
			b.Node("sent", asking("sent", func(string) {}))
			b.Edge("a", "gone")
			b.BranchMany("gone", func(state.View) (state.Update, error) { return state.Update{graph.Send("sent", item.Put(1))}, nil }, "sent")
		})
		two := version("2", func(b *graph.Builder) {
			b.Node("a", mark("a"))
			b.Edge(graph.Start, "a")
			b.Node("b", mark("b"))
			b.Edge("a", "b")
		})
		for _, name := range []string{"gone", "sent"} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				before := one.Thread(name)
				snap := invoke(t, before, note.Put("go"))
				if name == "sent" {
					snap = invoke(t, before, ask.Answer(snap.Pauses[0].ID, "x"))
				}
				after := two.Thread(name)
				_, err := after.Invoke(t.Context())
				require.ErrorIs(t, err, graph.ErrUnknownNode)
				require.ErrorContains(t, err, `"`+name+`"`)
				require.ErrorContains(t, err, `thread "`+name+`"`)
				_, err = after.Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "x"))
				require.ErrorIs(t, err, graph.ErrUnknownNode)

				_, err = after.Update(t.Context(), "a", trail.Put("steered"))
				require.NoError(t, err)
				got := trail.Get(done(t, after))
				assert.Equal(t, []string{"steered", "b"}, got[len(got)-2:])
				all := history(t, after, graph.HistoryQuery{})
				assert.Equal(t, "1", all[0].Version)
				assert.Equal(t, "2", all[len(all)-1].Version)
			})
		}
		t.Run("new turn", func(t *testing.T) {
			t.Parallel()
			invoke(t, one.Thread("turn"), note.Put("go"))
			wantTrail(t, done(t, two.Thread("turn"), note.Put("go")), "a", "a", "b")
		})
	})
}

// TestRemovedChannelIsLoggedAndKept proves that a graph without a stored channel logs the
// channel and runs, and that the value is kept for a graph that declares the channel again.
func TestRemovedChannelIsLoggedAndKept(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		var log bytes.Buffer
		thread := func(h ...state.Handle) *graph.Thread {
			b := graph.New("g", h...)
			b.Node("a", func(ctx context.Context, _ state.View) (state.Update, error) {
				_, err := ask.Wait(ctx, "a?")
				return state.Update{trail.Put("a")}, err
			})
			b.Edge(graph.Start, "a")
			return compile(t, b, graph.Options{Checkpoints: s, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Thread("t")
		}
		invoke(t, thread(trail, note), note.Put("go"), trail.Put("in"))
		th := thread(trail)
		snap := invoke(t, th)
		wantTrail(t, done(t, th, ask.Answer(snap.Pauses[0].ID, "x")), "in", "a")
		assert.Contains(t, log.String(), "channel=note")
		assert.Equal(t, "go", note.Get(snapshot(t, thread(trail, note))))
	})
}

// TestReadOfUndeclaredChannelFailsNode proves that reading a channel that the
// graph does not declare is an error of the node and names the channel.
func TestReadOfUndeclaredChannelFailsNode(t *testing.T) {
	t.Parallel()
	strange := state.Last[int]("strange")
	_, err := single(t, func(_ context.Context, v state.View) (state.Update, error) {
		return state.Update{total.Put(strange.Get(v))}, nil
	}).Invoke(t.Context())
	require.ErrorIs(t, err, state.ErrUnknownChannel)
	require.ErrorContains(t, err, `node "n"`)
	require.ErrorContains(t, err, `"strange"`)
}

// TestCheckThreadsFindsARemovedTargetOfSend proves that checkThreads, the check before a deployment, reports a thread in
// which a Send to a removed node is due.
func TestCheckThreadsFindsARemovedTargetOfSend(t *testing.T) {
	t.Parallel()
	s := memcheckpoint.New(memcheckpoint.Options{})
	version := func(work string, m graph.Migrations) *graph.Graph {
		b := graph.New("g", item)
		b.Node("a", func(context.Context, state.View) (state.Update, error) { return nil, nil })
		b.Edge(graph.Start, "a")
		b.Node(work, asking(work, func(string) {}))
		b.BranchMany("a", func(state.View) (state.Update, error) { return state.Update{graph.Send(work, item.Put(1))}, nil }, work)
		return compile(t, b, graph.Options{Checkpoints: s, Migrations: m})
	}
	invoke(t, version("sent", graph.Migrations{}).Thread("t"), graph.Begin())
	check := func(g *graph.Graph) (problems []error) {
		require.NoError(t, checkThreads(t.Context(), g, s, func(_ string, problem error) { problems = append(problems, problem) }))
		return problems
	}
	problems := check(version("work", graph.Migrations{}))
	require.Len(t, problems, 1)
	require.ErrorIs(t, problems[0], graph.ErrUnknownNode)
	require.ErrorContains(t, problems[0], `"sent"`)
	assert.Empty(t, check(version("work", graph.Migrations{Nodes: map[string]string{"sent": "work"}})))
}
