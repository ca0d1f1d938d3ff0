package otelgraph

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// activeKey is the context key of the activeRun. A subgraph has the activeRun of its outermost graph.
type activeKey struct{}

// An activeRun is a run in progress.
type activeRun struct {
	telemetry *Telemetry
	span      trace.Span
	worker    bool // RunTasks runs tasks of a run of another process; span belongs to its caller

	mu     sync.Mutex
	linked map[string]bool // the traceparents to which the span has links
}

// enter returns the context of the run. The argument outer is the run whose node starts this run, or nil.
func (a *activeRun) enter(ctx context.Context, outer *activeRun) context.Context {
	ctx = context.WithValue(ctx, activeKey{}, a)
	if outer == nil || outer.telemetry != a.telemetry { // else the wrappers are in the context
		ctx = tools.WithWrap(llm.WithWrap(ctx, a.telemetry.model), a.telemetry.tool)
	}
	return ctx
}

// link links the span of the run to the span of an earlier run. The attribute is for backends that
// keep no links. In a worker, only the tasks have links.
func (a *activeRun) link(parent string) {
	if a.worker {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.linked[parent] {
		return
	}
	if a.linked == nil {
		a.linked = map[string]bool{}
	}
	a.linked[parent] = true
	if link, ok := linkTo(parent); ok {
		a.span.AddLink(link)
		a.span.SetAttributes(pausedKey.String(link.SpanContext.TraceID().String()))
	}
}

// run is the hook of a run.
func (t *Telemetry) run(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
	attrs := make([]attribute.KeyValue, 0, 7)
	attrs = append(attrs, kindAgent, semconv.GenAIOperationNameInvokeWorkflow, semconv.GenAIWorkflowName(r.Graph), graphKey.String(r.Graph), runKey.String(r.Run))
	if r.Thread != "" {
		attrs = append(attrs, semconv.GenAIConversationID(r.Thread))
	}
	if r.Path != "" {
		attrs = append(attrs, pathKey.String(r.Path))
	}
	ctx, span := t.tracer.Start(ctx, "invoke_workflow "+r.Graph, trace.WithAttributes(attrs...))
	if r.Path != "" {
		return ctx, func(e graph.Outcome) { endRun(ctx, span, &e) }
	}
	outer, _ := ctx.Value(activeKey{}).(*activeRun)
	if wait, ok := ctx.Value(waitedKey{}).(time.Duration); ok && outer == nil && span.IsRecording() { // a run that a node calls did not wait
		span.SetAttributes(waitKey.Float64(wait.Seconds()))
	}
	active := &activeRun{telemetry: t, span: span}
	ctx = active.enter(ctx, outer)
	begin := time.Now()
	label := t.graphLabels(r.Graph)
	t.metrics.active.Add(ctx, 1, label)
	return ctx, func(e graph.Outcome) {
		t.metrics.active.Add(ctx, -1, label)
		t.measureRun(ctx, r.Graph, time.Since(begin), &e)
		if e.Resumed && e.Stopped != "" && span.IsRecording() {
			active.link(e.Stopped)
		}
		endRun(ctx, span, &e)
	}
}

// stop is the hook of a static pause. It returns the traceparent of the run, if the run is sampled.
func stop(ctx context.Context) string {
	if active, _ := ctx.Value(activeKey{}).(*activeRun); active != nil && active.span.IsRecording() {
		return parentOf(active.span.SpanContext())
	}
	return ""
}

// endRun ends the span of a run or of a call of a subgraph.
func endRun(ctx context.Context, span trace.Span, e *graph.Outcome) {
	if span.IsRecording() {
		span.SetAttributes(stepsKey.Int(e.Steps), resumedKey.Bool(e.Resumed))
		if e.Previous != "" {
			span.SetAttributes(previousKey.String(e.Previous))
		}
		for _, p := range e.Pauses {
			attrs := []attribute.KeyValue{attribute.String("weft.pause", string(p.Kind)), nodeKey.String(p.Node)}
			if p.Interrupt != "" {
				attrs = append(attrs, interruptKey.String(p.Interrupt), questionKey.String(p.ID))
			}
			span.AddEvent("weft.pause", trace.WithAttributes(attrs...))
		}
	}
	endSpan(span, outcomeOf(ctx, e.Err, len(e.Pauses) > 0), e.Err)
}

// measureRun records the metrics of a run.
func (t *Telemetry) measureRun(ctx context.Context, name string, d time.Duration, e *graph.Outcome) {
	attrs := []attribute.KeyValue{graphKey.String(name), outcomeKey.String(outcomeOf(ctx, e.Err, len(e.Pauses) > 0))}
	if e.Err != nil {
		attrs = append(attrs, failureOf(e.Err))
	}
	t.metrics.runs.Record(ctx, d.Seconds(), metric.WithAttributes(attrs...))
	for _, p := range e.Pauses {
		t.metrics.pauses.Add(ctx, 1, metric.WithAttributes(graphKey.String(name), interruptKey.String(p.Interrupt)))
	}
	if errors.Is(e.Err, checkpoint.ErrConflict) {
		t.metrics.conflicts.Add(ctx, 1, metric.WithAttributes(graphKey.String(name)))
	}
}

// step is the hook of a superstep.
func (t *Telemetry) step(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
	begin := time.Now()
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() { // the run was not sampled
		return ctx, func(e graph.Outcome) {
			t.metrics.steps.Record(ctx, time.Since(begin).Seconds(), t.stepLabels(r.Graph, outcomeOf(ctx, e.Err, e.Paused)))
		}
	}
	ctx, span = t.tracer.Start(ctx, "superstep", trace.WithAttributes(kindChain, graphKey.String(r.Graph), stepKey.Int(r.Step)))
	return ctx, func(e graph.Outcome) {
		outcome := outcomeOf(ctx, e.Err, e.Paused)
		t.metrics.steps.Record(ctx, time.Since(begin).Seconds(), t.stepLabels(r.Graph, outcome))
		if span.IsRecording() {
			span.SetAttributes(tasksKey.Int(e.Tasks))
		}
		endSpan(span, outcome, e.Err)
	}
}

// task is the hook of a task. In a worker of an executor, the context has no run. The parent of the task's span is then
// the span of the caller of RunTasks, which may be a span of another process. Without such a span, the task begins a trace.
func (t *Telemetry) task(ctx context.Context, r graph.Running) (context.Context, func(graph.Outcome)) {
	around := trace.SpanFromContext(ctx)
	first := false // whether no span of this process is around the task
	active, _ := ctx.Value(activeKey{}).(*activeRun)
	if active == nil {
		caller := around.SpanContext()
		first = !caller.IsValid() || caller.IsRemote()
		active = &activeRun{telemetry: t, span: around, worker: true}
		ctx = active.enter(ctx, nil)
	}
	if !around.IsRecording() && !first {
		return ctx, unsampled(ctx, r.Resumed)
	}
	attrs := trace.WithAttributes(kindChain, graphKey.String(r.Graph), nodeKey.String(r.Node), taskKey.String(r.Task), stepKey.Int(r.Step), resumedKey.Bool(r.Resumed))
	marks := 0
	options := []trace.SpanStartOption{attrs}
	if r.Resumed {
		var newest mark
		if newest, marks = findMark(ctx); marks > 0 {
			if link, ok := linkTo(newest.Task); ok {
				options = append(options, trace.WithLinks(link))
			}
			active.link(newest.Run)
		}
	}
	name := r.Node
	if _, key, inner := strings.Cut(r.Task, "~"); inner { // a task of a flow
		name = key
	}
	ctx, span := t.tracer.Start(ctx, "task "+name, options...)
	if !span.IsRecording() { // the first span of a process may not be sampled
		return ctx, unsampled(ctx, r.Resumed)
	}
	return ctx, func(e graph.Outcome) {
		if e.Paused {
			storeMark(ctx, marks, mark{Run: parentOf(active.span.SpanContext()), Task: parentOf(span.SpanContext())})
		}
		endSpan(span, outcomeOf(ctx, e.Err, e.Paused), e.Err)
	}
}

// retry is the hook of a failed attempt.
func retry(ctx context.Context, attempt int, err error) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("weft.retry", trace.WithAttributes(attemptKey.Int(attempt), failureOf(err), semconv.ExceptionMessage(err.Error())))
	}
}
