//go:build unix

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
)

func init() {
	// poison URL SCHEMA runs or resumes a thread whose second node kills the process.
	roles["poison"] = func(ctx context.Context, args []string) error {
		store, err := pgcheckpoint.Open(ctx, args[0], pgcheckpoint.Options{
			Schema: args[1], LeaseTime: time.Second, Busy: pgcheckpoint.Wait,
		})
		if err != nil {
			return err
		}
		defer store.Close()
		g, err := poison(store, die)
		if err != nil {
			return err
		}
		_, err = goOn(ctx, g.Thread("poison"))
		if errors.Is(err, pgcheckpoint.ErrParked) {
			fmt.Println("parked")
			return nil
		}
		return err
	}
}

func poison(store *pgcheckpoint.Store, act func()) (*graph.Graph, error) {
	b := graph.New("poison", trail)
	b.Node("eat", func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put("eaten")}, nil })
	b.Node("die", func(context.Context, state.View) (state.Update, error) {
		act()
		return state.Update{trail.Put("survived")}, nil
	})
	b.Edge(graph.Start, "eat")
	b.Edge("eat", "die")
	return b.Compile(graph.Options{Checkpoints: store})
}

// F19: a thread kills every process that runs it. After five recoveries it is parked,
// with a reason, until somebody lets it go on; others hardly notice.
func TestF19PoisonThread(t *testing.T) {
	begin(t)
	o := newSchema(t)
	o.LeaseTime = time.Second
	store := open(t, pgtest.DirectURL(t), o)
	run := func() bool {
		t.Helper()
		p, err := fault.Spawn(t.Context(), "poison", pgtest.DirectURL(t), o.Schema)
		if err != nil {
			t.Fatal(err)
		}
		line, _ := p.Line()
		killed, err := p.Wait()
		if err != nil {
			t.Fatal(err)
		}
		if killed == (line == "parked") {
			t.Fatalf("it was killed: %t, and says %q", killed, line)
		}
		return killed
	}
	deaths := 0
	for deaths < 20 && run() {
		deaths++
	}
	if deaths != 6 {
		t.Errorf("it was run %d times, want once and five times more", deaths)
	}
	g, err := poison(store, func() {})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Thread("poison").Invoke(t.Context())
	wantErr(t, "a run", err, pgcheckpoint.ErrParked)
	t.Logf("F19: parked after %d deaths: %v", deaths, err)
	snap, err := g.Thread("poison").Snapshot(t.Context())
	if err != nil || trail.Len(snap) != 1 {
		t.Errorf("it can not be looked at: %v", err)
	}
	parkedCost(t, store, g)

	wantNoErr(t, "unpark", store.Unpark(t.Context(), "poison"))
	if !run() {
		t.Error("after Unpark it was not run once more")
	}
	if run() {
		t.Error("it was run again after that")
	}
	wantNoErr(t, "unpark", store.Unpark(t.Context(), "poison"))
	snap, err = g.Thread("poison").Invoke(t.Context()) // in a process that it does not kill
	if err != nil || trail.Len(snap) != 2 {
		t.Errorf("got %v, error %v", snap, err)
	}
}

// parkedCost measures what others do while somebody tries to recover the parked thread
// all the time, and while nobody does, in turns.
func parkedCost(t *testing.T, store *pgcheckpoint.Store, parked *graph.Graph) {
	t.Helper()
	g, err := fan(store, 2, nobodyHears)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var runs, tries atomic.Int64
	var recovering, ended atomic.Bool
	for w := range 4 {
		all.Go(func() {
			for n := 0; !ended.Load(); n++ {
				if _, err := g.Thread(fmt.Sprint("t", w, ".", n)).Invoke(t.Context(), graph.Begin()); err != nil {
					t.Error(err)
					return
				}
				runs.Add(1)
			}
		})
	}
	all.Go(func() {
		for !ended.Load() {
			<-time.After(200 * time.Millisecond) // a service hardly looks more often
			if recovering.Load() {
				_, err := parked.Thread("poison").Invoke(t.Context())
				wantErr(t, "recovered", err, pgcheckpoint.ErrParked)
				tries.Add(1)
			}
		}
	})
	var with, without int64
	for range count(2, 40) {
		for _, on := range []bool{false, true} {
			recovering.Store(on)
			before := runs.Load()
			<-time.After(250 * time.Millisecond)
			if did := runs.Load() - before; on {
				with += did
			} else {
				without += did
			}
		}
	}
	ended.Store(true)
	all.Wait()
	share := float64(with) / float64(max(without, 1))
	t.Logf("F19: others did %.0f %% of their runs while the parked thread was asked for %d times", 100*share, tries.Load())
	if long() && share < 0.95 {
		t.Errorf("others did %.0f %% of their runs", 100*share)
	}
}
