package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The channels that the tests share.
var (
	trail = state.Append[string]("trail")
	total = state.Sum[int]("total")
	note  = state.Last[string]("note")
	item  = state.Last[int]("item")
	turns = state.Sum[int]("turns")
)

var errBroken = errors.New("broken")

// mark returns a node that appends its name to the trail.
func mark(name string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put(name)}, nil
	}
}

// compile compiles the builder and fails the test on an error.
func compile(t testing.TB, b *graph.Builder, o graph.Options) *graph.Graph {
	t.Helper()
	g, err := b.Compile(o)
	require.NoError(t, err)
	return g
}

// build compiles a graph with the shared channels. The function fill adds its nodes and
// edges. The store may be nil.
func build(t testing.TB, s checkpoint.Store, fill func(b *graph.Builder)) *graph.Graph {
	t.Helper()
	b := graph.New("test", trail, total, note, item)
	fill(b)
	return compile(t, b, graph.Options{Checkpoints: s})
}

// chain adds edges from Start through the named nodes in order.
func chain(b *graph.Builder, names ...string) {
	from := graph.Start
	for _, n := range names {
		b.Edge(from, n)
		from = n
	}
}

// invoke runs the thread and fails the test on an error.
func invoke(t testing.TB, th *graph.Thread, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s, err := th.Invoke(t.Context(), writes...)
	require.NoError(t, err)
	return s
}

// done runs the thread and fails the test unless the run reaches its end.
func done(t testing.TB, th *graph.Thread, writes ...state.Write) *graph.Snapshot {
	t.Helper()
	s := invoke(t, th, writes...)
	require.Empty(t, s.Pauses, "the run paused")
	require.True(t, s.Done(), "the run stopped before %q", s.Next)
	return s
}

// snapshot reads the thread and fails the test on an error.
func snapshot(t testing.TB, th *graph.Thread) *graph.Snapshot {
	t.Helper()
	s, err := th.Snapshot(t.Context())
	require.NoError(t, err)
	return s
}

// history returns the thread's checkpoints, oldest first.
func history(t testing.TB, th *graph.Thread, q graph.HistoryQuery) []graph.Info {
	t.Helper()
	var out []graph.Info
	for info, err := range th.History(t.Context(), q) {
		require.NoError(t, err)
		out = append(out, info)
	}
	slices.Reverse(out)
	return out
}

// wantTrail requires the trail to hold exactly these entries, in order.
func wantTrail(t testing.TB, s state.View, want ...string) {
	t.Helper()
	if got := trail.Get(s); len(want) > 0 {
		require.Equal(t, want, got, "trail")
	} else {
		require.Empty(t, got, "trail")
	}
}

// wantText requires each part to occur in the error's text.
func wantText(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		require.ErrorContains(t, err, p)
	}
}

// counter counts events by name. It is safe for concurrent use.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

// add counts one event and returns the new count.
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

// want requires the event to have been counted this many times.
func (c *counter) want(t testing.TB, name string, want int) {
	t.Helper()
	require.Equal(t, want, c.get(name), "count of %s", name)
}

// pending returns the interrupt's open questions and fails the test on an error.
func pending[P, A any](t testing.TB, i *graph.Interrupt[P, A], s *graph.Snapshot) []graph.OpenQuestion[P] {
	t.Helper()
	out, err := i.Open(s)
	require.NoError(t, err)
	return out
}

// modes lists every durability mode.
var modes = []graph.Durability{graph.Sync, graph.Async, graph.Exit}

// in returns a handle whose runs use the durability mode d.
func in(th *graph.Thread, d graph.Durability) *graph.Thread {
	return th.With(graph.RunOptions{Durability: &d})
}

// words formats the values and joins them with spaces.
func words(v ...any) string { return strings.TrimSuffix(fmt.Sprintln(v...), "\n") }

// choose turns f into a branch function that never fails. A nil f stays nil.
func choose(f func(state.View) string) func(state.View) (string, error) {
	if f == nil {
		return nil
	}
	return func(v state.View) (string, error) { return f(v), nil }
}
