package graph_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var rewrite = flag.Bool("update", false, "rewrite the golden files")

// golden compares the text with a file in testdata/golden, which the flag
// -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "%s differs: run the test with -update and review the change", file)
}

// eventful builds a graph whose runs produce every kind of event: it has a
// subgraph and nodes that emit, sent tasks, a question and a failure. Tasks run
// one at a time, which makes the order of events deterministic.
func eventful(t testing.TB, s checkpoint.Store) *graph.Graph {
	sub := graph.New("sub", trail)
	sub.Node("in", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "deep")
		return state.Update{trail.Put("in")}, nil
	})
	sub.Node("out", mark("out"))
	chain(sub, "in", "out")
	inner := compile(t, sub, graph.Options{MaxParallel: 1})
	b := graph.New("eventful", trail, total, note, item)
	b.Node("plan", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, 1)
		graph.Emit(ctx, 2)
		return state.Update{trail.Put("plan"), graph.Send("work", item.Put(1)), graph.Send("work", item.Put(2))}, nil
	})
	b.Edge(graph.Start, "plan")
	b.AllowEdgesAndBranches("plan")
	b.Destinations("plan", "work")
	b.Edge("plan", "sub")
	b.Subgraph("sub", inner)
	b.Node("work", func(ctx context.Context, v state.View) (state.Update, error) {
		if item.Get(v) == 2 {
			if _, err := ask.Wait(ctx, "2?"); err != nil {
				return nil, err
			}
		}
		return state.Update{trail.Put(fmt.Sprint("work", item.Get(v)))}, nil
	})
	b.Edge("work", "end")
	b.Node("end", func(ctx context.Context, v state.View) (state.Update, error) {
		if total.Get(v) == 0 {
			return nil, errBroken
		}
		return state.Update{trail.Put("end")}, nil
	})
	return compile(t, b, graph.Options{Checkpoints: s, MaxParallel: 1})
}

// eventLine formats an event, or the error of a stream, as a line of text.
func eventLine(ev graph.Event, err error) string {
	if err != nil {
		return fmt.Sprintf("error %v\n", err)
	}
	at := ev.At()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", ev), "graph.")
	place := fmt.Sprintf("%-12s step %d", kind, at.Step)
	for _, p := range []string{at.Path, at.Node, at.Task} {
		if p == "" {
			p = "-"
		}
		place += " " + p
	}
	switch ev := ev.(type) {
	case graph.RunStarted:
		return fmt.Sprintf("%s %q resumed %v\n", place, trail.Get(ev.State), ev.Resumed)
	case graph.StepStarted:
		return fmt.Sprintf("%s %q\n", place, ev.Tasks)
	case graph.Emitted:
		return fmt.Sprintf("%s %v\n", place, ev.Value)
	case graph.TaskFinished:
		return fmt.Sprintf("%s %v kept %v asked %v error %v\n", place, ev.Update, ev.Saved, ev.Asked, ev.Err)
	case graph.StateChanged:
		return fmt.Sprintf("%s %q\n", place, trail.Get(ev.State))
	case graph.Checkpointed:
		return fmt.Sprintf("%s new %v\n", place, ev.ID != ev.Parent)
	case graph.Paused:
		for _, p := range ev.Pauses {
			place += fmt.Sprintf(" %s at %s: %s", p.Kind, p.Path, p.Prompt)
		}
	case graph.RunEnded:
		if ev.Snapshot != nil {
			return fmt.Sprintf("%s %q next %q\n", place, trail.Get(ev.Snapshot), ev.Snapshot.Next)
		}
	}
	return place + "\n"
}

