package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// requireSame requires the snapshot of a run to equal the stored one, except for the time:
// the clocks of the engine and of the store may differ.
func requireSame(t *testing.T, th *graph.Thread, run *graph.Snapshot) {
	t.Helper()
	stored := snapshot(t, th)
	require.WithinDuration(t, stored.Time, run.Time, time.Second)
	a, b := run.Info, stored.Info
	a.Time, b.Time = time.Time{}, time.Time{}
	require.Equal(t, b, a)
	require.Equal(t, stored.Tasks, run.Tasks)
	require.Equal(t, stored.Pauses, run.Pauses)
	require.Equal(t, stored.Waiting, run.Waiting)
	require.Equal(t, stored.Done(), run.Done())
	require.Equal(t, trail.Get(stored), trail.Get(run))
}

// TestRunReturnsStoredCheckpoint proves that the snapshot of a run equals the checkpoint
// with its id, also if an earlier run with other options wrote this checkpoint.
func TestRunReturnsStoredCheckpoint(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, bool]("ask")
	eachMode(t, func(t *testing.T, d graph.Durability) {
		onStores(t, func(t *testing.T, s checkpoint.Store) {
			fails := true
			fill := func(b *graph.Builder) {
				b.Node("a", mark("a"))
				b.Node("b", func(context.Context, state.View) (state.Update, error) {
					if fails {
						return nil, errBroken
					}
					return state.Update{trail.Put("b")}, nil
				})
				b.Node("c", func(ctx context.Context, _ state.View) (state.Update, error) {
					_, err := ask.Wait(ctx, "sure?")
					return state.Update{trail.Put("c")}, err
				})
				b.Edge(graph.Start, "a")
				b.Edge(graph.Start, "b")
				b.Join("c", "a", "b")
			}
			version := func(v string) *graph.Thread {
				b := graph.New("test", trail, total, note, item)
				fill(b)
				return compile(t, b, graph.Options{Checkpoints: s, Version: v, Durability: d}).Thread("t")
			}
			first := version("1").With(graph.RunOptions{Metadata: map[string]string{"turn": "1"}, PauseBefore: []string{"a"}})
			second := version("2").With(graph.RunOptions{Metadata: map[string]string{"turn": "2"}})
			requireSame(t, first, invoke(t, first, trail.Put("in")))
			failed, err := second.Invoke(t.Context())
			require.ErrorIs(t, err, errBroken)
			requireSame(t, second, failed)
			fails = false
			paused := invoke(t, second)
			requireSame(t, second, paused)
			last := version("3")
			requireSame(t, last, invoke(t, last)) // ask the question again
			ended := done(t, last, ask.Answer(paused.Pauses[0].ID, true))
			requireSame(t, last, ended)
			require.Equal(t, "3", ended.Version)
			idle := done(t, second) // a run in which nothing is due
			requireSame(t, second, idle)
			require.Equal(t, ended.Run, idle.Run, "the run that wrote the checkpoint")
			require.Equal(t, "3", idle.Version)
			require.Empty(t, idle.Metadata)
			forked, err := second.At(ended.Parent).Update(t.Context(), "a", trail.Put("by hand"))
			require.NoError(t, err)
			requireSame(t, second, forked)
		})
	})
}

// TestSnapshotNamesMissingNode proves that if the due node was removed from the graph, the
// snapshot says that the thread is not done and names this node.
func TestSnapshotNamesMissingNode(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s checkpoint.Store) {
		_, err := trailGraph(t, graph.Options{Checkpoints: s, PauseBefore: []string{"b"}}, "a", "b").Thread("t").Invoke(t.Context(), trail.Put("in"))
		require.NoError(t, err)
		th := trailGraph(t, graph.Options{Checkpoints: s}, "a", "c").Thread("t")
		snap, err := th.Invoke(t.Context())
		require.ErrorIs(t, err, graph.ErrUnknownNode)
		wantText(t, err, `"b"`, "Migrations")
		require.False(t, snap.Done())
		require.Equal(t, []string{"b"}, snap.Next)
		require.Equal(t, snap.Next, snapshot(t, th).Next)
	})
}

// TestThreadIsNotDoneBeforeLastCommit proves that a snapshot of a running thread is not
// done until the last superstep is stored.
func TestThreadIsNotDoneBeforeLastCommit(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		onStores(t, func(t *testing.T, inner checkpoint.Store) {
			var th *graph.Thread
			var polls, atCommit int
			s := &gatedStore{Store: inner}
			// When Put is called, the results of the superstep are stored and its
			// checkpoint is not. No task is due then, but the thread is not done.
			s.put = func(ctx context.Context, c *checkpoint.Checkpoint) error {
				if d == graph.Async {
					return nil // the run may already be in a later superstep
				}
				snap, err := th.Snapshot(ctx)
				if errors.Is(err, checkpoint.ErrNotFound) {
					return nil
				}
				atCommit++
				assert.NoError(t, err)
				assert.False(t, snap.Done(), "before the commit of step %d: next %q, tasks %v", c.Step, snap.Next, snap.Tasks)
				return nil
			}
			g := build(t, s, func(b *graph.Builder) {
				repeat(b, "a", 40, func(context.Context, state.View) (state.Update, error) {
					return state.Update{graph.Send("w"), graph.Send("w")}, nil
				})
				b.Node("w", func(context.Context, state.View) (state.Update, error) { return nil, nil })
				b.Destinations("a", "w")
				b.AllowEdgesAndBranches("a")
				b.Edge(graph.Start, "a")
			})
			th = g.Thread("t").With(graph.RunOptions{MaxSteps: 1000, Durability: &d})
			var running atomic.Bool
			running.Store(true)
			var wg sync.WaitGroup
			wg.Go(func() {
				for running.Load() {
					snap, err := th.Snapshot(t.Context())
					if errors.Is(err, checkpoint.ErrNotFound) {
						continue
					}
					polls++
					// The run may have ended if the total is 40.
					if !assert.NoError(t, err) || !assert.False(t, snap.Done() && total.Get(snap) < 40, "next %q, tasks %v", snap.Next, snap.Tasks) {
						return
					}
				}
			})
			snap := done(t, th, graph.Begin())
			running.Store(false)
			wg.Wait()
			require.Equal(t, 40, total.Get(snap))
			if d == graph.Sync {
				require.GreaterOrEqual(t, atCommit, 40)
			}
		})
	})
}

