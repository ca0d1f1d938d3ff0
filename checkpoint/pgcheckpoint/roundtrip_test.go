package pgcheckpoint_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

// A roundTripCounter counts the round trips of a connection and the received bytes.
type roundTripCounter struct {
	mu   sync.Mutex
	sent bool
	n    int
	read int // bytes
}

type countedConn struct {
	net.Conn
	counter *roundTripCounter
}

func (c countedConn) Write(b []byte) (int, error) {
	c.counter.mu.Lock()
	c.counter.sent = true
	c.counter.mu.Unlock()
	return c.Conn.Write(b)
}

func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.counter.mu.Lock()
	defer c.counter.mu.Unlock()
	c.counter.read += n
	if n > 0 && c.counter.sent {
		c.counter.sent = false
		c.counter.n++
	}
	return n, err
}

// take returns the number of round trips, and resets it.
func (c *roundTripCounter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// takeBytes returns the number of received bytes, and resets it.
func (c *roundTripCounter) takeBytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.read
	c.read = 0
	return n
}

// countedStore returns a store with one connection and the counter of its round trips.
func countedStore(t *testing.T, p place, mode pgx.QueryExecMode) (*pgcheckpoint.Store, *roundTripCounter) {
	t.Helper()
	counter := &roundTripCounter{}
	pool := p.pool(t, func(c *pgxpool.Config) {
		c.MaxConns = 1
		c.ConnConfig.DefaultQueryExecMode = mode
		dial := c.ConnConfig.DialFunc
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return countedConn{conn, counter}, err
		}
	})
	return p.migrated(t, pool), counter
}

func TestEveryCallIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	type given struct {
		place  func(testing.TB) place
		mode   pgx.QueryExecMode
		before bool
	}
	for name, g := range map[string]given{
		"cached":                {newPlaceDirect, pgx.QueryExecModeCacheStatement, false},
		"cached, with a role":   {newPlaceDirect, pgx.QueryExecModeCacheStatement, true},
		"exec":                  {newPlaceDirect, pgx.QueryExecModeExec, false},
		"simple":                {newPlaceDirect, pgx.QueryExecModeSimpleProtocol, false},
		"pooled":                {pooledPlace, pgx.QueryExecModeExec, false},
		"pooled, with a role":   {pooledPlace, pgx.QueryExecModeExec, true},
		"pooled, simple":        {pooledPlace, pgx.QueryExecModeSimpleProtocol, false},
		"pooled, cache by user": {pooledPlace, pgx.QueryExecModeCacheStatement, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := g.place(t)
			if g.before {
				p.options.Before = func(_ context.Context, b *pgx.Batch) error {
					b.Queue(`SELECT set_config('role', 'postgres', true), set_config('app.user', $1::text, true)`, "ann")
					return nil
				}
			}
			store, counter := countedStore(t, p, g.mode)
			for _, thread := range []string{"warm up", "measured"} {
				for _, call := range calls(t, store, thread) {
					counter.take()
					call.do()
					n := counter.take()
					if thread == "measured" {
						assert.Equal(t, 1, n, call.name)
					}
				}
			}
		})
	}
}

func newPlaceDirect(tb testing.TB) place {
	tb.Helper()
	return place{url: pgtest.DirectURL(tb), options: pgcheckpoint.Options{Schema: pgtest.Schema(tb), Pooling: pgcheckpoint.Direct}}
}

type call struct {
	name string
	do   func()
}

// calls returns the calls of a run, in order.
func calls(t *testing.T, store *pgcheckpoint.Store, thread string) []call {
	t.Helper()
	ctx := context.Background()
	var held checkpoint.Lease
	wide := step(thread, 2)
	for i := range 300 {
		wide.Changes = append(wide.Changes, checkpoint.Change{Channel: fmt.Sprint("channel", i), Kind: 1, Data: []byte("1")})
	}
	wide.Settles = true
	fork := step(thread, 3)
	fork.Parent = stepID(1)
	next := func(n int) error { c := step(thread, n); return held.Put(ctx, c, c.Parent) }
	ok := func(err error) {
		assert.NoError(t, err)
	}
	return []call{
		{"begin a thread", func() { ok(store.Put(ctx, step(thread, 1), "")) }},
		{"acquire and load", func() {
			held = lease(t, store, thread)
			c, err := held.Get(ctx, checkpoint.Key{Thread: thread})
			ok(err)
			assert.Equal(t, stepID(1), c.ID)
			assert.Len(t, c.Lineage, 1)
		}},
		{"result of a task", func() {
			ok(held.PutWrites(ctx, checkpoint.Key{Thread: thread, ID: stepID(1)}, []checkpoint.Write{write("a"), write("b")}))
		}},
		{"results of 1,000 tasks", func() {
			ok(held.PutWrites(ctx, checkpoint.Key{Thread: thread, ID: stepID(1)}, taskResults(1000)))
		}},
		{"superstep of 301 channels", func() { ok(held.Put(ctx, wide, stepID(1))) }},
		{"fork", func() { ok(held.Put(ctx, fork, stepID(2))) }},
		{"superstep", func() { ok(next(4)) }},
		{"load", func() {
			assert.Len(t, newest(t, held, thread).Lineage, 3)
		}},
		{"history", func() { wantSteps(t, held, thread, 4) }},
		{"release", func() { ok(held.Release(ctx)) }},
		{"copy", func() { ok(store.CopyThread(ctx, thread, thread+" again")) }},
		{"delete", func() { ok(store.DeleteThread(ctx, thread)) }},
	}
}

// A run takes one round trip to lease and load the thread, one for its input, one for each
// superstep, and one to release the thread.
func TestRunTakesOneRoundTripPerSuperstep(t *testing.T) {
	t.Parallel()
	store, counter := countedStore(t, newPlaceDirect(t), pgx.QueryExecModeCacheStatement)
	const steps = 21
	g := loopGraph(t, store, steps)
	for _, thread := range []string{"warm up", "measured"} {
		counter.take()
		runLoop(t, g, thread, steps)
	}
	input := 1
	assert.Equal(t, steps+input+2, counter.take())
}

// Each task of a parallel superstep stores its result in at most one round trip.
func TestParallelTasksTakeOneRoundTripEach(t *testing.T) {
	t.Parallel()
	store, counter := countedStore(t, newPlaceDirect(t), pgx.QueryExecModeCacheStatement)
	total := state.Sum[int]("total")
	b := graph.New("fan", total)
	const tasks = 5
	for i := range tasks {
		name := fmt.Sprint("task", i)
		b.Node(name, func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(i)}, nil })
		b.Edge(graph.Start, name)
	}
	g, err := b.Compile(graph.Options{Checkpoints: store})
	require.NoError(t, err)
	for _, thread := range []string{"warm up", "measured"} {
		counter.take()
		_, err := g.Thread(thread).Invoke(t.Context(), graph.Begin())
		require.NoError(t, err)
	}
	// The lease, the input, each result, the step and the release take one round trip each.
	assert.LessOrEqual(t, counter.take(), 1+1+tasks+1+1)
}
