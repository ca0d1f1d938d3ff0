package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

var (
	benchMessages = state.Append[string]("messages")
	benchCount    = state.Sum[int]("count")
	benchText     = strings.Repeat("x", 64)
)

// loop is agent → branch → tools → agent … for n supersteps.
func loop(tb testing.TB, n int, store checkpoint.Store) *graph.Graph {
	tb.Helper()
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
	g, err := b.Compile(graph.Options{Checkpoints: store, MaxSteps: n + 1})
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

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

// BenchmarkPause is a run that asks and one that answers, beside the same two
// supersteps in two runs without a question.
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
			g, err := gb.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
			if err != nil {
				b.Fatal(err)
			}
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
		if events < n {
			b.Fatal(events)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/step")
}

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
			g, err := gb.Compile(graph.Options{})
			if err != nil {
				b.Fatal(err)
			}
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
