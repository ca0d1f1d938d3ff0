package otelgraph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var text = state.Last[string]("text")

// A recording is a telemetry that keeps its spans and metrics in memory.
type recording struct {
	*otelgraph.Telemetry
	provider *sdktrace.TracerProvider
	exporter *tracetest.InMemoryExporter
	reader   *metric.ManualReader
}

func record(o otelgraph.Options) *recording {
	r := &recording{exporter: tracetest.NewInMemoryExporter(), reader: metric.NewManualReader()}
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.exporter))
	o.Traces, o.Metrics = r.provider, metric.NewMeterProvider(metric.WithReader(r.reader))
	r.Telemetry = otelgraph.New(o)
	return r
}

// take returns the spans that have ended since the last call.
func (r *recording) take() tracetest.SpanStubs {
	spans := r.exporter.GetSpans()
	r.exporter.Reset()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return spans
}

// tree returns the spans as indented lines, each with the wanted attributes.
func tree(spans tracetest.SpanStubs, keys ...attribute.Key) []string {
	var lines []string
	var add func(parent trace.SpanID, indent string)
	add = func(parent trace.SpanID, indent string) {
		var children []string
		byLine := map[string][]trace.SpanID{}
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			line := indent + s.Name
			for _, k := range keys {
				if v, ok := valueOf(s, k); ok {
					line += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(k), "weft."), v.String())
				}
			}
			children = append(children, line)
			byLine[line] = append(byLine[line], s.SpanContext.SpanID())
		}
		if !slices.ContainsFunc(children, func(line string) bool { return !strings.HasPrefix(line, indent+"task ") }) {
			slices.Sort(children) // the tasks run concurrently
		}
		for _, line := range children { // spans with equal lines have equal subtrees in these tests
			lines = append(lines, line)
			add(byLine[line][0], indent+"  ")
			byLine[line] = byLine[line][1:]
		}
	}
	add(trace.SpanID{}, "")
	return lines
}

func valueOf(s tracetest.SpanStub, key attribute.Key) (attribute.Value, bool) {
	for _, a := range s.Attributes {
		if a.Key == key {
			return a.Value, true
		}
	}
	return attribute.Value{}, false
}

// only returns the span with a name, which must be the only one.
func only(t *testing.T, spans tracetest.SpanStubs, name string) tracetest.SpanStub {
	t.Helper()
	var found tracetest.SpanStubs
	for _, s := range spans {
		if s.Name == name {
			found = append(found, s)
		}
	}
	require.Len(t, found, 1, "spans %q", name)
	return found[0]
}

// attributesOf returns the attributes of a span as texts.
func attributesOf(attrs []attribute.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range attrs {
		out[string(a.Key)] = a.Value.String()
	}
	return out
}

// points returns the data points of a metric, each as text: its attributes, and its sum and count.
func (r *recording) points(t *testing.T, name string) []string {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(context.Background(), &data))
	var out []string
	line := func(set attribute.Set, value any) {
		var parts []string
		for _, a := range set.ToSlice() {
			parts = append(parts, strings.TrimPrefix(string(a.Key), "weft.")+"="+a.Value.String())
		}
		out = append(out, fmt.Sprintf("%s: %v", strings.Join(parts, " "), value))
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					line(p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					line(p.Attributes, p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					line(p.Attributes, fmt.Sprintf("%d in %d", p.Sum, p.Count))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					line(p.Attributes, p.Count)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

func compile(t testing.TB, b *graph.Builder, o graph.Options) *graph.Graph {
	t.Helper()
	g, err := b.Compile(o)
	require.NoError(t, err)
	return g
}

// put returns a node that writes a text.
func put(s string) graph.NodeFunc {
	return func(context.Context, state.View) (state.Update, error) { return state.Update{text.Put(s)}, nil }
}
