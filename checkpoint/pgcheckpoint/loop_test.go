package pgcheckpoint_test

import (
	"context"
	"encoding/base64"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The channels and texts of the agent loop. An agent and its tools take turns, and each
// appends a message of 1,024 bytes. A byte has six random bits, so a message does not
// compress below 3/4.
var (
	loopMessages = state.Append[string]("messages")
	loopCount    = state.Sum[int]("count")
	loopTexts    = newTexts(1024)
)

func newTexts(size int) []string {
	random := rand.NewChaCha8([32]byte{})
	raw := make([]byte, size)
	texts := make([]string, 256)
	for i := range texts {
		_, _ = random.Read(raw) // Read never fails.
		texts[i] = base64.RawURLEncoding.EncodeToString(raw)[:size]
	}
	return texts
}

func loopText(i int) string { return loopTexts[i%len(loopTexts)] }

// loopGraph compiles the loop for threads of n supersteps.
func loopGraph(tb testing.TB, store checkpoint.Store, n int) *graph.Graph {
	tb.Helper()
	step := func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{loopMessages.Put(loopText(loopCount.Get(s))), loopCount.Put(1)}, nil
	}
	b := graph.New("loop", loopMessages, loopCount)
	b.Node("agent", step)
	b.Node("tools", step)
	b.Edge(graph.Start, "agent")
	b.Branch("agent", func(s state.View) (string, error) {
		if loopCount.Get(s) >= n {
			return graph.End, nil
		}
		return "tools", nil
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: 2 * n})
	require.NoError(tb, err)
	return g
}

// runLoop runs a thread of n supersteps.
func runLoop(tb testing.TB, g *graph.Graph, thread string, n int) {
	tb.Helper()
	snap, err := g.Thread(thread).Invoke(context.Background(), graph.Begin())
	require.NoError(tb, err)
	require.Equal(tb, n, loopMessages.Len(snap))
}

// storeBytes returns the size of the tables and indexes of a store on disk.
func storeBytes(tb testing.TB, p place) int64 {
	tb.Helper()
	return ask[int64](tb, p, `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'cp\_%'`,
		p.options.Schema)
}
