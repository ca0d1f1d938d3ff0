package otelgraph_test

import (
	"context"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/state"
)

// discard is an exporter that drops spans.
type discard struct{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

// BenchmarkSupersteps measures a loop of two nodes, like W1 of the benchmarks, without hooks ("off"),
// and with hooks at three sampling rates: no run, one run of ten, and every run. The difference to
// "off" is the cost of tracing. Each superstep has two spans and one measurement.
func BenchmarkSupersteps(b *testing.B) {
	const steps = 1001
	count := state.Sum[int]("count")
	build := func(o graph.Options) *graph.Graph {
		g := graph.New("loop", count)
		step := func(context.Context, state.View) (state.Update, error) { return state.Update{count.Put(1)}, nil }
		g.Node("agent", step)
		g.Node("tools", step)
		g.Edge(graph.Start, "agent")
		g.Branch("agent", func(s state.View) (string, error) {
			if count.Get(s) >= steps {
				return graph.End, nil
			}
			return "tools", nil
		}, "tools", graph.End)
		g.Edge("tools", "agent")
		o.MaxSteps = steps + 1
		return compile(b, g, o)
	}
	for _, c := range []struct {
		name   string
		sample float64
	}{{"off", -1}, {"sampled=0", 0}, {"sampled=0.1", 0.1}, {"sampled=1", 1}} {
		b.Run(c.name, func(b *testing.B) {
			var o graph.Options
			if c.sample >= 0 {
				traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discard{}), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(c.sample))))
				defer func() { _ = traces.Shutdown(context.Background()) }()
				metrics := metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))
				o = otelgraph.New(otelgraph.Options{Traces: traces, Metrics: metrics}).Graph(o)
			}
			g := build(o)
			b.ReportAllocs()
			for b.Loop() {
				if s, err := g.Invoke(b.Context()); err != nil || count.Get(s) != steps {
					b.Fatal(fmt.Errorf("%d steps: %w", count.Get(s), err))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
		})
	}
}
