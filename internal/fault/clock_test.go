//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
)

// F9: clients whose clocks are hours and decades wrong take turns on one thread with one
// whose clock is right. Order, head, times and leases are those of the database.
func TestF09WrongClocks(t *testing.T) {
	begin(t)
	ctx := context.Background()
	o := newSchema(t)
	o.LeaseTime = time.Second
	address := pgtest.DirectURL(t)
	store := open(t, address, o)
	var want []string
	turn := func(ctx context.Context, store checkpoint.Store, line string) {
		if _, err := taker(t, store).Thread("t").Invoke(ctx, trail.Put(line)); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		want = append(want, line)
	}
	for round := range count(2, 20) {
		turn(ctx, store, fmt.Sprint("right ", round))
		for name, off := range map[string]time.Duration{"an hour behind": -time.Hour, "an hour ahead": time.Hour, "of the year 2000": 0} {
			moment := time.Now().Add(off)
			synctest.Test(t, func(t *testing.T) {
				if off != 0 {
					time.Sleep(time.Until(moment)) // the clock of this bubble begins in the year 2000
				}
				store, pool := bubbleStore(t, address, o)
				defer pool.Close()
				turn(t.Context(), store, fmt.Sprint(name, " ", round))
				// A lease does not run out by the clock of a client, nor does it by that
				// of another.
				l, err := store.Lease(t.Context(), "leased")
				if err != nil {
					t.Fatal(err)
				}
				_, err = store.Lease(t.Context(), "leased")
				wantErr(t, "while it is held", err, pgcheckpoint.ErrThreadBusy)
				wantNoErr(t, "release", l.Release(t.Context()))
			})
		}
	}
	snap, err := taker(t, store).Thread("t").Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := trail.Get(snap); !slices.Equal(got, want) {
		t.Errorf("got %q want %q", got, want)
	}
	var last time.Time
	n := 0
	for c, err := range store.List(ctx, checkpoint.Query{Thread: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; !last.IsZero() && c.Time.After(last) || time.Since(c.Time).Abs() > 10*time.Minute {
			t.Errorf("a checkpoint is of %v, behind one of %v", c.Time, last)
		}
		last = c.Time
	}
	if n != 2*len(want) {
		t.Errorf("got %d checkpoints want %d", n, 2*len(want))
	}
	t.Logf("F9: %d turns by four clocks", len(want))
}

func bubbleStore(t *testing.T, address string, o pgcheckpoint.Options) (*pgcheckpoint.Store, *pgxpool.Pool) {
	t.Helper()
	config, err := pgcheckpoint.PoolConfig(address, o.Pooling)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	store, err := pgcheckpoint.New(context.Background(), pool, o)
	if err != nil {
		t.Fatal(err)
	}
	return store, pool
}

// A listener notes the types of all that is sent to the database.
type listener struct {
	mu    sync.Mutex
	types map[string]int
	sql   []string
}

func (l *listener) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range d.Args {
		l.types[fmt.Sprintf("%T", a)]++
	}
	l.sql = append(l.sql, d.SQL)
	return ctx
}

func (l *listener) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// F9, from the other side: nothing that a store sends is a time. What it says about time
// is how long a lease holds, and how old something is.
func TestF09NoTimeIsSent(t *testing.T) {
	begin(t)
	ctx := t.Context()
	o := newSchema(t)
	heard := &listener{types: map[string]int{}}
	store, _ := openPool(t, pgtest.DirectURL(t), o, func(c *pgxpool.Config) { c.ConnConfig.Tracer = heard })
	g, err := fan(store, 2, nobodyHears)
	if err != nil {
		t.Fatal(err)
	}
	th := g.Thread("t")
	if _, err := goOn(ctx, th); err != nil {
		t.Fatal(err)
	}
	for _, err := range th.History(ctx, graph.HistoryQuery{}) {
		wantNoErr(t, "history", err)
	}
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 2, KeepFor: time.Hour})
	wantNoErr(t, "prune", err)
	wantNoErr(t, "copy", store.CopyThread(ctx, "t", "u"))
	for _, err := range store.ListThreads(ctx, "") {
		wantNoErr(t, "list threads", err)
	}
	_, err = store.Stats(ctx)
	wantNoErr(t, "stats", errors.Join(err, store.DeleteThread(ctx, "u")))
	for name := range heard.types {
		if strings.Contains(name, "time.") || strings.Contains(name, "Timestamp") || strings.Contains(name, "pgtype.Date") {
			t.Errorf("a value of the type %s was sent", name)
		}
	}
	if len(heard.sql) < 20 || len(heard.types) < 5 {
		t.Errorf("only %d statements with values of %d types were heard", len(heard.sql), len(heard.types))
	}
	t.Logf("F9: %d statements, values of the types %v", len(heard.sql), heard.types)
}
