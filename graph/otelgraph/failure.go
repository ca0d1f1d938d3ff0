package otelgraph

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// kinds maps errors to values of error.type, in the order in which they are looked for.
var kinds = []struct {
	err  error
	name string
}{
	{graph.ErrTimeout, "timeout"},
	{tools.ErrTimeout, "timeout"},
	{graph.ErrMaxSteps, "max_steps"},
	{graph.ErrDrained, "drained"},
	{graph.ErrSuperseded, "superseded"},
	{graph.ErrRolledBack, "rolled_back"},
	{checkpoint.ErrConflict, "conflict"},
	{context.DeadlineExceeded, "deadline_exceeded"},
	{context.Canceled, "canceled"},
	{llm.ErrRateLimit, "rate_limit"},
	{llm.ErrOverloaded, "overloaded"},
	{llm.ErrTransport, "transport"},
	{llm.ErrAuth, "auth"},
	{llm.ErrBadRequest, "bad_request"},
	{llm.ErrContextTooLong, "context_too_long"},
	{llm.ErrContentFilter, "content_filter"},
	{llm.ErrEmpty, "empty_reply"},
	{llm.ErrMalformed, "malformed_reply"},
	{llm.ErrInvalid, "invalid_request"},
}

// failureOf returns the attribute error.type. It has few values: the name of a known error, the
// status of a provider, "panic", or the Go type of the innermost error.
func failureOf(err error) attribute.KeyValue {
	return semconv.ErrorTypeKey.String(kindOf(err))
}

func kindOf(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Status != 0 {
		return strconv.Itoa(e.Status)
	}
	_, inNode := errors.AsType[*graph.PanicError](err)
	_, inTool := errors.AsType[*tools.PanicError](err)
	if inNode || inTool {
		return "panic"
	}
	for {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner
			continue
		}
		joined, ok := errors.AsType[interface {
			error
			Unwrap() []error
		}](err)
		if !ok || len(joined.Unwrap()) == 0 {
			return fmt.Sprintf("%T", err)
		}
		err = joined.Unwrap()[0]
	}
}

// outcomeOf returns the outcome of a run, superstep, task, request or tool call that ended with err. If it
// was cancelled, drained, superseded or rolled back, it counts as cancelled. After a timeout, it counts as failed.
func outcomeOf(ctx context.Context, err error, paused bool) string {
	switch {
	case err == nil && paused:
		return outcomePaused
	case err == nil:
		return outcomeDone
	case errors.Is(err, graph.ErrTimeout), errors.Is(context.Cause(ctx), graph.ErrTimeout):
		return outcomeFailed
	case errors.Is(err, graph.ErrDrained), errors.Is(err, graph.ErrSuperseded), errors.Is(err, graph.ErrRolledBack),
		errors.Is(ctx.Err(), context.Canceled), errors.Is(err, context.Canceled):
		return outcomeCancelled
	}
	return outcomeFailed
}

// endSpan ends a span. The status of a span that was cancelled is not an error.
func endSpan(span trace.Span, outcome string, err error) {
	if span.IsRecording() {
		span.SetAttributes(outcomeKey.String(outcome))
		if err != nil {
			span.SetAttributes(failureOf(err))
		}
		if outcome == outcomeFailed {
			span.SetStatus(codes.Error, err.Error())
		}
	}
	span.End()
}
