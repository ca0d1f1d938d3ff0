//go:build unix

package fault_test

import (
	"context"
	"errors"
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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// long reports whether the whole of each test is asked for.
func long() bool { return os.Getenv("WEFT_FAULTS") == "1" }

// count is how often something is done, in the short form and the long one.
func count(short, whole int) int {
	if long() {
		return whole
	}
	return short
}

// begin prints the seed of a test, which runs beside the others.
func begin(t *testing.T) uint64 {
	t.Helper()
	t.Parallel()
	seed := rand.Uint64()
	if text := os.Getenv("WEFT_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("WEFT_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("WEFT_SEED=%d", seed)
	return seed
}

// dice are for one goroutine of a test.
func dice(seed uint64, who int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(who))) }

// lockedDice are for any number of them.
type lockedDice struct {
	mu   sync.Mutex
	dice *rand.Rand
}

func (d *lockedDice) float() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dice.Float64()
}

// newSchema takes a schema on the server that all tests share.
func newSchema(tb testing.TB) pgcheckpoint.Options {
	tb.Helper()
	return pgcheckpoint.Options{Schema: pgtest.Schema(tb), Pooling: pgcheckpoint.Direct}
}

func open(tb testing.TB, address string, o pgcheckpoint.Options) *pgcheckpoint.Store {
	tb.Helper()
	store, err := pgcheckpoint.Open(tb.Context(), address, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(store.Close)
	return store
}

// openPool opens a store on a pool of the test's.
func openPool(tb testing.TB, address string, o pgcheckpoint.Options, changes ...func(*pgxpool.Config)) (*pgcheckpoint.Store, *pgxpool.Pool) {
	tb.Helper()
	config, err := pgcheckpoint.PoolConfig(address, o.Pooling)
	if err != nil {
		tb.Fatal(err)
	}
	for _, change := range changes {
		change(config)
	}
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	if err := pgcheckpoint.Migrate(tb.Context(), pool, o); err != nil {
		tb.Fatal(err)
	}
	store, err := pgcheckpoint.New(tb.Context(), pool, o)
	if err != nil {
		tb.Fatal(err)
	}
	return store, pool
}

// newProxy stands before the server of an address. Through it leads the address that
// it returns.
func newProxy(tb testing.TB, address string) (*fault.Proxy, string) {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	port := u.Port()
	if port == "" {
		port = "5432"
	}
	p, err := fault.NewProxy(net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { wantNoErr(tb, "close the proxy", p.Close()) })
	u.Host = p.Addr()
	return p, u.String()
}

var programs = sync.OnceValues(func() (string, error) {
	return fault.Programs(context.Background(), filepath.Join("..", "..", "scripts", "postgres"))
})

// newServer starts a server of the test's own.
func newServer(tb testing.TB, settings ...string) *fault.Server {
	tb.Helper()
	return newServerIn(tb, "", settings...)
}

// newServerIn puts it into a folder.
func newServerIn(tb testing.TB, dir string, settings ...string) *fault.Server {
	tb.Helper()
	folder, err := programs()
	if err != nil {
		tb.Fatal(err)
	}
	s, err := fault.NewServer(tb.Context(), dir, folder, settings...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the server says: %s", tail(s.Log(), 4000))
		}
		wantNoErr(tb, "close the server", s.Close())
	})
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// stepID spells a number as an id of package graph.
func stepID(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// step is a checkpoint that appends a line.
func step(thread, id, parent, line string) checkpoint.Checkpoint {
	return checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: thread, ID: id}, Parent: parent, Source: checkpoint.Loop, Run: "run", Version: "1",
		Control: []byte(`{"next":["tools"]}`),
		Changes: []checkpoint.Change{{Channel: "lines", Kind: 2, Data: []byte(line)}},
	}
}

// lines are what the checkpoints of a lineage have appended.
func lines(c *checkpoint.Checkpoint) []string {
	var all []string
	for _, d := range c.Lineage {
		for _, change := range d.Changes {
			all = append(all, string(change.Data))
		}
	}
	return all
}

func wantNoErr(tb testing.TB, what string, err error) {
	tb.Helper()
	if err != nil {
		tb.Errorf("%s: %v", what, err)
	}
}

func wantErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("%s: got error %v want %v", what, err, want)
	}
}

// quantile sorts times, and returns the one below which so large a part of them is.
func quantile(times []time.Duration, part float64) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[min(int(part*float64(len(times))), len(times)-1)]
}
