package otelgraph

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// errResult is the recorded error of a tool whose result has Failed set.
var errResult = errors.New("the tool reported a failure")

// tool runs a tool in a span.
func (t *Telemetry) tool(ctx context.Context, call llm.ToolCall, run func(context.Context) (tools.Result, error)) (tools.Result, error) {
	ctx, span := t.tracer.Start(ctx, "execute_tool "+call.Name, trace.WithAttributes(
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(call.Name), semconv.GenAIToolType("function"),
		semconv.GenAIToolCallID(call.ID),
	))
	if t.content && span.IsRecording() {
		span.SetAttributes(semconv.GenAIToolCallArgumentsKey.String(string(call.Arguments)))
	}
	ended := false
	defer func() {
		if !ended { // a function of the run's options panicked
			span.End()
		}
	}()
	result, err := run(ctx)
	ended = true
	failure, paused := err, graph.IsPause(err)
	switch {
	case paused:
		failure = nil
	case err == nil && result.Failed:
		failure = errResult
	case err == nil && t.content && span.IsRecording():
		span.SetAttributes(semconv.GenAIToolCallResultKey.String(resultText(result)))
	}
	outcome := outcomeOf(ctx, failure, paused)
	if outcome == outcomeFailed {
		t.metrics.toolFails.Add(ctx, 1, metric.WithAttributes(semconv.GenAIToolName(call.Name), failureOf(failure)))
	}
	endSpan(span, outcome, failure)
	return result, err
}

func resultText(r tools.Result) string {
	if len(r.Parts) == 0 {
		return r.Text
	}
	m := llm.Message{Role: llm.RoleUser, Parts: r.Parts}
	if r.Text != "" {
		m.Parts = append([]llm.Part{llm.Text(r.Text)}, r.Parts...)
	}
	return jsonOf(newMessage(m).Parts)
}
