package pgmemory_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
)

// turnCalls are the calls of a program for the turns of a user, in order.
func turnCalls(t *testing.T, queue driver.TurnStore, user string) []call {
	t.Helper()
	ctx := context.Background()
	scope := driver.Scope{Tenant: "acme", User: user}
	ok := func(err error) {
		assert.NoError(t, err)
	}
	var claimed []driver.Turn
	claim := func() {
		var err error
		claimed, err = queue.Claim(ctx, 5, time.Hour)
		ok(err)
	}
	return []call{
		{"enqueue", func() { ok(queue.Enqueue(ctx, turn("1", scope))) }},
		{"claim", claim},
		{"park", func() { ok(queue.Retry(ctx, claimed[0], -1, "cause")) }},
		{"parked", func() { _, err := queue.Parked(ctx, 5); ok(err) }},
		{"revive", func() { ok(queue.Revive(ctx, scope, "1")) }},
		{"claim again", claim},
		{"finish", func() { ok(queue.Finish(ctx, claimed[0])) }},
		{"count", func() { _, err := queue.Count(ctx); ok(err) }},
	}
}

// documentCalls are the calls of a program for the documents of a user, in order.
func documentCalls(t *testing.T, store driver.DocumentStore, user string) []call {
	t.Helper()
	ctx := context.Background()
	scope := driver.Scope{Tenant: "acme", User: user}
	vector := func() []float32 { return []float32{1, 2} }
	var source driver.Source
	return []call{
		{"swap", func() { swapIn(t, store, scope, document("a", 30, vector), document("b", 30, vector)) }},
		{"sources", func() { source = sourcesOf(t, store, driver.SourceQuery{Reach: scope.Only()})[0] }},
		{"chunks", func() {
			n := 0
			for _, err := range store.Chunks(ctx, []driver.ChunkSpan{{Scope: scope, Source: source.ID, From: 3, To: 9}, {Scope: scope, Source: source.ID, To: 9}}) {
				n++
				assert.NoError(t, err, "chunks")
			}
			assert.Equal(t, 15, n)
		}},
		{"search knowledge", func() {
			c, err := store.Search(ctx, driver.ChunkSearch{
				Query: driver.SourceQuery{Reach: driver.Reach{Scope: scope, Inherit: true}, Prefix: "a"}, Terms: []string{"part", "of"}, Embedding: []float32{1, 1}, Model: "m", Limit: 100,
			})
			assert.NoError(t, err, "search")
			require.Len(t, c.Records, 30)
			assert.EqualValues(t, 30, c.Chunks)
		}},
		{"delete sources", func() {
			_, err := store.Delete(ctx, driver.SourceQuery{Reach: scope.Only()})
			assert.NoError(t, err, "delete")
		}},
	}
}

// A swap of any number of copied chunks takes five round trips.
func TestLoadRoundTrips(t *testing.T) {
	t.Parallel()
	for name, g := range map[string]struct {
		place func(testing.TB) place
		mode  pgx.QueryExecMode
	}{"cached": {directPlace, pgx.QueryExecModeCacheStatement}, "pooled": {pooledPlace, pgx.QueryExecModeExec}} {
		p := g.place(t)
		p.options.Before = func(_ context.Context, b *pgx.Batch) error {
			b.Queue(`SELECT set_config('app.user', $1::text, true)`, "ann")
			return nil
		}
		db, counter := counted(t, p, g.mode)
		for _, uri := range []string{"warm up", "few", "many"} {
			s := document(uri, map[string]int{"warm up": 100, "few": 65, "many": 3000}[uri], func() []float32 { return []float32{1, 2} })
			counter.take()
			swapIn(t, db.Documents(), docs, s)
			// The server's answer to COPY may be counted as a sixth round trip, although the
			// client does not wait for it.
			n := counter.take()
			assert.False(t, n > 6 && uri != "warm up", "%s: %s: got %d round trips want 5", name, uri, n)
		}
	}
}
