package pgcheckpoint_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The stored bytes of a step do not grow with the length of the thread. WEFT_STEPS sets the
// maximum length.
func TestStoredBytesGrowLinearly(t *testing.T) {
	t.Parallel()
	most := setting(t, "WEFT_STEPS", 2001)
	p := newPlace(t)
	store := p.open(t)
	payload := func(thread string) int64 {
		return ask[int64](t, p, `SELECT sum(length(control) + length(changes) + coalesce(length(snapshot), 0))::bigint
			FROM weft.cp_step s JOIN weft.cp_thread t ON t.key = s.thread WHERE t.id = $1`, thread)
	}
	var first float64
	for _, n := range []int{101, 401, most} {
		thread := fmt.Sprint("thread-", n)
		before := storeBytes(t, p)
		runLoop(t, loopGraph(t, store, n), thread, n)
		each := float64(payload(thread)) / float64(n)
		t.Logf("%d steps: %.0f B of values and %.0f B on disk each", n, each, float64(storeBytes(t, p)-before)/float64(n))
		if first == 0 {
			first = each
		}
		assert.LessOrEqual(t, each, 1.1*first, "%d steps", n)
	}
}

// The statements in docs/scale.md work: one lists the sizes of the tables, and one sets a parameter of autovacuum.
func TestTheStatementsOfTheGuideToSizes(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.open(t)
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(t, err)
		return strings.ReplaceAll(string(text), "'weft'", "'"+p.options.Schema+"'")
	}
	rows := ask[int](t, p, `WITH listed (name, live, size) AS (`+strings.TrimSuffix(read("sizes.sql"), ";\n")+`)
		SELECT count(*) FROM listed WHERE name IN ('cp_thread', 'cp_step') AND size LIKE '% kB'`)
	assert.Equal(t, 2, rows)
	do(t, p, read("autovacuum.sql"))
	assert.Contains(t, ask[[]string](t, p, `SELECT reloptions FROM pg_class WHERE oid = 'weft.cp_step'::regclass`), "autovacuum_vacuum_scale_factor=0.02")
}

// Every step rewrites the state. Snapshots take at most as much space as the changes, and
// they limit the number of deltas in a lineage.
func TestSnapshotsLimitTheLineage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	const steps = 1500
	seen := state.Last[string]("seen")
	count := state.Sum[int]("count")
	b := graph.New("rewrite", seen, count)
	b.Node("step", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{seen.Put(loopText(count.Get(s))), count.Put(1)}, nil
	})
	b.Edge(graph.Start, "step")
	b.Branch("step", func(s state.View) (string, error) {
		if count.Get(s) >= steps {
			return graph.End, nil
		}
		return "step", nil
	}, "step", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: 2 * steps})
	require.NoError(t, err)
	_, err = g.Thread("t").Invoke(ctx, graph.Begin())
	require.NoError(t, err)
	changes := ask[int64](t, p, `SELECT sum(length(changes))::bigint FROM weft.cp_step`)
	snapshots := ask[int64](t, p, `SELECT coalesce(sum(length(snapshot)), 0)::bigint FROM weft.cp_step`)
	assert.NotZero(t, snapshots)
	assert.LessOrEqual(t, snapshots, changes)
	assert.LessOrEqual(t, len(newest(t, store, "t").Lineage), 200)
}

// List transfers no changes of checkpoints, and the server does not read them.
func TestListReadsNoValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store, counter := countedStore(t, p, pgx.QueryExecModeExec)
	const steps = 400
	size := 0
	for n := 1; n <= steps; n++ {
		c := step("t", n)
		c.Changes[0].Data = []byte(loopText(n) + loopText(n+1) + loopText(n+2) + loopText(n+3))
		size += len(c.Changes[0].Data) / 2 // less than the size of the compressed text
		require.NoError(t, store.Put(ctx, c, c.Parent))
	}
	counter.takeBytes()
	wantSteps(t, store, "t", steps)
	assert.LessOrEqual(t, counter.takeBytes(), size/4)
	newest(t, store, "t")
	assert.GreaterOrEqual(t, counter.takeBytes(), size)
	// Damaged changes must not affect List.
	do(t, p, `UPDATE weft.cp_step SET changes = '\x7f'`)
	wantSteps(t, store, "t", steps)
}

func TestListHoldsNoConnection(t *testing.T) {
	t.Parallel()
	store := newPlace(t).open(t)
	const steps = 1000
	putAll(t, store, "t", steps)
	start := time.Now()
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		require.NoError(t, err)
		assert.Equal(t, stepID(steps), c.ID)
		break
	}
	t.Logf("the newest of %d after %v", steps, time.Since(start))
	put(t, store, "t", steps+1) // the list does not hold the connection
}
