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

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var rewrite = flag.Bool("update", false, "write the golden files again")

// golden compares a text with a file of testdata/golden.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *rewrite {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// eventful has all that makes events: a branch, a subgraph that emits, sent
// tasks, a question. One task runs at a time, so that their order is one.
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

// tell writes an event as a line.
func tell(ev graph.Event, err error) string {
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

// TestEvents: the events of three runs of a thread, one after another.
func TestEvents(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		th := eventful(t, s).Thread("t")
		var log strings.Builder
		starts := map[string]time.Time{}
		runs := map[string]bool{}
		read := func(title string, writes ...state.Write) {
			fmt.Fprintf(&log, "== %s\n", title)
			ended := false
			for ev, err := range th.Stream(t.Context(), writes...) {
				if ended {
					t.Error("an event behind the last")
				}
				log.WriteString(tell(ev, err))
				if err != nil {
					ended = true
					continue
				}
				switch at := ev.At(); ev.(type) {
				case graph.TaskStarted:
					starts[at.Path+at.Task] = at.Time
				case graph.TaskFinished:
					if at.Time.Before(starts[at.Path+at.Task]) {
						t.Errorf("task %s ended before it began", at.Task)
					}
				}
				runs[ev.At().Run] = true
			}
		}
		read("input", note.Put("go"))
		read("answer, and a node fails", ask.Answer(snapshot(t, th).Pauses[0].ID, "yes"))
		read("an edit, and on to the end", total.Put(1), graph.Continue())
		if len(runs) != 3 {
			t.Errorf("three runs have %d ids", len(runs))
		}
		golden(t, "events.txt", log.String())
	})
}

// TestEventIDs: every Checkpointed names a checkpoint that can be read.
func TestEventIDs(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		for _, mode := range modes {
			th := in(diamond(t, s).Thread(mode.String()), mode)
			var ids []string
			for ev, err := range th.Stream(t.Context(), note.Put("go")) {
				if err != nil {
					t.Fatal(err)
				}
				if c, ok := ev.(graph.Checkpointed); ok {
					ids = append(ids, c.Parent+"→"+c.ID)
				}
			}
			var want []string
			for _, info := range history(t, th, graph.HistoryQuery{}) {
				want = append(want, info.Parent+"→"+info.ID)
			}
			if fmt.Sprint(ids) != fmt.Sprint(want) {
				t.Fatalf("%v: got %q, want %q", mode, ids, want)
			}
		}
	})
}

// TestBreak leaves the loop at every event there is. No goroutine stays, and
// the thread goes on to the right end.
func TestBreak(t *testing.T) {
	bubbled(t, func(t *testing.T, s checkpoint.Store, _ bool) {
		g := diamond(t, s)
		want := []string{"a", "b", "c", "d"}
		events := 0
		for _, err := range g.Thread("all").Stream(t.Context(), note.Put("go")) {
			if err != nil {
				t.Fatal(err)
			}
			events++
		}
		for _, mode := range modes {
			for at := 1; at <= events; at++ {
				th := in(g.Thread(words(mode, at)), mode)
				n := 0
				for _, err := range th.Stream(t.Context(), note.Put("go")) {
					if err != nil {
						t.Fatal(err)
					}
					if n++; n == at {
						break
					}
				}
				if _, err := th.Snapshot(t.Context()); errors.Is(err, checkpoint.ErrNotFound) {
					wantTrail(t, done(t, th, note.Put("go")), want...)
				} else {
					wantTrail(t, done(t, th), want...)
				}
			}
		}
	})
}

// TestBreakEndsNodes: leaving the loop ends the context of the nodes, and waits
// for them.
func TestBreakEndsNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended atomic.Int64
		g := build(t, nil, func(b *graph.Builder) {
			for _, n := range []string{"a", "b", "c"} {
				b.Node(n, func(ctx context.Context, _ state.View) (state.Update, error) {
					graph.Emit(ctx, n)
					<-ctx.Done()
					time.Sleep(time.Hour) // cleaning up takes its time
					ended.Add(1)
					return nil, ctx.Err()
				})
				b.Edge(graph.Start, n)
			}
		})
		emitted := 0
		for ev, err := range g.Stream(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(graph.Emitted); ok {
				if emitted++; emitted == 3 {
					break
				}
			}
		}
		if ended.Load() != 3 {
			t.Fatalf("%d nodes ended before the loop did", ended.Load())
		}
	})
}

// TestPanickingReader: a panic of the loop's body comes out of the loop, and
// leaves nothing behind.
func TestPanickingReader(t *testing.T) {
	bubbled(t, func(t *testing.T, s checkpoint.Store, _ bool) {
		g := diamond(t, s)
		for at := range 12 {
			th := g.Thread(fmt.Sprint(at))
			func() {
				defer func() {
					if got := recover(); got != "reader" {
						t.Fatalf("recovered %v", got)
					}
				}()
				n := 0
				for _, err := range th.Stream(t.Context(), note.Put("go")) {
					if n++; n > at {
						panic("reader")
					}
					if err != nil {
						t.Error(err)
					}
				}
			}()
			wantTrail(t, done(t, th, note.Put("again"), trail.Overwrite(nil)), "a", "b", "c", "d")
		}
	})
}

// TestSlowReader: a reader that takes its time gets every event, and nodes wait
// for it.
func TestSlowReader(t *testing.T) {
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
			if err != nil {
				t.Fatal(err)
			}
			e, ok := ev.(graph.Emitted)
			if !ok {
				continue
			}
			if e.Value != got {
				t.Fatalf("got %v, want %d", e.Value, got)
			}
			got++
			time.Sleep(time.Second)
			synctest.Wait()
			if ahead := int(sent.Load()) - got; ahead > 2 {
				t.Fatalf("the node is %d ahead of its reader", ahead)
			}
		}
		if got != n {
			t.Fatalf("got %d values, want %d", got, n)
		}
	})
}

// TestEmit: values come in the order of each goroutine that gave them, with
// where they come from, and put together make the whole.
func TestEmit(t *testing.T) {
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
		if err != nil {
			t.Fatal(err)
		}
		e, ok := ev.(graph.Emitted)
		if !ok {
			continue
		}
		v := e.Value.([2]int)
		key := fmt.Sprint(e.Node, v[0])
		if e.Task != e.Node || e.Step != 1 || v[1] != next[key] {
			t.Fatalf("got %+v, want value %d of %s", e, next[key], key)
		}
		next[key]++
	}
	for key, n := range next {
		if n != each {
			t.Errorf("%s gave %d values, want %d", key, n, each)
		}
	}
	if len(next) != 2*writers {
		t.Errorf("got values of %d goroutines, want %d", len(next), 2*writers)
	}
}

// TestStreamIsInvoke: a run is the same with its events read and without.
func TestStreamIsInvoke(t *testing.T) {
	eachStore(t, func(t *testing.T, s checkpoint.Store) {
		g, err := crasher(s, 2, func(string, string, string) {})
		if err != nil {
			t.Fatal(err)
		}
		var streamed *graph.Snapshot
		for ev, err := range g.Thread("stream").Stream(t.Context(), note.Put("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := ev.(graph.RunEnded); ok && e.Path == "" {
				streamed = e.Snapshot
			}
		}
		invoked := done(t, g.Thread("invoke"), note.Put("go"))
		wantTrail(t, streamed, trail.Get(invoked)...)
		wantTrail(t, snapshot(t, g.Thread("stream")), trail.Get(invoked)...)
		if streamed.Step != invoked.Step || !streamed.Done() {
			t.Fatalf("got %+v, want %+v", streamed.Info, invoked.Info)
		}
	})
}
