package pgcheckpoint_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// In the agent loop, an agent and its tools alternate. Each appends a message of 1,024
// random characters, which compress to six bits each.
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
		_, _ = random.Read(raw) // never fails
		texts[i] = base64.RawURLEncoding.EncodeToString(raw)[:size]
	}
	return texts
}

func loopText(i int) string { return loopTexts[i%len(loopTexts)] }

func loopGraph(tb testing.TB, store checkpoint.Store, n int) *graph.Graph {
	tb.Helper()
	step := func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{loopMessages.Put(loopText(loopCount.Get(s))), loopCount.Put(1)}, nil
	}
	b := graph.New("loop", loopMessages, loopCount)
	b.Node("agent", step)
	b.Node("tools", step)
	b.Edge(graph.Start, "agent")
	b.Branch("agent", func(s state.View) string {
		if loopCount.Get(s) >= n {
			return graph.End
		}
		return "tools"
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: 2 * n})
	require.NoError(tb, err)
	return g
}

// A floor stores the changes of the loop with hand-written SQL: one prepared statement
// for each step, on one connection.
type floor struct {
	conn  *pgx.Conn
	place place
	sql   string
}

const (
	// floorInsert sends one INSERT for each step.
	floorInsert = `INSERT INTO weft.floor_step (thread, step, change) VALUES ($1, $2, $3)`
	// floorHead also updates the head of the thread, in the same round trip.
	floorHead = `WITH d AS (INSERT INTO weft.floor_delta (thread, step, change) VALUES ($1, $2, $3))
	INSERT INTO weft.floor_head (thread, step) VALUES ($1, $2) ON CONFLICT (thread) DO UPDATE SET step = excluded.step`
)

func newFloor(tb testing.TB, p place, sql string) *floor {
	tb.Helper()
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_step (key bigserial PRIMARY KEY, thread text, step int, change bytea)`)
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_delta (thread text, step int, change bytea, PRIMARY KEY (thread, step))`)
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_head (thread text PRIMARY KEY, step int) WITH (fillfactor = 70)`)
	conn, err := pgx.Connect(context.Background(), p.url)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &floor{conn: conn, place: p, sql: p.sql(sql)}
}

// run stores n steps of a thread.
func (f *floor) run(tb testing.TB, thread string, n int) {
	tb.Helper()
	for i := range n {
		change, err := json.Marshal(map[string]any{"messages": []string{loopText(i)}, "count": 1})
		require.NoError(tb, err)
		_, err = f.conn.Exec(context.Background(), f.sql, thread, i, change)
		require.NoError(tb, err)
	}
}

// BenchmarkW4p alternates between the agent loop on the store and two floors, so that
// other work of the machine slows down all of them. It reports the medians, and the time
// of the store beyond the floor of one INSERT. The server should wait for its disk: DATABASE_URL=$(WEFT_POSTGRES_CLUSTER=durable
// WEFT_POSTGRES_DURABLE=1 scripts/postgres).
func BenchmarkW4p(b *testing.B) {
	for _, n := range []int{101, 401, 1001, 10001} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			p := newPlace(b)
			g := loopGraph(b, p.open(b), n)
			insert, head := newFloor(b, p, floorInsert), newFloor(b, p, floorHead)
			var took [3][]float64
			runs := 0
			for b.Loop() {
				thread := fmt.Sprint("thread-", runs)
				runs++
				for i, run := range []func(){
					func() { insert.run(b, thread, n) },
					func() { head.run(b, thread, n) },
					func() { runLoop(b, g, thread, n) },
				} {
					start := time.Now()
					run()
					took[i] = append(took[i], float64(time.Since(start).Microseconds())/float64(n))
				}
			}
			own, byInsert := storeBytes(b, p), ask[int64](b, p, `SELECT pg_total_relation_size('weft.floor_step')`)
			b.ReportMetric(median(took[0]), "insert-µs/step")
			b.ReportMetric(median(took[1]), "head-µs/step")
			b.ReportMetric(median(took[2]), "weft-µs/step")
			b.ReportMetric(median(took[2])/median(took[1]), "x-head")
			b.ReportMetric(float64(own)/float64(runs*n), "B/step")
			b.ReportMetric(float64(own)/float64(byInsert), "x-B")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func runLoop(tb testing.TB, g *graph.Graph, thread string, n int) {
	tb.Helper()
	snap, err := g.Thread(thread).Invoke(context.Background(), graph.Begin())
	require.NoError(tb, err)
	require.Equal(tb, n, loopMessages.Len(snap))
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// storeBytes returns the size of the tables and indexes of a store on disk.
func storeBytes(tb testing.TB, p place) int64 {
	tb.Helper()
	return ask[int64](tb, p, `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'cp\_%'`,
		p.options.Schema)
}
