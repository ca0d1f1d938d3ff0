//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// long reports whether the long form of the tests was requested.
func long() bool { return os.Getenv("WEFT_FAULTS") == "1" }

// count returns inShort in the short form of the tests, and inLong in the long form.
func count(inShort, inLong int) int {
	if long() {
		return inLong
	}
	return inShort
}

// begin marks the test as parallel. It logs and returns the seed of the test.
func begin(t *testing.T) uint64 {
	t.Helper()
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "WEFT_SEED")
		seed = n
	}
	t.Logf("WEFT_SEED=%d", seed)
	return seed
}

// newRand returns a source of random numbers for one goroutine of a test.
func newRand(seed uint64, goroutine int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(goroutine)))
}

// lockedRand is a source of random numbers for several goroutines.
type lockedRand struct {
	mu   sync.Mutex
	rand *rand.Rand
}

func (d *lockedRand) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rand.Float64()
}

// newSchema returns options for a new schema on the server that all tests share.
func newSchema(tb testing.TB) pgcheckpoint.Options {
	tb.Helper()
	return pgcheckpoint.Options{Schema: pgtest.Schema(tb), Pooling: pgcheckpoint.Direct}
}

func open(tb testing.TB, address string, o pgcheckpoint.Options) *pgcheckpoint.Store {
	tb.Helper()
	store, err := pgcheckpoint.Open(tb.Context(), address, o)
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	return store
}

// openPool opens a store on a new pool. The changes modify the configuration of the pool.
func openPool(tb testing.TB, address string, o pgcheckpoint.Options, changes ...func(*pgxpool.Config)) (*pgcheckpoint.Store, *pgxpool.Pool) {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(address, o.Pooling)
	require.NoError(tb, err)
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	require.NoError(tb, err)
	tb.Cleanup(pool.Close)
	require.NoError(tb, pgcheckpoint.Migrate(tb.Context(), pool, o))
	store, err := pgcheckpoint.New(tb.Context(), pool, o)
	require.NoError(tb, err)
	return store, pool
}

// newProxy starts a proxy for the server of a URL. It returns the proxy, and a URL that
// leads to the server through the proxy.
func newProxy(tb testing.TB, address string) (*fault.Proxy, string) {
	tb.Helper()
	u, err := url.Parse(address)
	require.NoError(tb, err)
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	p, err := fault.NewProxy(net.JoinHostPort(u.Hostname(), port))
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, p.Close(), "close the proxy") })
	u.Host = p.Addr()
	return p, u.String()
}

var programs = sync.OnceValues(func() (string, error) {
	return fault.Programs(context.Background(), filepath.Join("..", "..", "scripts", "postgres"))
})

// newServer starts a server for one test.
func newServer(tb testing.TB, settings ...string) *fault.Server {
	tb.Helper()
	return newServerIn(tb, "", settings...)
}

// newServerIn starts a server for one test. The data of the server is in a folder below
// dir.
func newServerIn(tb testing.TB, dir string, settings ...string) *fault.Server {
	tb.Helper()
	folder, err := programs()
	require.NoError(tb, err)
	s, err := fault.NewServer(tb.Context(), dir, folder, settings...)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the end of the server's log: %s", tail(s.Log(), 4000))
		}
		assert.NoError(tb, s.Close(), "close the server")
	})
	require.NoError(tb, s.Start(tb.Context()))
	return s
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// stepID returns a number in the form of a checkpoint id.
func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step returns a checkpoint that appends a line to the channel lines.
func step(thread, id, parent, line string) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: id}, Parent: parent, Source: checkpoint.Loop, Run: "run", Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{{Channel: "lines", Kind: 2, Data: []byte(line)}},
	}
}

// lines returns all lines that a checkpoint and its ancestors have appended.
func lines(c *checkpoint.Checkpoint) []string {
	var all []string
	for _, d := range c.Lineage {
		for _, change := range d.Changes {
			all = append(all, string(change.Data))
		}
	}
	return all
}

// quantile sorts times and returns their quantile q. It returns 0 if times is empty.
func quantile(times []time.Duration, q float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(int(q*float64(len(times))), len(times)-1)]
}
