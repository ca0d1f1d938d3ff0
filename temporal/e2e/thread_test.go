package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/temporal"
)

var (
	trail   = state.Append[string]("trail")
	item    = state.Last[int]("item")
	total   = state.Sum[int]("total")
	approve = graph.NewInterrupt[string, bool]("approve")
)

func mark(name string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) { return state.Update{trail.Put(name)}, nil }
}

func compile(tb testing.TB, b *graph.Builder, o graph.Options) *graph.Graph {
	tb.Helper()
	g, err := b.Compile(o)
	require.NoError(tb, err)
	return g
}

// reviewGraph drafts, asks for an approval, and publishes.
func reviewGraph(tb testing.TB, store checkpoint.Store, o graph.Options) *graph.Graph {
	b := graph.New("review", trail, item, total)
	b.Node("draft", mark("draft"))
	b.Node("review", func(ctx context.Context, _ state.View) (state.Update, error) {
		ok, err := approve.Wait(ctx, "publish?")
		return state.Update{trail.Put(fmt.Sprint("approved ", ok))}, err
	})
	b.Node("publish", mark("publish"))
	b.Edge(graph.Start, "draft")
	b.Edge("draft", "review")
	b.Edge("review", "publish")
	o.Checkpoints = store
	return compile(tb, b, o)
}

func newStore() checkpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) }

// TestThreadPausesAndResumes proves that a client runs a thread through a pause, that a worker with
// the version of the graph runs it, and that the status and the state tell where it is.
func TestThreadPausesAndResumes(t *testing.T) {
	t.Parallel()
	s, o, id := shared(), quick(queueOf(t)), queueOf(t)
	g := reviewGraph(t, newStore(), graph.Options{Version: "1"})
	startWorker(t, s, temporal.WorkerOptions{Options: o}, g)
	th := temporal.NewClient(s.Client, o).Thread(g, id)

	snap, err := th.Invoke(t.Context(), trail.Put("input"))
	require.NoError(t, err)
	open, err := approve.Open(snap)
	require.NoError(t, err)
	require.Len(t, open, 1)
	status, err := th.Status(t.Context())
	require.NoError(t, err)
	assert.Equal(t, temporal.Status{}, status)

	_, err = th.Invoke(t.Context(), approve.Answer("unknown", true))
	require.ErrorIs(t, err, graph.ErrNoQuestion)
	var re *graph.RunError
	require.ErrorAs(t, err, &re)
	assert.Equal(t, id, re.Thread)

	snap, err = th.Metadata(map[string]string{"tenant": "a"}).Invoke(t.Context(), approve.Answer(open[0].ID, true))
	require.NoError(t, err)
	assert.True(t, snap.Done())
	assert.Equal(t, "a", snap.Metadata["tenant"])
	assert.Equal(t, []string{"input", "draft", "approved true", "publish"}, trail.Get(snap))
}

// TestThreadErrors proves that the error of a run has the node and the sentinel, and that the thread goes on.
func TestThreadErrors(t *testing.T) {
	t.Parallel()
	s, o := shared(), quick(queueOf(t))
	broken := true
	b := graph.New("broken", trail, total)
	b.Node("work", func(context.Context, state.View) (state.Update, error) {
		if broken {
			return nil, errors.New("the wheel is broken")
		}
		return state.Update{trail.Put("work")}, nil
	})
	b.Edge(graph.Start, "work")
	g := compile(t, b, graph.Options{Checkpoints: newStore()})
	startWorker(t, s, temporal.WorkerOptions{Options: o}, g)
	th := temporal.NewClient(s.Client, o).Thread(g, queueOf(t))

	_, err := th.Invoke(t.Context())
	require.ErrorIs(t, err, graph.ErrNoInput)
	snap, err := th.Invoke(t.Context(), total.Put(1))
	ne, ok := errors.AsType[*graph.NodeError](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, "work", ne.Node)
	assert.EqualError(t, ne.Err, "the wheel is broken")
	require.Len(t, snap.Tasks, 1)
	assert.Contains(t, snap.Tasks[0].Err, "the wheel is broken")
	broken = false
	snap, err = th.Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"work"}, trail.Get(snap))
}

