package otelgraph_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/state"
)

// TestLogsHaveTraceIDs proves that a record which is logged with the context of a task has the ids of the
// task's span, and that a record without a span has no ids.
func TestLogsHaveTraceIDs(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	var out bytes.Buffer
	logger := slog.New(otelgraph.NewLogHandler(slog.NewJSONHandler(&out, nil))).With("service", "test")
	b := graph.New("g", text)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
		logger.InfoContext(ctx, "inside", "n", 1)
		logger.WithGroup("group").InfoContext(ctx, "grouped")
		return nil, nil
	})
	b.Edge(graph.Start, "n")
	_, err := compile(t, b, r.Graph(graph.Options{})).Invoke(t.Context())
	require.NoError(t, err)
	logger.Info("outside")
	type record struct {
		Message string `json:"msg"`
		Service string `json:"service"`
		Trace   string `json:"trace_id"`
		Span    string `json:"span_id"`
		Group   struct {
			Span string `json:"span_id"`
		} `json:"group"`
	}
	var records [3]record
	decoder := json.NewDecoder(&out)
	for i := range records {
		require.NoError(t, decoder.Decode(&records[i]))
		assert.Equal(t, "test", records[i].Service)
	}
	task := only(t, r.take(), "task n").SpanContext
	assert.Equal(t, task.TraceID().String(), records[0].Trace)
	assert.Equal(t, task.SpanID().String(), records[0].Span)
	assert.Equal(t, task.SpanID().String(), records[1].Group.Span)
	assert.Empty(t, records[2].Trace)
}

// TestTraceCrossesAQueue proves that a run with the saved trace of a request continues it, whether
// the request has headers of a trace or a handler around the server has begun a span.
func TestTraceCrossesAQueue(t *testing.T) {
	t.Parallel()
	const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := record(otelgraph.Options{})
	b := graph.New("g", text)
	b.Node("n", put("x"))
	b.Edge(graph.Start, "n")
	inner := compile(t, b, r.Graph(graph.Options{}))
	b = graph.New("outer", text)
	b.Node("call", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := inner.Invoke(ctx)
		return nil, err
	})
	b.Edge(graph.Start, "call")
	g := compile(t, b, r.Graph(graph.Options{}))
	run := func(request *http.Request) (trace.SpanContext, string) {
		saved := r.SaveTrace(request)
		_, err := g.Invoke(r.RunContext(t.Context(), saved, 1500*time.Millisecond))
		require.NoError(t, err)
		spans := r.take()
		assert.NotContains(t, attributesOf(only(t, spans, "invoke_workflow g").Attributes), "weft.queue_wait", "the run that the node calls")
		root := only(t, spans, "invoke_workflow outer")
		return root.Parent, attributesOf(root.Attributes)["weft.queue_wait"]
	}
	request := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	request.Header.Set("traceparent", header)
	parent, wait := run(request)
	assert.Equal(t, "b7ad6b7169203331", parent.SpanID().String())
	assert.Equal(t, "1.5", wait)

	ctx, span := r.provider.Tracer("test").Start(t.Context(), "POST")
	parent, _ = run(request.WithContext(ctx))
	assert.Equal(t, span.SpanContext().SpanID(), parent.SpanID())
	span.End()

	parent, _ = run(httptest.NewRequest(http.MethodPost, "/", http.NoBody))
	assert.False(t, parent.IsValid())
	assert.Equal(t, []string{": 3"}, r.points(t, "weft.run.queue.duration"))
}

// TestOpenPausesAreObserved proves that the gauge has the number that the function returns.
func TestOpenPausesAreObserved(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	require.NoError(t, r.ObserveOpenPauses(func(context.Context) (int64, error) { return 7, nil }))
	assert.Equal(t, []string{": 7"}, r.points(t, "weft.pauses.open"))
}
