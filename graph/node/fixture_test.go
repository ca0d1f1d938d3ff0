package node_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The channels that the tests share.
var (
	trail = state.Append[string]("trail")
	note  = state.Last[string]("note")
	item  = state.Last[int]("item")
)

var errBroken = errors.New("broken")

// build compiles a graph with the shared channels and a store in memory. The function
// fill adds the nodes and edges.
func build(t testing.TB, fill func(b *graph.Builder)) *graph.Graph {
	t.Helper()
	return buildOn(t, memcheckpoint.New(memcheckpoint.Options{}), fill)
}

func buildOn(t testing.TB, s checkpoint.Store, fill func(b *graph.Builder)) *graph.Graph {
	t.Helper()
	b := graph.New("test", trail, note, item)
	fill(b)
	g, err := b.Compile(graph.Options{Checkpoints: s})
	require.NoError(t, err)
	return g
}

// single returns a graph of one node, "n".
func single(t testing.TB, fn graph.NodeFunc) *graph.Graph {
	t.Helper()
	return build(t, func(b *graph.Builder) {
		b.Node("n", fn)
		b.Edge(graph.Start, "n")
	})
}

// mark returns a node that appends text to the trail.
func mark(text string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) {
		return state.Update{trail.Put(text)}, nil
	}
}

// counter counts events by name. It is safe for concurrent use.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
}

// want fails the test unless the event was counted this many times.
func (c *counter) want(t testing.TB, name string, want int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	assert.Equal(t, want, c.n[name], "count of %s", name)
}
