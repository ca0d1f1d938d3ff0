package otelgraph

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/graph"
)

// A mark names the spans of a run and of a task that asked a question, each as a traceparent.
type mark struct {
	Run  string `json:"run"`
	Task string `json:"task"`
}

var errNoMark = errors.New("no mark is stored")

// markKey returns the key under which a task stores its nth mark. A task that asks one question
// after another has a mark for each pause.
func markKey(n int) string { return "otelgraph: pause " + strconv.Itoa(n) }

// findMark returns the newest mark of a task and the number of its marks.
func findMark(ctx context.Context) (newest mark, count int) {
	for {
		m, err := graph.Once(ctx, markKey(count), func(context.Context) (mark, error) { return mark{}, errNoMark })
		if err != nil {
			return newest, count
		}
		newest, count = m, count+1
	}
}

// storeMark stores the nth mark of a task that asks a question.
func storeMark(ctx context.Context, n int, m mark) {
	// If the mark cannot be stored, Once fails the task, and with it the run.
	_, _ = graph.Once(ctx, markKey(n), func(context.Context) (mark, error) { return m, nil })
}

// unsampled returns the function for the end of a task without a span. If a resumed task pauses again,
// the function adds an empty mark, so that the next run is not linked to an earlier pause.
func unsampled(ctx context.Context, resumed bool) func(graph.Outcome) {
	if !resumed {
		return nil
	}
	return func(e graph.Outcome) {
		if !e.Paused {
			return
		}
		if _, n := findMark(ctx); n > 0 {
			storeMark(ctx, n, mark{})
		}
	}
}

// parentOf returns a span context in the form of the header traceparent.
func parentOf(sc trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier["traceparent"]
}

// linkTo returns a link to the span of a traceparent. It reports false if there is none.
func linkTo(parent string) (trace.Link, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	sc := trace.SpanContextFromContext(ctx)
	return trace.Link{SpanContext: sc}, sc.IsValid()
}
