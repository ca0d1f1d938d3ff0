package otelgraph

import (
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/graph"
)

// scopeName is the name of the instrumentation.
const scopeName = "github.com/weft-go/weft/graph/otelgraph"

// Options configures a [Telemetry]. The zero value uses the global providers of OpenTelemetry.
type Options struct {
	// Traces and Metrics are the providers. Nil means the global provider. To record only one of
	// the two, set the other one to the provider of its noop package.
	Traces  trace.TracerProvider
	Metrics metric.MeterProvider
	// Propagator passes traces through the queue of a server. Nil means W3C trace context and
	// baggage.
	Propagator propagation.TextMapPropagator
	// Content says that spans have the messages and the tools of requests to models, and the
	// arguments and results of tools. They may be personal and large. The data of images and files
	// is never recorded, but their URLs are.
	Content bool
}

// A Telemetry traces and measures graphs. It is safe for concurrent use.
type Telemetry struct {
	tracer     trace.Tracer
	meter      metric.Meter
	metrics    *instruments
	propagator propagation.TextMapPropagator
	content    bool
	known      sync.Map // labels by [2]string, so that supersteps need not make them
}

// New returns a telemetry.
func New(o Options) *Telemetry {
	if o.Traces == nil {
		o.Traces = otel.GetTracerProvider()
	}
	if o.Metrics == nil {
		o.Metrics = otel.GetMeterProvider()
	}
	if o.Propagator == nil {
		o.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	meter := o.Metrics.Meter(scopeName, metric.WithSchemaURL(semconv.SchemaURL))
	return &Telemetry{
		tracer: o.Traces.Tracer(scopeName, trace.WithSchemaURL(semconv.SchemaURL)),
		meter:  meter, metrics: newInstruments(meter), propagator: o.Propagator, content: o.Content,
	}
}

// Graph returns options with the hooks of the telemetry, for [graph.Builder.Compile] and for the
// options of agents and flows. It is enough to use Graph for the outermost graph, whose subgraphs
// and agents are traced too. The hooks that the options already have are called inside the hooks of
// the telemetry.
func (t *Telemetry) Graph(o graph.Options) graph.Options {
	o.Hooks = (&graph.Hooks{Run: t.run, Step: t.step, Task: t.task, Retry: retry, Stop: stop}).Around(o.Hooks)
	return o
}

// labels are the attributes of a metric.
type labels interface {
	metric.AddOption
	metric.RecordOption
}

// graphLabels returns the attributes of the metrics of a graph.
func (t *Telemetry) graphLabels(name string) labels {
	return t.labels([2]string{name}, graphKey.String(name))
}

// stepLabels returns the attributes of the metrics of a superstep.
func (t *Telemetry) stepLabels(name, outcome string) labels {
	return t.labels([2]string{name, outcome}, graphKey.String(name), outcomeKey.String(outcome))
}

func (t *Telemetry) labels(key [2]string, attrs ...attribute.KeyValue) labels {
	if known, ok := t.known.Load(key); ok {
		return known.(labels)
	}
	made := metric.WithAttributeSet(attribute.NewSet(attrs...))
	t.known.Store(key, made)
	return made
}
