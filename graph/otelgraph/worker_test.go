package otelgraph_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
)

// TestTasksInAWorkerAreTraced proves that a task that an executor runs without the context of its run is traced with its
// models and subgraphs, below the span of the worker or as a trace of its own, also if it asks a question.
func TestTasksInAWorkerAreTraced(t *testing.T) {
	t.Parallel()
	below := []string{
		"invoke_workflow outer outcome=paused",
		"  superstep outcome=paused",
		"job",
		"  task sub outcome=paused",
		"    invoke_workflow inner outcome=paused",
		"      superstep outcome=paused",
		"        task ask outcome=paused",
		"          chat echo outcome=done",
	}
	alone := []string{
		"invoke_workflow outer outcome=paused",
		"  superstep outcome=paused",
		"task sub outcome=paused",
		"  invoke_workflow inner outcome=paused",
		"    superstep outcome=paused",
		"      task ask outcome=paused",
		"        chat echo outcome=done",
	}
	type enter func(context.Context, trace.Span) context.Context
	for name, tt := range map[string]struct {
		job  enter // returns the context of the worker with the given span; nil for no span
		want []string
	}{
		"below a span": {trace.ContextWithSpan, below},
		"below a span of another process": {func(ctx context.Context, s trace.Span) context.Context {
			return trace.ContextWithRemoteSpanContext(ctx, s.SpanContext())
		}, below},
		"without a span": {nil, alone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(otelgraph.Options{})
			asked := graph.NewInterrupt[string, string]("asked")
			g := newOuter(t, r.Telemetry, asked, func(_ context.Context, g *graph.Graph, s graph.TaskSet) error {
				ctx := context.Background()
				if tt.job != nil {
					_, span := r.provider.Tracer("test").Start(ctx, "job")
					defer span.End()
					ctx = tt.job(ctx, span)
				}
				return g.RunTasks(ctx, s)
			})
			snap, err := g.Thread("t").Invoke(t.Context(), graph.Begin())
			require.NoError(t, err)
			require.Len(t, snap.Pauses, 1)
			spans := r.take()
			assert.Equal(t, tt.want, tree(spans, "weft.outcome"))
			first := only(t, spans, "task ask")

			snap, err = g.Thread("t").Invoke(t.Context(), asked.Answer(snap.Pauses[0].ID, "yes"))
			require.NoError(t, err)
			assert.Equal(t, "yes", text.Get(snap))
			spans = r.take()
			second := only(t, spans, "task ask")
			require.Len(t, second.Links, 1)
			assert.Equal(t, first.SpanContext.SpanID(), second.Links[0].SpanContext.SpanID())
			if tt.job != nil {
				assert.Empty(t, only(t, spans, "job").Links, "the task has the link")
			}
			assert.Len(t, r.points(t, "gen_ai.client.operation.duration"), 1, "one model, whose requests are counted")
		})
	}
}

// TestTasksInAWorkerContinueTheTraceOfTheRun proves that the context of Execute has the span of the superstep: an executor that sends
// its trace context with a task, by a propagator of OpenTelemetry, continues the trace of the run in the worker.
func TestTasksInAWorkerContinueTheTraceOfTheRun(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	asked := graph.NewInterrupt[string, string]("asked")
	g := newOuter(t, r.Telemetry, asked, func(ctx context.Context, g *graph.Graph, s graph.TaskSet) error {
		sent := propagation.MapCarrier{} // the headers of the message to the worker
		propagation.TraceContext{}.Inject(ctx, sent)
		return g.RunTasks(propagation.TraceContext{}.Extract(context.Background(), sent), s)
	})
	_, err := g.Thread("t").Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	assert.Equal(t, []string{
		"invoke_workflow outer outcome=paused",
		"  superstep outcome=paused",
		"    task sub outcome=paused",
		"      invoke_workflow inner outcome=paused",
		"        superstep outcome=paused",
		"          task ask outcome=paused",
		"            chat echo outcome=done",
	}, tree(r.take(), "weft.outcome"))
}

// TestTasksInAWorkerAreSampled proves that a task in a worker without a span is not traced if the SDK does not sample it.
func TestTasksInAWorkerAreSampled(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	telemetry := otelgraph.New(otelgraph.Options{
		Traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter), sdktrace.WithSampler(sdktrace.NeverSample())), Metrics: noop.NewMeterProvider(),
	})
	asked := graph.NewInterrupt[string, string]("asked")
	g := newOuter(t, telemetry, asked, func(_ context.Context, g *graph.Graph, s graph.TaskSet) error {
		return g.RunTasks(context.Background(), s)
	})
	snap, err := g.Thread("t").Invoke(t.Context(), graph.Begin())
	require.NoError(t, err)
	snap, err = g.Thread("t").Invoke(t.Context(), asked.Answer(snap.Pauses[0].ID, "yes"))
	require.NoError(t, err)
	assert.Equal(t, "yes", text.Get(snap))
	assert.Empty(t, exporter.GetSpans())
}

// newOuter returns a graph with an executor that calls run for each set of tasks, with the worker's build of the graph. Its
// subgraph asks a model and then a person.
func newOuter(t *testing.T, telemetry *otelgraph.Telemetry, asked *graph.Interrupt[string, string], run func(context.Context, *graph.Graph, graph.TaskSet) error) *graph.Graph {
	t.Helper()
	inner := graph.New("inner", text)
	inner.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		model := llm.Named(llmtest.Echo{}, llm.ModelName{Provider: "test", Model: "echo"})
		if _, err := llm.Generate(ctx, model, llm.Request{Messages: []llm.Message{llm.User("hi")}}); err != nil {
			return nil, err
		}
		answer, err := asked.Wait(ctx, "go on?")
		return state.Update{text.Put(answer)}, err
	})
	inner.Edge(graph.Start, "ask")
	b := graph.New("outer", text)
	b.Subgraph("sub", compile(t, inner, graph.Options{}))
	b.Edge(graph.Start, "sub")
	store := memcheckpoint.New(memcheckpoint.Options{})
	worker := compile(t, b, telemetry.Graph(graph.Options{Checkpoints: store}))
	executor := &graph.Executor{Execute: func(ctx context.Context, sets []graph.TaskSet) error {
		for _, s := range sets {
			if err := run(ctx, worker, s); err != nil {
				return err
			}
		}
		return nil
	}}
	return compile(t, b, telemetry.Graph(graph.Options{Checkpoints: store, Executor: executor}))
}
