//go:build unix

package fault_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// A wire mistreats pieces by chance.
type wire struct {
	dice lockedDice
	rate float64 // of the pieces

	cuts [4]atomic.Int32 // by kind
	slow atomic.Int32
	hole atomic.Int32
}

func (w *wire) fate(_ fault.Direction, _ []byte) fault.Fate {
	x, f := w.dice.float()/w.rate, fault.Fate{}
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
		f.Hole = true
		w.hole.Add(1)
	}
	w.cuts[f.Cut].Add(1)
	return f
}

func (w *wire) String() string {
	return fmt.Sprintf("%d connections reset before, %d inside and %d behind a piece, %d gone dumb, %d pieces held for 500 ms",
		w.cuts[fault.Before].Load(), w.cuts[fault.Inside].Load(), w.cuts[fault.After].Load(), w.hole.Load(), w.slow.Load())
}

// F4: connections are reset before, inside and behind what is sent and answered, go
// dumb, are slow, and pass one byte at a time. Every commit takes effect once.
func TestF04Connections(t *testing.T) {
	seed := begin(t)
	const writers = 16
	commits := count(480, 10_000) / writers
	o := newSchema(t)
	sound := open(t, pgtest.DirectURL(t), o)
	proxy, address := newProxy(t, pgtest.DirectURL(t))
	o.Timeout, o.Patience = time.Second, time.Minute
	store, _ := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = writers })
	w := &wire{dice: lockedDice{dice: dice(seed, 0)}, rate: 0.04}
	proxy.Treat(w.fate)
	defer proxy.Reset() // the pool would wait for an answer of those that are dumb
	defer proxy.Treat(nil)
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			thread, head := fmt.Sprint("t", i), ""
			for n := range commits {
				c := step(thread, stepID(n+1), head, fmt.Sprint(n))
				if err := store.Put(t.Context(), c, head); err != nil {
					t.Errorf("thread %s, commit %d: %v", thread, n, err)
					return
				}
				head = c.ID
			}
		})
	}
	all.Wait()
	for i := range writers {
		wantChain(t, sound, fmt.Sprint("t", i), commits)
	}
	t.Logf("F4: %d commits; %v", writers*commits, w)
}

// wantChain wants the checkpoints of a thread to have appended the numbers from zero
// on, and that there are no others.
func wantChain(t *testing.T, store checkpoint.Store, thread string, n int) {
	t.Helper()
	c, err := store.Get(t.Context(), checkpoint.Key{Thread: thread})
	if err != nil {
		t.Error(err)
		return
	}
	var want []string
	for i := range n {
		want = append(want, fmt.Sprint(i))
	}
	if got := lines(&c); !slices.Equal(got, want) {
		t.Errorf("thread %s: got %d commits want %d: %q", thread, len(got), n, got)
	}
	listed := 0
	for _, err := range store.List(t.Context(), checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		wantNoErr(t, "list", err)
		listed++
	}
	if listed != n {
		t.Errorf("thread %s: got %d checkpoints want %d", thread, listed, n)
	}
}

// F4, half-open: every connection of a pool goes dumb, while it is used and while it is
// idle. Calls find out, and go on with others.
func TestF04HalfOpen(t *testing.T) {
	begin(t)
	timeout := time.Second
	if long() {
		timeout = 0 // as it is by default
	}
	limit := timeout
	if timeout == 0 {
		limit = 10 * time.Second
	}
	for name, idle := range map[string]time.Duration{"in use": 0, "idle": 1200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSchema(t)
			sound := open(t, pgtest.DirectURL(t), o)
			proxy, address := newProxy(t, pgtest.DirectURL(t))
			o.Timeout = timeout
			store, pool := openPool(t, address, o, func(c *pgxpool.Config) { c.MaxConns = 4 })
			fill(t, pool)
			// Those that there are go dumb; those that come later do not.
			old := proxy.Accepted()
			proxy.Deafen()
			defer proxy.Reset() // the pool would wait for an answer to its good-bye
			<-time.After(idle)
			start := time.Now()
			if err := store.Put(context.Background(), step("t", stepID(1), "", "0"), ""); err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			t.Logf("F4: with a limit of %v, found out and done in %v", limit, took.Round(time.Millisecond))
			if took < limit/2 || took > limit+500*time.Millisecond {
				t.Errorf("it took %v to find out, want %v", took, limit)
			}
			if n := proxy.Accepted() - old; n < 1 {
				t.Errorf("there were %d new connections", n)
			}
			wantChain(t, sound, "t", 1)
		})
	}
}

// fill opens every connection that a pool may have.
func fill(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	var taken []*pgxpool.Conn
	for range pool.Config().MaxConns {
		c, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, c)
	}
	for _, c := range taken {
		c.Release()
	}
}
