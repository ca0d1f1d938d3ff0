//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// A faultyNetwork chooses actions of a proxy at random, and counts them.
type faultyNetwork struct {
	rand lockedRand
	rate float64 // the share of the chunks that get an action

	cuts      [4]atomic.Int32 // by Cut
	slow      atomic.Int32
	blackhole atomic.Int32
}

func (w *faultyNetwork) action(_ fault.Direction, _ []byte) fault.Action {
	x, f := w.rand.float()/w.rate, fault.Action{}
	switch {
	case x < 0.2:
		f.Cut = fault.Before
	case x < 0.4:
		f.Cut = fault.Inside
	case x < 0.6:
		f.Cut = fault.After
	case x < 0.94:
		f.Split = true
	case x < 0.98:
		f.Delay = 500 * time.Millisecond
		w.slow.Add(1)
	case x < 1:
		f.Blackhole = true
		w.blackhole.Add(1)
	}
	w.cuts[f.Cut].Add(1)
	return f
}

func (w *faultyNetwork) String() string {
	return fmt.Sprintf("%d connections reset before, %d inside and %d after a chunk, %d silent, %d chunks delayed by 500 ms",
		w.cuts[fault.Before].Load(), w.cuts[fault.Inside].Load(), w.cuts[fault.After].Load(), w.blackhole.Load(), w.slow.Load())
}

// F4: a proxy resets connections before, inside and after requests and answers. It also
// makes them silent or slow, or forwards single bytes. Every commit takes effect once.
func TestF04CommitsTakeEffectOnceOverBrokenConnections(t *testing.T) {
	seed := begin(t)
	const writers = 16
	commits := count(480, 10_000) / writers
	o := newSchema(t)
	direct := open(t, pgtest.DirectURL(t), o)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	o.Timeout, o.Patience = time.Second, time.Minute
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = writers })
	w := &faultyNetwork{rand: lockedRand{rand: newRand(seed, 0)}, rate: 0.04}
	proxy.Intercept(w.action)
	defer proxy.Reset() // the pool would wait for answers on silent connections
	defer proxy.Intercept(nil)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			thread, head := fmt.Sprint("t", i), ""
			for n := range commits {
				c := step(thread, stepID(n+1), head, fmt.Sprint(n))
				if !assert.NoError(t, store.Put(t.Context(), c, head), "thread %s, commit %d", thread, n) {
					return
				}
				head = c.ID
			}
		})
	}
	all.Wait()
	for i := range writers {
		wantChain(t, direct, fmt.Sprint("t", i), commits)
	}
	t.Logf("F4: %d commits; %v", writers*commits, w)
}

// wantChain asserts that a thread has n checkpoints. They have appended the numbers from 0
// to n-1 in order.
func wantChain(t *testing.T, store checkpoint.Store, thread string, n int) {
	t.Helper()
	c, err := store.Get(t.Context(), checkpoint.Key{Thread: thread})
	if !assert.NoError(t, err) {
		return
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i))
	}
	assert.Equal(t, want, lines(&c), "commits of thread %s", thread)
	listed := 0
	for _, err := range store.List(t.Context(), checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		assert.NoError(t, err, "list")
		listed++
	}
	assert.Equal(t, n, listed, "checkpoints of thread %s", thread)
}

// F4: all connections of a pool become silent while they are in use or idle. Calls detect
// this within the timeout, and succeed on new connections.
func TestF04CallsReplaceHalfOpenConnections(t *testing.T) {
	begin(t)
	timeout := time.Second
	if long() {
		timeout = 0 // the default
	}
	limit := timeout
	if timeout == 0 {
		limit = 10 * time.Second
	}
	for name, idle := range map[string]time.Duration{"in use": 0, "idle": 1200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSchema(t)
			direct := open(t, pgtest.DirectURL(t), o)
			proxy, address := newProxy(t, pgtest.DirectURL(t))
			o.Timeout = timeout
			store, pool := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 4 })
			openAll(t, pool)
			// Make only the open connections silent, not the later ones.
			old := proxy.Accepted()
			proxy.BlackholeAll()
			defer proxy.Reset() // the pool would wait for an answer to its Terminate message
			<-time.After(idle)
			start := time.Now()
			require.NoError(t, store.Put(context.Background(), step("t", stepID(1), "", "0"), ""))
			took := time.Since(start)
			t.Logf("F4: with a timeout of %v, the call took %v", limit, took.Round(time.Millisecond))
			assert.GreaterOrEqual(t, took, limit/2, "duration of the call")
			assert.LessOrEqual(t, took, limit+500*time.Millisecond, "duration of the call")
			assert.Positive(t, proxy.Accepted()-old, "new connections")
			wantChain(t, direct, "t", 1)
		})
	}
}

// openAll opens the maximum number of connections of a pool, and releases them.
func openAll(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var taken []*pgxpool.Conn
	for range pool.Config().MaxConns {
		c, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		taken = append(taken, c)
	}
	for _, c := range taken {
		c.Release()
	}
}
