package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// Channels that tests share.
var (
	trail = state.Append[string]("trail")
	total = state.Sum[int]("total")
	note  = state.Last[string]("note")
	item  = state.Last[int]("item")
	turns = state.Sum[int]("turns")
)

var errBroken = errors.New("broken")

// mark returns a node that leaves its name in the trail.
func mark(name string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put(name)}, nil
	}
}

func compile(t testing.TB, b *graph.Builder, o graph.Options) *graph.Graph {
	t.Helper()
	g, err := b.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// build makes a graph over the shared channels.
func build(t testing.TB, s checkpoint.Store, fill func(b *graph.Builder)) *graph.Graph {
	t.Helper()
	b := graph.New("test", trail, total, note, item)
	fill(b)
	return compile(t, b, graph.Options{Checkpoints: s})
}

// chain makes nodes that follow each other, from Start.
func chain(b *graph.Builder, names ...string) {
	from := graph.Start
	for _, n := range names {
		b.Edge(from, n)
		from = n
	}
}

// invoke runs a thread that must not fail.
func invoke(t testing.TB, th *graph.Thread, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s, err := th.Invoke(t.Context(), writes...)
	if err != nil {
		t.Fatalf("invoke: %v", err)
	}
	return s
}

// done is invoke of a run that must reach its end.
func done(t testing.TB, th *graph.Thread, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s := invoke(t, th, writes...)
	if !s.Done() || len(s.Pauses) > 0 {
		t.Fatalf("the run stopped: next %q, pauses %v", s.Next, s.Pauses)
	}
	return s
}

func snapshot(t testing.TB, th *graph.Thread) *graph.Snapshot {
	t.Helper()
	s, err := th.Snapshot(t.Context())
	if err != nil {
		t.Fatalf("snapshot: %v", err)
	}
	return s
}

// history returns the thread's checkpoints, oldest first.
func history(t testing.TB, th *graph.Thread, q graph.HistoryQuery) []graph.Info {
	t.Helper()
	var out []graph.Info
	for info, err := range th.History(t.Context(), q) {
		if err != nil {
			t.Fatalf("history: %v", err)
		}
		out = append(out, info)
	}
	slices.Reverse(out)
	return out
}

func wantTrail(t testing.TB, s state.View, want ...string) {
	t.Helper()
	if got := trail.Get(s); !slices.Equal(got, want) {
		t.Fatalf("got trail %q, want %q", got, want)
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func wantText(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Fatalf("got error %v, want %q in it", err, p)
		}
	}
}

// counter counts what happens by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func (c *counter) get(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

func (c *counter) want(t testing.TB, name string, want int) {
	t.Helper()
	if got := c.get(name); got != want {
		t.Fatalf("%s happened %d times, want %d", name, got, want)
	}
}

// pending returns the open questions of an interrupt by key or node.
func pending[P, A any](t testing.TB, i *graph.Interrupt[P, A], s *graph.Snapshot) []graph.OpenQuestion[P] {
	t.Helper()
	out, err := i.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var modes = []graph.Durability{graph.Sync, graph.Async, graph.Exit}

// in returns a handle whose runs have a durability.
func in(th *graph.Thread, d graph.Durability) *graph.Thread {
	return th.With(graph.RunOptions{Durability: &d})
}

func words(v ...any) string { return strings.TrimSuffix(fmt.Sprintln(v...), "\n") }

// choose returns a branch function that cannot fail.
func choose(f func(state.View) string) func(state.View) (string, error) {
	if f == nil {
		return nil
	}
	return func(v state.View) (string, error) { return f(v), nil }
}
