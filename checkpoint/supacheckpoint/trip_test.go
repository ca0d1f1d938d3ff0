package supacheckpoint_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/checkpoint/supacheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A tripCounter counts round trips: reads that follow a write.
type tripCounter struct {
	mu   sync.Mutex
	sent bool
	n    int
}

type countedConn struct {
	net.Conn
	counter *tripCounter
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
	if n > 0 && c.counter.sent {
		c.counter.sent = false
		c.counter.n++
	}
	return n, err
}

// take returns the count and resets it.
func (c *tripCounter) take() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n
	c.n = 0
	return n
}

// countedStore returns a store with one connection and the counter of its round trips.
func countedStore(t *testing.T, p place) (*supacheckpoint.Store, *tripCounter) {
	t.Helper()
	config, err := pgcheckpoint.PoolConfig(p.url, p.options.Checkpoint.Pooling)
	require.NoError(t, err)
	counter := &tripCounter{}
	config.MaxConns = 1
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return countedConn{conn, counter}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	store, err := supacheckpoint.New(t.Context(), pool, p.options)
	require.NoError(t, err)
	return store, counter
}

// Each call of a run takes one round trip, with any number of channels. The user's role and
// claims are sent with the call.
func TestEachCallTakesOneRoundTrip(t *testing.T) {
	t.Parallel()
	for name, newPlace := range places {
		for who, bind := range map[string]bindFunc{"service": forService, "service for a user": forUser, "user": as} {
			t.Run(who+", "+name, func(t *testing.T) {
				t.Parallel()
				whole, counter := countedStore(t, newPlace(t))
				store := bind(t, whole, ann)
				for _, thread := range []string{"warm up", "measured"} {
					for _, call := range tripCalls(store, thread) {
						counter.take()
						require.NoError(t, call.do(t.Context()), call.name)
						if n := counter.take(); thread == "measured" {
							assert.Equal(t, 1, n, call.name)
						}
					}
				}
			})
		}
	}
}

type tripCall struct {
	name string
	do   func(ctx context.Context) error
}

// tripCalls returns the calls of a run in their order, followed by calls for its session.
func tripCalls(store *supacheckpoint.Store, thread string) []tripCall {
	var held checkpoint.Lease
	wide := step(thread, 2)
	for i := range 300 {
		wide.Changes = append(wide.Changes, checkpoint.Change{Channel: fmt.Sprint("channel", i), Kind: 1, Data: []byte("1")})
	}
	fork := step(thread, 3)
	fork.Parent = stepID(1)
	return []tripCall{
		{"begin a thread", func(ctx context.Context) error { return store.Put(ctx, step(thread, 1), "") }},
		{"acquire and load", func(ctx context.Context) (err error) {
			if held, err = store.Lease(ctx, thread); err != nil {
				return err
			}
			_, err = held.Get(ctx, checkpoint.Key{Thread: thread})
			return err
		}},
		{"result of a task", func(ctx context.Context) error {
			return held.PutWrites(ctx, checkpoint.Key{Thread: thread, ID: stepID(1)}, []checkpoint.Write{{Task: "a", Channel: "x"}})
		}},
		{"superstep of 301 channels", func(ctx context.Context) error { return held.Put(ctx, wide, stepID(1)) }},
		{"fork", func(ctx context.Context) error { return held.Put(ctx, fork, stepID(2)) }},
		{"superstep", func(ctx context.Context) error { return held.Put(ctx, step(thread, 4), stepID(3)) }},
		{"load", func(ctx context.Context) error {
			_, err := store.Get(ctx, checkpoint.Key{Thread: thread})
			return err
		}},
		{"release", func(ctx context.Context) error { return held.Release(ctx) }},
		{"put a session", func(ctx context.Context) error {
			return store.PutSession(ctx, thread, supacheckpoint.SessionUpdate{Status: "completed"})
		}},
		{"session", func(ctx context.Context) error { _, err := store.Session(ctx, thread); return err }},
		{"delete", func(ctx context.Context) error { return store.DeleteThread(ctx, thread) }},
	}
}

// A run takes one round trip to lease and load its thread, one for each superstep and one
// to release the thread. The checkpoint of the input counts as a superstep.
func TestRunTakesOneRoundTripPerSuperstep(t *testing.T) {
	t.Parallel()
	whole, counter := countedStore(t, directPlace(t))
	const steps = 21
	count := state.Sum[int]("count")
	b := graph.New("loop", count)
	b.Node("work", func(context.Context, state.View) (state.Update, error) { return state.Update{count.Put(1)}, nil })
	b.Edge(graph.Start, "work")
	b.Branch("work", func(s state.View) (string, error) {
		if count.Get(s) < steps {
			return "work", nil
		}
		return graph.End, nil
	}, "work", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: as(t, whole, ann)})
	require.NoError(t, err)
	for _, thread := range []string{"warm up", "measured"} {
		counter.take()
		snap, err := g.Thread(thread).Invoke(t.Context(), graph.Begin())
		require.NoError(t, err)
		require.Equal(t, steps, count.Get(snap))
	}
	const input = 1
	assert.Equal(t, steps+input+2, counter.take())
}
