//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
)

// F9: clients with wrong clocks and a client with a correct clock write to one thread in
// turn. The order, head, times and leases depend on the clock of the database only.
func TestF09WrongClientClocksChangeNothing(t *testing.T) {
	begin(t)
	ctx := context.Background()
	o := newSchema(t)
	o.LeaseTime = time.Second
	address := pgtest.DirectURL(t)
	store := open(t, address, o)
	var want []string
	turn := func(ctx context.Context, store checkpoint.Store, line string) {
		_, err := appendGraph(t, store).Thread("t").Invoke(ctx, trail.Put(line))
		assert.NoError(t, err, "%s", line)
		want = append(want, line)
	}
	for round := range count(2, 20) {
		turn(ctx, store, fmt.Sprint("right ", round))
		for name, off := range map[string]time.Duration{"an hour behind": -time.Hour, "an hour ahead": time.Hour, "of the year 2000": 0} {
			moment := time.Now().Add(off)
			synctest.Test(t, func(t *testing.T) {
				if off != 0 {
					time.Sleep(time.Until(moment)) // the clock of a synctest bubble starts in the year 2000
				}
				store, pool := storeInBubble(t, address, o)
				defer pool.Close()
				turn(t.Context(), store, fmt.Sprint(name, " ", round))
				// The clocks of the clients do not affect the expiry of a lease.
				l, err := store.Lease(t.Context(), "leased")
				require.NoError(t, err)
				_, err = store.Lease(t.Context(), "leased")
				assert.ErrorIs(t, err, pgcheckpoint.ErrThreadBusy, "while it is held")
				assert.NoError(t, l.Release(t.Context()), "release")
			})
		}
	}
	snap, err := appendGraph(t, store).Thread("t").Snapshot(ctx)
	require.NoError(t, err)
	assert.Equal(t, want, trail.Get(snap))
	var last time.Time
	n := 0
	for c, err := range store.List(ctx, checkpoint.Query{Thread: "t"}) {
		require.NoError(t, err)
		if n++; !last.IsZero() {
			assert.False(t, c.Time.After(last), "checkpoint of %v listed after a checkpoint of %v", c.Time, last)
		}
		assert.WithinDuration(t, time.Now(), c.Time, 10*time.Minute)
		last = c.Time
	}
	assert.Equal(t, 2*len(want), n, "checkpoints")
	t.Logf("F9: %d turns by four clocks", len(want))
}

func storeInBubble(t *testing.T, address string, o pgcheckpoint.Options) (*pgcheckpoint.Store, *pgxpool.Pool) {
	t.Helper()
	config, err := pgcheckpoint.PoolConfig(address, o.Pooling)
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	require.NoError(t, err)
	store, err := pgcheckpoint.New(context.Background(), pool, o)
	require.NoError(t, err)
	return store, pool
}

// A queryRecorder records the SQL statements that a store sends to the database, and the
// types of their arguments.
type queryRecorder struct {
	mu    sync.Mutex
	types map[string]int
	sql   []string
}

func (l *queryRecorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range d.Args {
		l.types[fmt.Sprintf("%T", a)]++
	}
	l.sql = append(l.sql, d.SQL)
	return ctx
}

func (l *queryRecorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// F9: no argument of a statement is a point in time, so the clock of a client cannot affect
// a store. The store sends leases and ages as durations.
func TestF09StatementsContainNoTime(t *testing.T) {
	begin(t)
	ctx := t.Context()
	o := newSchema(t)
	recorded := &queryRecorder{types: map[string]int{}}
	store, _ := openPool(t, pgtest.DirectURL(t), o, func(c *pgxpool.Config) { c.ConnConfig.Tracer = recorded })
	g, err := fan(store, 2, ignoreProgress)
	require.NoError(t, err)
	th := g.Thread("t")
	_, err = startOrResume(ctx, th)
	require.NoError(t, err)
	for _, err := range th.History(ctx, graph.HistoryQuery{}) {
		assert.NoError(t, err, "history")
	}
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 2, KeepFor: time.Hour})
	assert.NoError(t, err, "prune")
	assert.NoError(t, store.CopyThread(ctx, "t", "u"), "copy")
	for _, err := range store.ListThreads(ctx, "") {
		assert.NoError(t, err, "list threads")
	}
	_, err = store.Stats(ctx)
	assert.NoError(t, errors.Join(err, store.DeleteThread(ctx, "u")), "stats")
	for name := range recorded.types {
		assert.NotRegexp(t, `time\.|Timestamp|pgtype\.Date`, name, "type of an argument")
	}
	assert.GreaterOrEqual(t, len(recorded.sql), 20, "recorded statements")
	assert.GreaterOrEqual(t, len(recorded.types), 5, "recorded types")
	t.Logf("F9: %d statements, values of the types %v", len(recorded.sql), recorded.types)
}
