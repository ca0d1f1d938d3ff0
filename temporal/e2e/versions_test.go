package e2e_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/temporal"
)

// versionGraph has four nodes that tell their version. The first waits for the gate. Version 2 has
// another name for the third.
func versionGraph(tb testing.TB, store checkpoint.Store, version string, started chan<- string, gate <-chan struct{}) *graph.Graph {
	names := []string{"first", "second", "third", "fourth"}
	o := graph.Options{Checkpoints: store, Version: version}
	if version == "2" {
		names[1], o.Migrations.Nodes = "next", map[string]string{"second": "next"}
	}
	b := graph.New("versions", trail)
	from := graph.Start
	for i, name := range names {
		b.Node(name, func(ctx context.Context, _ state.View) (state.Update, error) {
			if i == 0 {
				started <- version
				select {
				case <-gate:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return state.Update{trail.Put(name + " " + version)}, nil
		})
		b.Edge(from, name)
		from = name
	}
	return compile(tb, b, o)
}

// TestTurnStaysWithItsVersion proves that a turn goes on with the version that began it while a worker has
// it, and that otherwise another version goes on with its migrations.
func TestTurnStaysWithItsVersion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stays bool
		want  []string
	}{
		"the worker stays":  {true, []string{"input", "first 1", "second 1", "third 1", "fourth 1"}},
		"the worker leaves": {false, []string{"input", "first 1", "next 2", "third 2", "fourth 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o, store := shared(), quick(queueOf(t)), newStore()
			started, gate := make(chan string, 10), make(chan struct{})
			old := versionGraph(t, store, "1", started, gate)
			fresh := versionGraph(t, store, "2", started, gate)
			first := startWorker(t, s, temporal.WorkerOptions{Options: o}, old)
			th := temporal.NewClient(s.Client, o).Thread(fresh, queueOf(t))
			run, err := th.Start(t.Context(), trail.Put("input"))
			require.NoError(t, err)
			require.Equal(t, "1", <-started)
			startWorker(t, s, temporal.WorkerOptions{Options: o}, fresh)
			if c.stays {
				close(gate)
			} else { // the worker ends its superstep and leaves
				stopped := make(chan struct{})
				go func() {
					first.Stop()
					close(stopped)
				}()
				<-time.After(time.Second)
				close(gate)
				<-stopped
			}
			snap, err := run.Wait(t.Context())
			require.NoError(t, err)
			assert.Equal(t, c.want, trail.Get(snap))
		})
	}
}

// TestScheduleStartsRuns proves that a schedule starts runs of one thread, and of new threads.
func TestScheduleStartsRuns(t *testing.T) {
	t.Parallel()
	s, o := shared(), quick(queueOf(t))
	store := memcheckpoint.New(memcheckpoint.Options{})
	b := graph.New("digest", trail, total)
	b.Node("count", func(context.Context, state.View) (state.Update, error) { return state.Update{total.Put(1)}, nil })
	b.Edge(graph.Start, "count")
	g := compile(t, b, graph.Options{Checkpoints: store})
	startWorker(t, s, temporal.WorkerOptions{Options: o}, g)
	c := temporal.NewClient(s.Client, o)
	spec := client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Second}}}
	one, err := c.CreateSchedule(t.Context(), "one-"+o.TaskQueue, temporal.Schedule{Spec: spec, Graph: g, Thread: "digest", Input: []state.Write{trail.Put("tick")}})
	require.NoError(t, err)
	many, err := c.CreateSchedule(t.Context(), "many", temporal.Schedule{Spec: spec, Graph: g, Input: []state.Write{trail.Put("tick")}})
	require.NoError(t, err)
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		snap, err := g.Thread("digest").Snapshot(t.Context())
		require.NoError(ct, err)
		assert.GreaterOrEqual(ct, total.Get(snap), 2)
		assert.Len(ct, trail.Get(snap), total.Get(snap), "each firing is one input")
		threads := 0
		for info, err := range store.ListThreads(t.Context(), "many-") {
			require.NoError(ct, err)
			snap, err := g.Thread(info.ID).Snapshot(t.Context())
			require.NoError(ct, err)
			if snap.Done() {
				assert.Equal(ct, 1, total.Get(snap), info.ID)
				threads++
			}
		}
		assert.GreaterOrEqual(ct, threads, 2)
	}, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, one.Delete(t.Context()))
	require.NoError(t, many.Delete(t.Context()))
}