// TestEventsOfThreeRuns proves that a run with input, a resumed run that fails
// and a run after an edit send exactly the events of the golden file.
func TestEventsOfThreeRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := eventful(t, s).Thread("t")
		var log strings.Builder
		starts := map[string]time.Time{}
		runs := map[string]bool{}
		read := func(title string, writes ...state.Write) {
			fmt.Fprintf(&log, "== %s\n", title)
			failed := false
			for ev, err := range th.Stream(t.Context(), writes...) {
				require.False(t, failed, "an event after the error")
				log.WriteString(eventLine(ev, err))
				if failed = err != nil; failed {
					continue
				}
				switch at := ev.At(); ev.(type) {
				case graph.TaskStarted:
					starts[at.Path+at.Task] = at.Time
				case graph.TaskFinished:
					assert.False(t, at.Time.Before(starts[at.Path+at.Task]), "task %s finished before it started", at.Task)
				}
				runs[ev.At().Run] = true
			}
		}
		read("input", note.Put("go"))
		read("answer, and a node fails", ask.Answer(snapshot(t, th).Pauses[0].ID, "yes"))
		read("an edit, and on to the end", total.Put(1), graph.Continue())
		assert.Len(t, runs, 3, "ids of runs")
		golden(t, "events.txt", log.String())
	})
}

// TestCheckpointedNamesStoredCheckpoints proves that the Checkpointed events of
// a run name the checkpoints of the thread's history, in every durability mode.
func TestCheckpointedNamesStoredCheckpoints(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			t.Run(mode.String(), func(t *testing.T) {
				t.Parallel()
				th := in(diamond(t, s).Thread(mode.String()), mode)
				var got, want []string
				for ev, err := range th.Stream(t.Context(), note.Put("go")) {
					require.NoError(t, err)
					if c, ok := ev.(graph.Checkpointed); ok {
						got = append(got, c.Parent+"→"+c.ID)
					}
				}
				for _, info := range history(t, th, graph.HistoryQuery{}) {
					want = append(want, info.Parent+"→"+info.ID)
				}
				assert.Equal(t, want, got)
			})
		}
	})
}

// TestLeavingStreamAtAnyEvent proves that after a consumer leaves the loop at
// any event, no goroutine remains and the next run completes the thread.
func TestLeavingStreamAtAnyEvent(t *testing.T) {
	bubbled(t, func(t *testing.T, s checkpoint.Store, _ bool) {
		g := diamond(t, s)
		events := 0
		for _, err := range g.Thread("all").Stream(t.Context(), note.Put("go")) {
			require.NoError(t, err)
			events++
		}
		for _, mode := range modes {
			for at := 1; at <= events; at++ {
				th := in(g.Thread(words(mode, at)), mode)
				n := 0
				for _, err := range th.Stream(t.Context(), note.Put("go")) {
					require.NoError(t, err)
					if n++; n == at {
						break
					}
				}
				var input []state.Write
				if _, err := th.Snapshot(t.Context()); errors.Is(err, checkpoint.ErrNotFound) {
					input = append(input, note.Put("go"))
				}
				wantTrail(t, done(t, th, input...), "a", "b", "c", "d")
			}
		}
	})
}

// TestLeavingStreamWaitsForNodes proves that leaving the loop cancels the
// context of the running nodes and waits until they return.
func TestLeavingStreamWaitsForNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		g := build(t, nil, func(b *graph.Builder) {
			for _, n := range []string{"a", "b", "c"} {
				b.Node(n, func(ctx context.Context, _ state.View) (state.Update, error) {
					graph.Emit(ctx, n)
					<-ctx.Done()
					time.Sleep(time.Hour) // a slow cleanup
					ended.Add(1)
					return nil, ctx.Err()
				})
				b.Edge(graph.Start, n)
			}
		})
		emitted := 0
		for ev, err := range g.Stream(t.Context()) {
			require.NoError(t, err)
			if _, ok := ev.(graph.Emitted); ok {
				if emitted++; emitted == 3 {
					break
				}
			}
		}
		assert.EqualValues(t, 3, ended.Load(), "nodes that returned before the loop ended")
	})
}

