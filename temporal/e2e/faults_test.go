package e2e_test

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/temporal"
)

// A site is one worker with cables of its own to Temporal and to the database.
type site struct {
	temporal, database *cable
	runs               func() int // the number of nodes that ran here
}

// slowGraph has twelve supersteps of 200 ms. It calls the function in each.
func slowGraph(tb testing.TB, store checkpoint.Store, ran func()) *graph.Graph {
	b := graph.New("slow", trail, total)
	b.Node("step", func(ctx context.Context, v state.View) (state.Update, error) {
		ran()
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		update := state.Update{total.Put(1)}
		if total.Get(v)+1 < supersteps {
			update = append(update, graph.Goto("step"))
		}
		return update, nil
	})
	b.Edge(graph.Start, "step")
	b.Destinations("step", "step")
	return compile(tb, b, graph.Options{Checkpoints: store})
}

// newSite starts a worker in this process, whose connections lead through cables.
func newSite(tb testing.TB, s *server, queue, database, schema string) *site {
	tb.Helper()
	u, err := url.Parse(database)
	require.NoError(tb, err)
	one := &site{temporal: lay(tb, s.GetFrontendHostPort()), database: lay(tb, u.Host)}
	u.Host = one.database.addr()
	store, err := openStore(tb.Context(), u.String(), schema)
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	c, err := client.Dial(client.Options{HostPort: one.temporal.addr(), Namespace: s.GetDefaultNamespace(), Logger: quiet{}})
	require.NoError(tb, err)
	tb.Cleanup(c.Close)
	var mu sync.Mutex
	ran := 0
	g := slowGraph(tb, store, func() {
		mu.Lock()
		defer mu.Unlock()
		ran++
	})
	one.runs = func() int {
		mu.Lock()
		defer mu.Unlock()
		return ran
	}
	startWorker(tb, &server{s.TestServer, c}, temporal.WorkerOptions{Options: quick(queue), StopTimeout: time.Second}, g)
	return one
}

// TestThreadsSurviveLostConnections proves that a thread ends in the fault-free state when its worker loses
// Temporal, the database or both, for longer than a heartbeat and a lease, and when both return. In a
// split, a second worker goes on, and what the first one still does has no effect.
func TestThreadsSurviveLostConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		temporal, database, second bool
	}{
		"Temporal away":  {temporal: true},
		"database away":  {database: true},
		"both away":      {temporal: true, database: true},
		"network split":  {temporal: true, database: true, second: true},
		"no heartbeats":  {temporal: true, second: true},
		"no checkpoints": {database: true, second: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, queue, id := shared(), queueOf(t), queueOf(t)
			database, schema := pgtest.DirectURL(t), pgtest.Schema(t)
			store, err := openStore(t.Context(), database, schema)
			require.NoError(t, err)
			t.Cleanup(store.Close)
			g := slowGraph(t, store, func() {})
			first := newSite(t, s, queue, database, schema)
			th := temporal.NewClient(s.Client, quick(queue)).Thread(g, id)
			run, err := th.Start(t.Context(), trail.Put("input"))
			require.NoError(t, err)
			require.Eventually(t, func() bool { return first.runs() >= 3 }, 20*time.Second, 10*time.Millisecond)
			first.temporal.set(c.temporal)
			first.database.set(c.database)
			var second *site
			if c.second {
				second = newSite(t, s, queue, database, schema)
				require.Eventually(t, func() bool { return second.runs() > 0 || done(t, g, id) }, 40*time.Second, 10*time.Millisecond)
			} else {
				<-time.After(6 * time.Second)
			}
			first.temporal.set(false)
			first.database.set(false)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			snap, err := run.Wait(ctx)
			require.NoError(t, err)
			assert.True(t, snap.Done())
			assert.Equal(t, []string{"input"}, trail.Get(snap), "the input was applied once")
			assert.Equal(t, supersteps, total.Get(snap), "each superstep was committed once")
			assert.Equal(t, supersteps, snap.Step)
			ran := fmt.Sprint("the first worker ran ", first.runs(), " nodes")
			if second != nil {
				ran += fmt.Sprint(", the second ", second.runs())
			}
			t.Log(ran)
		})
	}
}

func done(tb testing.TB, g *graph.Graph, id string) bool {
	snap, err := g.Thread(id).Snapshot(tb.Context())
	return err == nil && snap.Done()
}
