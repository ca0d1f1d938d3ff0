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

// requireSame compares what a run returned with what the store says. The clocks of
// the engine and of the store may differ.
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

// TestRunReturnsWhatIsStored proves that the snapshot of a run describes the
// checkpoint that it names, also if an earlier run, with other options, wrote it.
func TestRunReturnsWhatIsStored(t *testing.T) {
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
			requireSame(t, last, invoke(t, last)) // asks again
			ended := done(t, last, ask.Answer(paused.Pauses[0].ID, true))
			requireSame(t, last, ended)
			require.Equal(t, "3", ended.Version)
			idle := done(t, second) // nothing is due
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

// TestSnapshotOfAMissingNode proves that a run which has to run a node that the graph
// no longer has says that the thread is not done, and what is due.
func TestSnapshotOfAMissingNode(t *testing.T) {
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

// TestDoneMeansTheEnd proves that nobody who reads the thread while it runs is told
// that it is done before its last superstep is stored.
func TestDoneMeansTheEnd(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d graph.Durability) {
		onStores(t, func(t *testing.T, inner checkpoint.Store) {
			var th *graph.Thread
			var polls, atCommit int
			s := &gatedStore{Store: inner}
			// The results of a superstep are stored, and its commit is not: until then
			// nothing is left to run, and the thread is not done.
			s.put = func(ctx context.Context, c *checkpoint.Checkpoint) error {
				if d == graph.Async {
					return nil // the commit of a later superstep may be under way
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
					// The last node of the graph has run: the run may have ended.
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

// TestJoinLeftWaiting proves that a finished thread says which joins never fired: those
// of a fan-out without targets, and those with a source that did not run.
func TestJoinLeftWaiting(t *testing.T) {
	t.Parallel()
	var log logLines
	b := graph.New("waiting", trail, total)
	b.Node("plan", mark("plan"))
	b.Node("work", mark("work"))
	b.Node("report", mark("report"))
	b.Edge(graph.Start, "plan")
	b.BranchMany("plan", func(state.View) (state.Update, error) { return nil, nil }, "work") // nothing to do
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
}

// TestReadOfWhatWasNotSentIsLogged proves that a sent task which reads a channel that the
// state has, but that was not sent, is logged once; and that no other read is.
func TestReadOfWhatWasNotSentIsLogged(t *testing.T) {
	t.Parallel()
	var log logLines
	b := graph.New("sent", trail, total, note)
	b.Node("plan", func(context.Context, state.View) (state.Update, error) {
		return state.Update{total.Put(3), graph.Send("work", note.Put("a")), graph.Send("work", note.Put("b"))}, nil
	})
	b.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
		trail.Get(s) // absent in the state too
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
