package pgcheckpoint_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// A silentNetwork dials connections. While silent is set, the connections lose all data:
// writes succeed, and reads wait for their deadline.
type silentNetwork struct {
	silent atomic.Bool
	mu     sync.Mutex
	conns  []net.Conn
}

// heal ends the silence. It closes the connections that lost data, so that closing the pool
// does not wait for them.
func (n *silentNetwork) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.silent.Store(false)
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

type silentConn struct {
	net.Conn
	network *silentNetwork
}

func (n *silentNetwork) config(c *pgxpool.Config) {
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.conns = append(n.conns, conn)
		return silentConn{conn, n}, nil
	}
}

func (c silentConn) Write(b []byte) (int, error) {
	if c.network.silent.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read drops the data that arrives while the network is silent. It still ends at the
// deadline of the connection.
func (c silentConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.network.silent.Load() {
			return n, err
		}
	}
}

func silentStore(t *testing.T, timeout, patience time.Duration) (*pgcheckpoint.Store, *silentNetwork) {
	t.Helper()
	p := newPlace(t)
	p.options.Timeout, p.options.Patience = timeout, patience
	network := &silentNetwork{}
	pool := p.pool(t, network.config, func(c *pgxpool.Config) {
		c.MaxConns = 2
		c.ConnConfig.ConnectTimeout = 2 * time.Second
		c.PingTimeout = 2 * time.Second
	})
	t.Cleanup(network.heal)
	return p.migrated(t, pool), network
}

// slack is the time by which a call may exceed its limit on a busy machine.
const slack = 600 * time.Millisecond

func TestPatienceBoundsACallWithinATry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ timeout, patience, bound time.Duration }{
		"patience is longer": {timeout: time.Second, patience: 1200 * time.Millisecond, bound: 1200 * time.Millisecond},
		"timeout is longer":  {timeout: time.Second, patience: 200 * time.Millisecond, bound: time.Second},
		"one try":            {timeout: time.Second, patience: -1, bound: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, network := silentStore(t, test.timeout, test.patience)
			putAll(t, store, "t", 1)
			network.silent.Store(true)
			start := time.Now()
			_, err := store.Get(t.Context(), checkpoint.Key{Thread: "t"})
			took := time.Since(start)
			require.ErrorIs(t, err, pgcheckpoint.ErrUnreachable)
			assert.Less(t, took, test.bound+slack)
		})
	}
}

func TestSilentDatabaseHoldsARunForPatienceOnce(t *testing.T) {
	t.Parallel()
	const patience = 1500 * time.Millisecond
	store, network := silentStore(t, time.Second, patience)
	putAll(t, store, "t", 1)
	held, err := store.Lease(t.Context(), "t")
	require.NoError(t, err)

	network.silent.Store(true)
	start := time.Now()
	key := checkpoint.Key{Thread: "t", ID: stepID(1)}
	for _, call := range []func() error{
		func() error { return held.PutWrites(t.Context(), key, []checkpoint.Write{write("a")}) },
		func() error { return held.PutWrites(t.Context(), key, []checkpoint.Write{write("b")}) },
		func() error { return held.Put(t.Context(), step("t", 2), stepID(1)) },
		func() error { return held.Release(t.Context()) },
	} {
		require.ErrorIs(t, call(), pgcheckpoint.ErrUnreachable)
	}
	const laterCalls = 3
	assert.Less(t, time.Since(start), patience+laterCalls*time.Second/2+slack)
}

func TestRunIsPatientAgainAfterAnAnswer(t *testing.T) {
	t.Parallel()
	const patience = 1200 * time.Millisecond
	store, network := silentStore(t, 500*time.Millisecond, patience)
	putAll(t, store, "t", 1)
	held, err := store.Lease(t.Context(), "t")
	require.NoError(t, err)
	key := checkpoint.Key{Thread: "t", ID: stepID(1)}

	network.silent.Store(true)
	require.ErrorIs(t, held.PutWrites(t.Context(), key, []checkpoint.Write{write("a")}), pgcheckpoint.ErrUnreachable)
	network.heal()
	require.Eventually(t, func() bool {
		return held.PutWrites(t.Context(), key, []checkpoint.Write{write("a")}) == nil
	}, 10*time.Second, 10*time.Millisecond)

	network.silent.Store(true)
	start := time.Now()
	require.ErrorIs(t, held.PutWrites(t.Context(), key, []checkpoint.Write{write("b")}), pgcheckpoint.ErrUnreachable)
	assert.GreaterOrEqual(t, time.Since(start), patience-100*time.Millisecond)
}