// TestFinishedThreadReportsWaitingJoins proves that a finished thread lists the joins that
// never fired because a source did not run, for example in a fan-out without targets.
func TestFinishedThreadReportsWaitingJoins(t *testing.T) {
	t.Parallel()
	var log logLines
	b := graph.New("waiting", trail, total)
	b.Node("plan", mark("plan"))
	b.Node("work", mark("work"))
	b.Node("report", mark("report"))
	b.Edge(graph.Start, "plan")
	b.BranchMany("plan", func(state.View) (state.Update, error) { return nil, nil }, "work") // no target
	b.Join("report", "plan", "work")
	g := compile(t, b, graph.Options{Checkpoints: newStore(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	want := []graph.WaitingJoin{{Target: "report", Arrived: []string{"plan"}, Awaiting: []string{"work"}}}
	snap := done(t, g.Thread("t"), trail.Put("in"))
	require.Equal(t, want, snap.Waiting)
	require.Equal(t, want, snapshot(t, g.Thread("t")).Waiting)
	for _, word := range []string{"join=report", "arrived=[plan]", "awaiting=[work]", "thread=t"} {
		assert.Contains(t, log.String(), word)
	}
	ended, err := g.Invoke(t.Context(), trail.Put("in"))
	require.NoError(t, err)
	require.Equal(t, want, ended.Waiting, "without a thread")

	var none *slog.Logger
	ended, err = compile(t, b, graph.Options{Logger: none}).Invoke(t.Context(), trail.Put("in"))
	require.NoError(t, err)
	require.Equal(t, want, ended.Waiting, "with a nil logger")
}

// TestSubgraphLogsWaitingJoins proves that a join of a subgraph that never fired is logged when the call of the
// subgraph ends, and not when it only pauses.
func TestSubgraphLogsWaitingJoins(t *testing.T) {
	t.Parallel()
	var log logLines
	logger := slog.New(slog.NewTextHandler(&log, nil))
	b := graph.New("inner", trail)
	b.Node("ask", asks("?"))
	for _, name := range []string{"cheap", "dear", "report"} {
		b.Node(name, mark(name))
	}
	b.Edge(graph.Start, "ask")
	b.Edge(graph.Start, "cheap")
	b.Branch("ask", func(state.View) (string, error) { return graph.End, nil }, "dear", graph.End)
	b.Join("report", "cheap", "dear")
	inner := compile(t, b, graph.Options{})
	b = graph.New("outer", trail)
	b.Subgraph("inner", inner)
	b.Edge(graph.Start, "inner")
	g := compile(t, b, graph.Options{Checkpoints: newStore(), Logger: logger})
	paused := invoke(t, g.Thread("t"), trail.Put("in"))
	require.Len(t, paused.Pauses, 1)
	require.Empty(t, log.String())
	require.True(t, answerAll(t, g.Thread("t")).Done())
	for _, word := range []string{"graph=inner", "thread=t", "join=report", "arrived=[cheap]", "awaiting=[dear]"} {
		assert.Contains(t, log.String(), word)
	}
	assert.Equal(t, 1, strings.Count(log.String(), "join="), log.String())
}

// TestReadOfUnsentChannelIsLogged proves that a warning is logged once if a sent task reads
// a channel which has a value in the state but was not sent. Other reads are not logged.
func TestReadOfUnsentChannelIsLogged(t *testing.T) {
	t.Parallel()
	var log logLines
	b := graph.New("sent", trail, total, note)
	b.Node("plan", func(context.Context, state.View) (state.Update, error) {
		return state.Update{total.Put(3), graph.Send("work", note.Put("a")), graph.Send("work", note.Put("b"))}, nil
	})
	b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
		trail.Get(s) // trail has no value in the state either
		return state.Update{trail.Put(fmt.Sprint(note.Get(s), total.Get(s)))}, nil
	})
	b.Edge(graph.Start, "plan")
	b.Destinations("plan", "work")
	g := compile(t, b, graph.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	snap, err := g.Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"a0", "b0"}, trail.Get(snap))
	assert.Equal(t, 1, strings.Count(log.String(), "was not sent"), log.String())
	for _, word := range []string{"graph=sent", "node=work", "channel=total"} {
		assert.Contains(t, log.String(), word)
	}
}
