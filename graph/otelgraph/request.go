package otelgraph

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// waitedKey is the context key of the time for which a run waited.
type waitedKey struct{}

// SaveTrace returns the trace context of a request, for the option SaveTrace of a server. It takes the
// trace context from the span of a handler around the server, such as a handler of otelhttp. Without a
// span, it takes the trace context from the headers.
func (t *Telemetry) SaveTrace(r *http.Request) map[string]string {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = t.propagator.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	out := propagation.MapCarrier{}
	t.propagator.Inject(ctx, out)
	return out
}

// RunContext returns the context for a run of a server, for the option RunContext: the run belongs
// to the saved trace. It records the time for which the run waited in the queue.
func (t *Telemetry) RunContext(ctx context.Context, saved map[string]string, wait time.Duration) context.Context {
	ctx = t.propagator.Extract(ctx, propagation.MapCarrier(saved))
	t.metrics.wait.Record(ctx, wait.Seconds())
	return context.WithValue(ctx, waitedKey{}, wait)
}
