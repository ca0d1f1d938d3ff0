package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The shop is the graph of these tests. It brews orders of tea. An order of more than ten cups waits for a person.
var (
	cups    = state.Last[int]("cups")
	journal = state.Append[string]("log")
	approve = graph.NewInterrupt[prompt, approval]("approve")
)

type prompt struct {
	Title  string          `json:"title"`
	Schema json.RawMessage `json:"schema"`
}

type approval struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

const approvalSchema = `{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}},"required":["approved"]}`

func shop(t *testing.T, store checkpoint.Store) *graph.Graph {
	t.Helper()
	b := graph.New("shop", cups, journal)
	b.Node("check", func(ctx context.Context, s state.View) (state.Update, error) {
		n := cups.Get(s)
		if n > 10 {
			a, err := approve.Wait(ctx, prompt{fmt.Sprintf("Brew %d cups?", n), json.RawMessage(approvalSchema)})
			if err != nil || !a.Approved {
				return state.Update{cups.Put(0)}, err
			}
		}
		return state.Update{journal.Put("checked")}, nil
	})
	b.Node("brew", func(_ context.Context, s state.View) (state.Update, error) {
		if cups.Get(s) < 0 {
			return nil, errors.New("the kettle is empty")
		}
		return state.Update{journal.Put(fmt.Sprintf("brewed %d", cups.Get(s)))}, nil
	})
	b.Edge(graph.Start, "check")
	b.Edge("check", "brew")
	g, err := b.Compile(graph.Options{Checkpoints: store, Version: "v7"})
	require.NoError(t, err)
	return g
}

// fill stores a thread of each status: order-1 is done, order-2 waits for a person, order-3 has failed, and order-4 has a
// due task and no run, as if its process had died.
func fill(t *testing.T, store checkpoint.Store) {
	t.Helper()
	g := shop(t, store)
	_, err := g.Thread("order-1").Invoke(t.Context(), cups.Put(2))
	require.NoError(t, err)
	snap, err := g.Thread("order-2").Invoke(t.Context(), cups.Put(12))
	require.NoError(t, err)
	assert.Len(t, snap.Pauses, 1)
	_, err = g.Thread("order-3").Invoke(t.Context(), cups.Put(-1))
	require.ErrorContains(t, err, "kettle")
	_, err = g.Thread("order-4").Update(t.Context(), "check", cups.Put(3))
	require.NoError(t, err)
}

// hanging returns a graph with a node that waits for the end of its context.
func hanging(t *testing.T) *graph.Graph {
	t.Helper()
	b := graph.New("slow", cups)
	b.Node("wait", func(ctx context.Context, _ state.View) (state.Update, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.Edge(graph.Start, "wait")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	return g
}
