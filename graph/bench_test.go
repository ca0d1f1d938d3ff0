package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// The loops of these benchmarks check results with an if statement, since an
// assertion would cost as much as a superstep.

var (
	benchMessages = state.Append[string]("messages")
	benchCount    = state.Sum[int]("count")
	benchText     = strings.Repeat("x", 64)
)

// loop builds a graph whose nodes agent and tools alternate for n supersteps.
func loop(tb testing.TB, n int, store checkpoint.Store) *graph.Graph {
	b := graph.New("loop", benchMessages, benchCount)
	step := func(context.Context, state.View) (state.Update, error) {
		return state.Update{benchMessages.Put(benchText), benchCount.Put(1)}, nil
	}
	b.Node("agent", step)
	b.Node("tools", step)
	b.Edge(graph.Start, "agent")
	b.Branch("agent", func(s state.View) (string, error) {
		if benchCount.Get(s) >= n {
			return graph.End, nil
		}
		return "tools", nil
	}, "tools", graph.End)
	b.Edge("tools", "agent")
	return compile(tb, b, graph.Options{Checkpoints: store, MaxSteps: n + 1})
}

// BenchmarkSupersteps measures runs without a thread.
func BenchmarkSupersteps(b *testing.B) {
	for _, n := range []int{11, 101, 1001} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			g := loop(b, n, nil)
			b.ReportAllocs()
			for b.Loop() {
				s, err := g.Invoke(b.Context(), benchMessages.Put("in"))
				if err != nil || benchCount.Get(s) != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
		})
	}
}

// BenchmarkSuperstepsStored measures runs of threads in memory.
func BenchmarkSuperstepsStored(b *testing.B) {
	for _, n := range []int{11, 101, 1001} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			store := memcheckpoint.New(memcheckpoint.Options{})
			g := loop(b, n, store)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				th := g.Thread(fmt.Sprint(i))
				s, err := th.Invoke(b.Context(), benchMessages.Put("in"))
				if err != nil || benchCount.Get(s) != n {
					b.Fatal(err)
				}
				if err := th.Delete(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
		})
	}
}

// BenchmarkPause measures a run that asks a question and a run that answers it,
// and for comparison two runs with the same supersteps and no question.
func BenchmarkPause(b *testing.B) {
	for _, asks := range []bool{false, true} {
		b.Run(fmt.Sprintf("asks=%v", asks), func(b *testing.B) {
			gb := graph.New("pause", benchMessages, benchCount)
			gb.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
				if asks {
					if _, err := ask.Wait(ctx, benchText); err != nil {
						return nil, err
					}
				}
				return state.Update{benchMessages.Put(benchText)}, nil
			})
			gb.Edge(graph.Start, "ask")
			g := compile(b, gb, graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				i++
				th := g.Thread(fmt.Sprint(i))
				s, err := th.Invoke(b.Context(), benchCount.Put(1))
				if err != nil {
					b.Fatal(err)
				}
				next := benchCount.Put(1)
				if asks {
					next = ask.Answer(s.Pauses[0].ID, "yes")
				}
				if s, err = th.Invoke(b.Context(), next); err != nil || !s.Done() {
					b.Fatal(err)
				}
				if err := th.Delete(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStream measures a run whose events are read.
func BenchmarkStream(b *testing.B) {
	n := 1001
	g := loop(b, n, nil)
	b.ReportAllocs()
	for b.Loop() {
		events := 0
		for _, err := range g.Stream(b.Context(), benchMessages.Put("in")) {
			if err != nil {
				b.Fatal(err)
			}
			events++
		}
		require.GreaterOrEqual(b, events, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
}

// BenchmarkFanOut measures a superstep of n sent tasks.
func BenchmarkFanOut(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			gb := graph.New("fan", benchMessages, benchCount)
			gb.Node("split", func(context.Context, state.View) (state.Update, error) {
				u := make(state.Update, n)
				for i := range u {
					u[i] = graph.Send("work", benchCount.Put(i))
				}
				return u, nil
			})
			gb.Node("work", func(_ context.Context, s state.View) (state.Update, error) {
				return state.Update{benchMessages.Put(benchText)}, nil
			})
			gb.Edge(graph.Start, "split")
			gb.Destinations("split", "work")
			g := compile(b, gb, graph.Options{})
			b.ReportAllocs()
			for b.Loop() {
				s, err := g.Invoke(b.Context())
				if err != nil || benchMessages.Len(s) != n {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
		})
	}
}