// TestPanicOfConsumer proves that a panic in the body of the loop reaches the
// caller, and that it leaves neither a goroutine nor a locked thread.
func TestPanicOfConsumer(t *testing.T) {
	bubbled(t, func(t *testing.T, s checkpoint.Store, _ bool) {
		g := diamond(t, s)
		for at := range 12 {
			th := g.Thread(fmt.Sprint(at))
			assert.PanicsWithValue(t, "consumer", func() {
				n := 0
				for _, err := range th.Stream(t.Context(), note.Put("go")) {
					if n++; n > at {
						panic("consumer")
					}
					assert.NoError(t, err)
				}
			})
			wantTrail(t, done(t, th, note.Put("again"), trail.Overwrite(nil)), "a", "b", "c", "d")
		}
	})
}

// TestSlowConsumerBlocksEmit proves that a slow consumer receives every value,
// and that Emit waits instead of buffering without bound.
func TestSlowConsumerBlocksEmit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 200
		var sent atomic.Int64
		g := single(t, func(ctx context.Context, _ state.View) (state.Update, error) {
			for i := range n {
				graph.Emit(ctx, i)
				sent.Add(1)
			}
			return nil, nil
		})
		got := 0
		for ev, err := range g.Stream(t.Context()) {
			require.NoError(t, err)
			e, ok := ev.(graph.Emitted)
			if !ok {
				continue
			}
			require.Equal(t, got, e.Value)
			got++
			time.Sleep(time.Second)
			synctest.Wait()
			require.LessOrEqual(t, int(sent.Load())-got, 2, "values that the node is ahead of the consumer")
		}
		assert.Equal(t, n, got, "values received")
	})
}

// TestEmitFromManyGoroutines proves that every emitted value arrives once with
// its node, task and step, and that the values of one goroutine keep their
// order.
func TestEmitFromManyGoroutines(t *testing.T) {
	t.Parallel()
	const writers, each = 8, 50
	g := build(t, nil, func(b *graph.Builder) {
		for _, n := range []string{"a", "b"} {
			b.Node(n, func(ctx context.Context, _ state.View) (state.Update, error) {
				var all sync.WaitGroup
				for w := range writers {
					all.Go(func() {
						for i := range each {
							graph.Emit(ctx, [2]int{w, i})
						}
					})
				}
				all.Wait()
				return nil, nil
			})
			b.Edge(graph.Start, n)
		}
	})
	next := map[string]int{}
	for ev, err := range g.Stream(t.Context()) {
		require.NoError(t, err)
		e, ok := ev.(graph.Emitted)
		if !ok {
			continue
		}
		v := e.Value.([2]int)
		writer := fmt.Sprint(e.At().Node, v[0])
		require.Equal(t, e.At().Node, e.At().Task)
		require.Equal(t, 1, e.At().Step)
		require.Equal(t, next[writer], v[1], "next value of %s", writer)
		next[writer]++
	}
	assert.Len(t, next, 2*writers, "goroutines")
	for writer, n := range next {
		assert.Equal(t, each, n, "values of %s", writer)
	}
}

// TestStreamAndInvokeAgree proves that a run ends in the same state whether or
// not its events are read.
func TestStreamAndInvokeAgree(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g, err := crasher(s, 2, func(string, string, string) {})
		require.NoError(t, err)
		var streamed *graph.Snapshot
		for ev, err := range g.Thread("stream").Stream(t.Context(), note.Put("go")) {
			require.NoError(t, err)
			if e, ok := ev.(graph.RunEnded); ok && e.At().Path == "" {
				streamed = e.Snapshot
			}
		}
		require.NotNil(t, streamed)
		invoked := done(t, g.Thread("invoke"), note.Put("go"))
		wantTrail(t, streamed, trail.Get(invoked)...)
		wantTrail(t, snapshot(t, g.Thread("stream")), trail.Get(invoked)...)
		assert.Equal(t, invoked.Step, streamed.Step)
		assert.True(t, streamed.Done())
	})
}
