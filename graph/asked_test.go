package graph_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// askedTwice returns a graph whose subgraph asks one question, works for an hour, and asks another one.
func askedTwice(t *testing.T, s checkpoint.Store) *graph.Graph {
	sub := graph.New("sub", trail)
	sub.Node("one", asks("one"))
	sub.Node("work", func(context.Context, state.View) (state.Update, error) {
		<-time.After(time.Hour)
		return nil, nil
	})
	sub.Node("two", asks("two"))
	chain(sub, "one", "work", "two")
	inner := compile(t, sub, graph.Options{})
	return build(t, s, func(b *graph.Builder) {
		b.Subgraph("sub", inner)
		b.Edge(graph.Start, "sub")
	})
}

func TestQuestionHasTheTimeWhenItWasAsked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		th := askedTwice(t, memcheckpoint.New(memcheckpoint.Options{})).Thread("t")
		first := time.Now().UTC()
		q := pending(t, ask, invoke(t, th, trail.Put("go")))[0]
		require.Equal(t, first, q.Asked, "in the snapshot of the run")
		time.Sleep(24 * time.Hour)
		require.Equal(t, first, pending(t, ask, snapshot(t, th))[0].Asked)

		again := invoke(t, th, graph.Continue())
		require.Equal(t, first, pending(t, ask, again)[0].Asked, "the node has asked again")
		require.Equal(t, first, pending(t, ask, snapshot(t, th))[0].Asked)

		snap := invoke(t, th, ask.Answer(q.ID, "yes"))
		second := first.Add(25 * time.Hour)
		require.Equal(t, second, pending(t, ask, snap)[0].Asked, "a question in a subgraph is younger than the checkpoint of the thread")
		require.Equal(t, first, snap.Time.UTC())
		data, err := json.Marshal(snapshot(t, th))
		require.NoError(t, err)
		require.Contains(t, string(data), `"asked":"`+second.Format(time.RFC3339Nano)+`"`)
	})
}

func TestStaticPauseHasTheTimeWhenTheRunStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		th := newGated(t, memcheckpoint.New(memcheckpoint.Options{})).Thread("t").With(graph.RunOptions{PauseBefore: []string{"last"}})
		began := time.Now().UTC()
		snap := invoke(t, th, note.Put("go"))
		require.Equal(t, began, snap.Pauses[0].Asked)
		time.Sleep(time.Hour)
		require.Equal(t, began, snapshot(t, th).Pauses[0].Asked)
	})
}

// undated is a store that removes the time from each question. Older versions stored none.
type undated struct{ checkpoint.Store }

func (s undated) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	for i := range writes {
		var pauses []map[string]any
		if writes[i].Channel == "$ask" && json.Unmarshal(writes[i].Data, &pauses) == nil {
			for _, p := range pauses {
				delete(p, "asked")
			}
			writes[i].Data, _ = json.Marshal(pauses)
		}
	}
	return s.Store.PutWrites(ctx, k, writes)
}

func TestQuestionOfOlderVersionHasTheTimeOfTheNewestCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old := memcheckpoint.New(memcheckpoint.Options{})
		began := time.Now().UTC()
		th := askedTwice(t, undated{old}).Thread("t")
		q := pending(t, ask, invoke(t, th, trail.Put("go")))[0]
		invoke(t, th, ask.Answer(q.ID, "yes"))
		time.Sleep(24 * time.Hour)

		th = askedTwice(t, old).Thread("t")
		snap := snapshot(t, th)
		require.Equal(t, began.Add(time.Hour), pending(t, ask, snap)[0].Asked, "of the newest checkpoint of the subgraph")
		require.Equal(t, began, snap.Time.UTC(), "of the newest checkpoint of the thread's graph")
		asked := invoke(t, th, graph.Continue())
		require.Equal(t, time.Now().UTC(), pending(t, ask, asked)[0].Asked, "asked again, with a time")
	})
}

// logged collects the texts of warnings.
type logged []string

func (l *logged) Warn(msg string, args ...any) { *l = append(*l, msg+" "+words(args...)) }

// TestQuestionOfRenamedNodeIsListed proves that a question of a node that the graph no longer has is listed, that a
// warning is logged, and that an answer to the question is stored until a migration names the node.
func TestQuestionOfRenamedNodeIsListed(t *testing.T) {
	t.Parallel()
	s := memcheckpoint.New(memcheckpoint.Options{})
	var log logged
	version := func(node string, m graph.Migrations) *graph.Thread {
		b := graph.New("test", trail)
		b.Node(node, asks("sure?"))
		b.Node("other", mark("other"))
		b.Edge(graph.Start, node)
		b.Edge(graph.Start, "other")
		return compile(t, b, graph.Options{Checkpoints: s, Migrations: m, Logger: &log}).Thread("t")
	}
	q := pending(t, ask, invoke(t, version("ask", graph.Migrations{}), trail.Put("go")))
	require.Empty(t, log)

	renamed := version("approve", graph.Migrations{})
	require.Equal(t, q, pending(t, ask, snapshot(t, renamed)))
	require.Len(t, log, 1)
	require.Contains(t, log[0], `node ask`)
	require.Contains(t, log[0], "Migrations")
	snap, err := renamed.Invoke(t.Context(), ask.Answer(q[0].ID, "yes"))
	require.ErrorIs(t, err, graph.ErrUnknownNode)
	require.Empty(t, snap.Pauses, "the answer is stored")

	snap = done(t, version("approve", graph.Migrations{Nodes: map[string]string{"ask": "approve"}}))
	require.Equal(t, "go yes other", strings.Join(trail.Get(snap), " "))
}
