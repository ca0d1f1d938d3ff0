// Package tracing records the runs of an example with OpenTelemetry, if the environment names an
// endpoint. The variables are those of OpenTelemetry: OTEL_EXPORTER_OTLP_ENDPOINT, or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT for traces alone, OTEL_RESOURCE_ATTRIBUTES, and
// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true for the contents of messages.
package tracing

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/server"
)

// A Tracing records runs. Nil records nothing.
type Tracing struct {
	telemetry *otelgraph.Telemetry
	traces    *trace.TracerProvider
	metrics   *metric.MeterProvider
}

// Open returns a Tracing for the endpoint of the environment, or nil if the environment names none.
func Open(ctx context.Context, getenv func(string) string) (*Tracing, error) {
	all := getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	if !all && getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil, nil //nolint:nilnil // no endpoint is no error
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil {
		return nil, err
	}
	spans, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	t := &Tracing{traces: trace.NewTracerProvider(trace.WithResource(about), trace.WithBatcher(spans))}
	measured := []metric.Option{metric.WithResource(about)}
	if all {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return nil, errors.Join(err, t.traces.Shutdown(ctx))
		}
		measured = append(measured, metric.WithReader(metric.NewPeriodicReader(exporter)))
	}
	t.metrics = metric.NewMeterProvider(measured...)
	t.telemetry = otelgraph.New(otelgraph.Options{
		Traces: t.traces, Metrics: t.metrics,
		Content: getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") == "true",
	})
	return t, nil
}

// Graph returns options of a graph that record its runs.
func (t *Tracing) Graph(o graph.Options) graph.Options {
	if t == nil {
		return o
	}
	return t.telemetry.Graph(o)
}

// Server returns options with which a run of the server belongs to the trace of its request.
func (t *Tracing) Server(o server.Options) server.Options {
	if t != nil {
		o.SaveTrace, o.RunContext = t.telemetry.SaveTrace, t.telemetry.RunContext
	}
	return o
}

// Close exports the remaining spans and metrics.
func (t *Tracing) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(t.traces.Shutdown(ctx), t.metrics.Shutdown(ctx))
}
