package pgcheckpoint_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Every step stores as much as the one before, however long the thread: bytes are
// linear, up to WEFT_STEPS steps.
func TestBytesAreLinear(t *testing.T) {
	t.Parallel()
	most := setting(t, "WEFT_STEPS", 2001)
	p := newPlace(t)
	store := p.open(t)
	payload := func(thread string) int64 {
		return ask[int64](t, p, `SELECT sum(length(control) + length(changes) + coalesce(length(snapshot), 0))::bigint
			FROM weft.cp_step s JOIN weft.cp_thread t ON t.key = s.thread WHERE t.id = $1`, thread)
	}
	var first float64
	for _, n := range []int{101, 401, most} {
		thread := fmt.Sprint("thread-", n)
		before := storeBytes(t, p)
		runLoop(t, loopGraph(t, store, n), thread, n)
		each := float64(payload(thread)) / float64(n)
		t.Logf("%d steps: %.0f B of values and %.0f B on disk each", n, each, float64(storeBytes(t, p)-before)/float64(n))
		if first == 0 {
			first = each
		}
		if each > 1.1*first {
			t.Errorf("%d steps take %.0f B each, and 101 take %.0f", n, each, first)
		}
	}
}

// A state that is rewritten at every step has snapshots spaced so that what is stored
// stays within twice of what was written, and what is read within twice the state.
func TestSnapshotsAreGeometric(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	const steps = 1500
	seen := state.Last[string]("seen")
	count := state.Sum[int]("count")
	b := graph.New("rewrite", seen, count)
	b.Node("step", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{seen.Put(loopText(count.Get(s))), count.Put(1)}, nil
	})
	b.Edge(graph.Start, "step")
	b.Branch("step", func(s state.View) (string, error) {
		if count.Get(s) >= steps {
			return graph.End, nil
		}
		return "step", nil
	}, "step", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: 2 * steps})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Thread("t").Invoke(ctx, graph.Begin()); err != nil {
		t.Fatal(err)
	}
	changes := ask[int64](t, p, `SELECT sum(length(changes))::bigint FROM weft.cp_step`)
	snapshots := ask[int64](t, p, `SELECT coalesce(sum(length(snapshot)), 0)::bigint FROM weft.cp_step`)
	if snapshots == 0 || snapshots > changes {
		t.Errorf("snapshots take %d B beside %d B of changes", snapshots, changes)
	}
	if c := newest(t, store, "t"); len(c.Lineage) > 200 {
		t.Errorf("the state is rebuilt from %d deltas", len(c.Lineage))
	}
}

// History brings no values over the network, and the server does not look for them.
func TestHistoryReadsNoValues(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store, counter := countedStore(t, p, pgx.QueryExecModeExec)
	const steps = 400
	size := 0
	for n := 1; n <= steps; n++ {
		c := step("t", n)
		c.Changes[0].Data = []byte(loopText(n) + loopText(n+1) + loopText(n+2) + loopText(n+3))
		size += len(c.Changes[0].Data) / 2 // it is compressed
		if err := store.Put(ctx, c, c.Parent); err != nil {
			t.Fatal(err)
		}
	}
	counter.takeBytes()
	wantSteps(t, store, "t", steps)
	if n := counter.takeBytes(); n > size/4 {
		t.Errorf("listing brought %d B, and the values alone have more than %d", n, size)
	}
	newest(t, store, "t")
	if n := counter.takeBytes(); n < size {
		t.Errorf("loading brought %d B, and the values alone have more than %d", n, size)
	}
	// Even damaged ones are no concern of it.
	do(t, p, `UPDATE weft.cp_step SET changes = '\x7f'`)
	wantSteps(t, store, "t", steps)
}

func TestListStreams(t *testing.T) {
	t.Parallel()
	store := newPlace(t).open(t)
	const steps = 1000
	putAll(t, store, "t", steps)
	start := time.Now()
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: "t"}) {
		if err != nil || c.ID != stepID(steps) {
			t.Errorf("got %q, error %v", c.ID, err)
		}
		break
	}
	t.Logf("the newest of %d after %v", steps, time.Since(start))
	put(t, store, "t", steps+1) // the connection is free
}