// TestThreadQueuesAndCancels proves that inputs of one thread run one after the other, that a request
// with a known id is not a second run, and that Cancel ends the current run only.
func TestThreadQueuesAndCancels(t *testing.T) {
	t.Parallel()
	s, o := shared(), quick(queueOf(t))
	started := make(chan struct{}, 10)
	b := graph.New("slow", trail, item)
	b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
		if item.Get(v) == 1 {
			started <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return state.Update{trail.Put(fmt.Sprint("item ", item.Get(v)))}, nil
	})
	b.Edge(graph.Start, "work")
	g := compile(t, b, graph.Options{Checkpoints: newStore()})
	startWorker(t, s, temporal.WorkerOptions{Options: o}, g)
	th := temporal.NewClient(s.Client, o).Thread(g, queueOf(t))

	first, err := th.Request("first").Start(t.Context(), item.Put(1))
	require.NoError(t, err)
	<-started
	again, err := th.Request("first").Start(t.Context(), item.Put(1))
	require.NoError(t, err)
	second, err := th.Start(t.Context(), item.Put(2))
	require.NoError(t, err)
	status, err := th.Status(t.Context())
	require.NoError(t, err)
	assert.Equal(t, temporal.Status{Running: true, Queued: 1}, status)

	require.NoError(t, th.Cancel(t.Context()))
	_, err = first.Wait(t.Context())
	require.ErrorIs(t, err, context.Canceled)
	_, err = again.Wait(t.Context())
	require.ErrorIs(t, err, context.Canceled)
	snap, err := second.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"item 2"}, trail.Get(snap))
	assert.Empty(t, started)
	require.NoError(t, th.Cancel(t.Context()), "without a run")
}

// TestStreamYieldsEachState proves that a stream has the state after each superstep and ends with the pause.
func TestStreamYieldsEachState(t *testing.T) {
	t.Parallel()
	s, o := shared(), quick(queueOf(t))
	g := reviewGraph(t, newStore(), graph.Options{})
	startWorker(t, s, temporal.WorkerOptions{Options: o}, g)
	th := temporal.NewClient(s.Client, o).Thread(g, queueOf(t))
	var states [][]string
	var last *graph.Snapshot
	for snap, err := range th.Stream(t.Context(), trail.Put("input")) {
		require.NoError(t, err)
		states, last = append(states, trail.Get(snap)), snap
	}
	assert.Equal(t, [][]string{{"input"}, {"input", "draft"}, {"input", "draft"}}, states)
	assert.Len(t, last.Pauses, 1)
	for snap, err := range th.Stream(t.Context(), approve.Answer(last.Pauses[0].ID, false)) {
		require.NoError(t, err)
		last = snap
	}
	assert.Equal(t, []string{"input", "draft", "approved false", "publish"}, trail.Get(last))
}

// TestDeadlinePassesWithoutAWorker proves that a question gets its default answer although no worker lived
// when its time passed.
func TestDeadlinePassesWithoutAWorker(t *testing.T) {
	t.Parallel()
	s, o := shared(), quick(queueOf(t))
	g := reviewGraph(t, newStore(), graph.Options{})
	options := temporal.WorkerOptions{Options: o, Deadlines: []temporal.Deadline{
		temporal.NewDeadline(approve, func(prompt string) (time.Duration, bool) { return 3 * time.Second, false }),
	}}
	worker := startWorker(t, s, options, g)
	th := temporal.NewClient(s.Client, o).Thread(g, queueOf(t))
	snap, err := th.Invoke(t.Context(), trail.Put("input"))
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)
	status, err := th.Status(t.Context())
	require.NoError(t, err)
	require.Len(t, status.Deadlines, 1)
	deadline := status.Deadlines[0]
	assert.Equal(t, snap.Pauses[0].ID, deadline.ID)
	worker.Stop()

	<-time.After(time.Until(deadline.At) + time.Second)
	still, err := th.Snapshot(t.Context())
	require.NoError(t, err)
	require.Len(t, still.Pauses, 1, "no worker lives")
	startWorker(t, s, options, g)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		snap, err := th.Snapshot(t.Context())
		require.NoError(c, err)
		assert.True(c, snap.Done())
		assert.Equal(c, []string{"input", "draft", "approved false", "publish"}, trail.Get(snap))
	}, 20*time.Second, 50*time.Millisecond)
}
