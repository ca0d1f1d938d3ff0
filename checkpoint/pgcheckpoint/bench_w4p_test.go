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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The agent loop: an agent and its tools take turns, and each appends a message of
// 1,024 bytes that do not compress to less than their six bits a byte.
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
	b.Branch("agent", func(s state.View) (string, error) {
		if loopCount.Get(s) >= n {
			return graph.End, nil
		}
		return "tools", nil
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: 2 * n})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// A floor stores what the loop changes by hand-written SQL: one prepared statement a
// step on one connection.
type floor struct {
	conn  *pgx.Conn
	place place
	sql   string
}

const (
	// floorInsert is one INSERT a step.
	floorInsert = `INSERT INTO weft.floor_step (thread, step, change) VALUES ($1, $2, $3)`
	// floorHead also keeps the head of the thread, in the same round trip.
	floorHead = `WITH d AS (INSERT INTO weft.floor_delta (thread, step, change) VALUES ($1, $2, $3))
	INSERT INTO weft.floor_head (thread, step) VALUES ($1, $2) ON CONFLICT (thread) DO UPDATE SET step = excluded.step`
)

func newFloor(tb testing.TB, p place, sql string) *floor {
	tb.Helper()
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_step (key bigserial PRIMARY KEY, thread text, step int, change bytea)`)
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_delta (thread text, step int, change bytea, PRIMARY KEY (thread, step))`)
	do(tb, p, `CREATE TABLE IF NOT EXISTS weft.floor_head (thread text PRIMARY KEY, step int) WITH (fillfactor = 70)`)
	conn, err := pgx.Connect(context.Background(), p.url)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &floor{conn: conn, place: p, sql: p.sql(sql)}
}

// run does n steps of a thread.
func (f *floor) run(tb testing.TB, thread string, n int) {
	tb.Helper()
	for i := range n {
		change, err := json.Marshal(map[string]any{"messages": []string{loopText(i)}, "count": 1})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.conn.Exec(context.Background(), f.sql, thread, i, change); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkW4p runs the agent loop, with every step stored, in turn with two floors, so
// that a machine that is busy for a while slows down all of them. It reports the
// medians and what the store takes beyond the floor of one INSERT. The server
// should wait for its disk: DATABASE_URL=$(WEFT_POSTGRES_CLUSTER=durable
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
	if err != nil {
		tb.Fatal(err)
	}
	if got := loopMessages.Len(snap); got != n {
		tb.Fatalf("got %d messages want %d", got, n)
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// storeBytes returns what all tables of a store take on disk, indexes included.
func storeBytes(tb testing.TB, p place) int64 {
	tb.Helper()
	return ask[int64](tb, p, `SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname LIKE 'cp\_%'`,
		p.options.Schema)
}
