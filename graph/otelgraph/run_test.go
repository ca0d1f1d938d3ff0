package otelgraph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/flow"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/state"
)

// TestSpansNestInSubgraphsAndParallelTasks proves the shape of a trace, under Invoke and Stream.
func TestSpansNestInSubgraphsAndParallelTasks(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	notes := state.Append[string]("notes")
	inner := graph.New("inner", notes)
	inner.Node("look", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, span := r.provider.Tracer("test").Start(ctx, "own span")
		span.End()
		return state.Update{notes.Put("look")}, nil
	})
	inner.Edge(graph.Start, "look")
	b := graph.New("outer", notes)
	b.Node("plan", func(context.Context, state.View) (state.Update, error) {
		return state.Update{graph.Send("work"), graph.Send("work")}, nil
	})
	b.Node("work", func(context.Context, state.View) (state.Update, error) { return nil, nil })
	b.Subgraph("sub", compile(t, inner, graph.Options{}))
	b.Edge(graph.Start, "plan")
	b.Destinations("plan", "work")
	b.Edge("work", "sub")
	g := compile(t, b, r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	want := []string{
		"invoke_workflow outer outcome=done",
		"  superstep outcome=done tasks=1",
		"    task plan outcome=done task=plan",
		"  superstep outcome=done tasks=2",
		"    task work outcome=done task=work[0]",
		"    task work outcome=done task=work[1]",
		"  superstep outcome=done tasks=1",
		"    task sub outcome=done task=sub",
		"      invoke_workflow inner outcome=done",
		"        superstep outcome=done tasks=1",
		"          task look outcome=done task=look",
		"            own span",
	}
	_, err := g.Thread("one").Invoke(t.Context(), notes.Put("in"))
	require.NoError(t, err)
	spans := r.take()
	assert.Equal(t, want, tree(spans, "weft.outcome", "weft.task", "weft.tasks"))
	root := only(t, spans, "invoke_workflow outer")
	assert.Equal(t, trace.SpanKindInternal, root.SpanKind)
	attrs := attributesOf(root.Attributes)
	assert.NotEmpty(t, attrs["weft.run"])
	delete(attrs, "weft.run")
	assert.Equal(t, map[string]string{
		"openinference.span.kind": "AGENT", "gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "outer", "gen_ai.conversation.id": "one",
		"weft.graph": "outer", "weft.outcome": "done", "weft.resumed": "false", "weft.steps": "3",
	}, attrs)
	assert.Equal(t, "sub", attributesOf(only(t, spans, "invoke_workflow inner").Attributes)["weft.path"])

	for _, err := range g.Thread("two").Stream(t.Context(), notes.Put("in")) {
		require.NoError(t, err)
	}
	assert.Equal(t, want, tree(r.take(), "weft.outcome", "weft.task", "weft.tasks"))
	assert.Equal(t, []string{"graph=outer outcome=done: 2"}, r.points(t, "weft.run.duration"))
	assert.Equal(t, []string{"graph=outer: 0"}, r.points(t, "weft.run.active"))
	assert.Equal(t, []string{"graph=inner outcome=done: 2", "graph=outer outcome=done: 6"}, r.points(t, "weft.superstep.duration"))
}

// TestResumeIsLinkedToItsPause proves that a run which answers a question has a link to the run
// that asked it, and that the task has a link to its own span in that run. This holds in a subgraph
// and after a second question of the same task. Each run has a graph and a telemetry of its own, as
// in another process.
func TestResumeIsLinkedToItsPause(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, string]("ask")
	store := memcheckpoint.New(memcheckpoint.Options{})
	build := func(r *recording) *graph.Graph {
		inner := graph.New("inner", text)
		inner.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
			first, err := ask.WaitKey(ctx, "first", "1?")
			if err != nil {
				return nil, err
			}
			second, err := ask.WaitKey(ctx, "second", "2?")
			return state.Update{text.Put(first + second)}, err
		})
		inner.Edge(graph.Start, "ask")
		b := graph.New("outer", text)
		b.Subgraph("sub", compile(t, inner, graph.Options{}))
		b.Edge(graph.Start, "sub")
		return compile(t, b, r.Graph(graph.Options{Checkpoints: store}))
	}
	var before tracetest.SpanStubs
	input := state.Update{text.Put("in")}
	for i, open := range []int{1, 1, 0} {
		r := record(otelgraph.Options{}) // each run has a telemetry of its own, as in another process
		snap, err := build(r).Thread("t").Invoke(t.Context(), input...)
		require.NoError(t, err)
		require.Len(t, snap.Pauses, open)
		spans := r.take()
		outcome := "paused"
		if open == 0 {
			outcome = "done"
		}
		assert.Equal(t, []string{
			"invoke_workflow outer outcome=" + outcome,
			"  superstep outcome=" + outcome,
			"    task sub outcome=" + outcome,
			"      invoke_workflow inner outcome=" + outcome,
			"        superstep outcome=" + outcome,
			"          task ask outcome=" + outcome,
		}, tree(spans, "weft.outcome"))
		for _, name := range []string{"invoke_workflow outer", "task sub", "task ask"} {
			links := only(t, spans, name).Links
			if i == 0 {
				assert.Empty(t, links)
				continue
			}
			want := only(t, before, name).SpanContext
			require.Len(t, links, 1, name)
			assert.Equal(t, want.TraceID(), links[0].SpanContext.TraceID(), name)
			assert.Equal(t, want.SpanID(), links[0].SpanContext.SpanID(), name)
			if name == "invoke_workflow outer" {
				assert.Equal(t, want.TraceID().String(), attributesOf(only(t, spans, name).Attributes)["weft.pause.trace_id"])
			}
		}
		if open > 0 {
			events := only(t, spans, "invoke_workflow outer").Events
			require.Len(t, events, 1)
			assert.Equal(t, map[string]string{
				"weft.pause": "question", "weft.node": "sub", "weft.interrupt": "ask", "weft.question": snap.Pauses[0].ID,
			}, attributesOf(events[0].Attributes))
			assert.Equal(t, []string{"graph=outer interrupt=ask: 1"}, r.points(t, "weft.pauses"))
			input = state.Update{ask.Answer(snap.Pauses[0].ID, "yes")}
		}
		before = spans
	}
}

// TestResumeIsLinkedToItsStaticPause proves that a run which resumes after a static pause has a link to the
// run that paused, with a store in memory and in SQLite, and that no other run has one. Each run has a
// graph and a telemetry of its own, as in another process.
func TestResumeIsLinkedToItsStaticPause(t *testing.T) {
	t.Parallel()
	file, err := sqlitecheckpoint.Open(t.Context(), sqlitecheckpoint.Memory, sqlitecheckpoint.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, file.Close()) })
	for name, store := range map[string]checkpoint.Store{"memory": memcheckpoint.New(memcheckpoint.Options{}), "sqlite": file} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var before tracetest.SpanStubs
			input := state.Update{text.Put("in")}
			for i, open := range []int{1, 1, 0, 1} {
				r := record(otelgraph.Options{}) // each run has a telemetry of its own, as in another process
				b := graph.New("g", text)
				for _, node := range []string{"first", "second"} {
					b.Node(node, func(context.Context, state.View) (state.Update, error) { return nil, nil })
				}
				b.Edge(graph.Start, "first")
				b.Edge("first", "second")
				o := graph.Options{Checkpoints: store, PauseBefore: []string{"first"}, PauseAfter: []string{"first"}}
				snap, err := compile(t, b, r.Graph(o)).Thread("t").Invoke(t.Context(), input...)
				require.NoError(t, err)
				require.Len(t, snap.Pauses, open)
				spans := r.take()
				root := only(t, spans, "invoke_workflow g")
				if i == 0 || i == 3 { // a new turn resumes nothing
					assert.Empty(t, root.Links)
				} else {
					want := only(t, before, "invoke_workflow g").SpanContext
					require.Len(t, root.Links, 1)
					assert.Equal(t, want.TraceID(), root.Links[0].SpanContext.TraceID())
					assert.Equal(t, want.SpanID(), root.Links[0].SpanContext.SpanID())
					assert.Equal(t, want.TraceID().String(), attributesOf(root.Attributes)["weft.pause.trace_id"])
				}
				before, input = spans, nil
				if i == 2 {
					input = state.Update{text.Put("again")}
				}
			}
		})
	}
}

// TestUnsampledRunsHaveNoLinks proves that a run has no link if the run that paused was not sampled, even
// if an earlier run that paused in the same task was sampled.
func TestUnsampledRunsHaveNoLinks(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, string]("ask")
	store := memcheckpoint.New(memcheckpoint.Options{})
	input := state.Update{text.Put("in")}
	for i, sampled := range []bool{true, false, true} {
		r := record(otelgraph.Options{})
		telemetry := r.Telemetry
		if !sampled {
			telemetry = otelgraph.New(otelgraph.Options{
				Traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.exporter), sdktrace.WithSampler(sdktrace.NeverSample())), Metrics: noop.NewMeterProvider(),
			})
		}
		b := graph.New("g", text)
		b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
			if _, err := ask.WaitKey(ctx, "1", "?"); err != nil {
				return nil, err
			}
			_, err := ask.WaitKey(ctx, "2", "?")
			return nil, err
		})
		b.Edge(graph.Start, "n")
		snap, err := compile(t, b, telemetry.Graph(graph.Options{Checkpoints: store})).Thread("t").Invoke(t.Context(), input...)
		require.NoError(t, err)
		spans := r.take()
		if !sampled {
			assert.Empty(t, spans)
		} else {
			assert.Empty(t, only(t, spans, "invoke_workflow g").Links)
			assert.Empty(t, only(t, spans, "task n").Links)
		}
		if i < 2 {
			require.Len(t, snap.Pauses, 1)
			input = state.Update{ask.Answer(snap.Pauses[0].ID, "yes")}
		}
	}
}

// TestParallelQuestionsAreLinkedToTheirOwnPause proves that if two tasks ask in one run, and two later runs
// answer one question each, both later runs have a link to the run that asked, and the task of the last answer
// has a link to its own span in that run.
func TestParallelQuestionsAreLinkedToTheirOwnPause(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	ask := graph.NewInterrupt[string, string]("ask")
	notes := state.Append[string]("notes")
	b := graph.New("g", notes)
	for _, name := range []string{"a", "b"} {
		b.Node(name, func(ctx context.Context, _ state.View) (state.Update, error) {
			answer, err := ask.Wait(ctx, name)
			return state.Update{notes.Put(answer)}, err
		})
		b.Edge(graph.Start, name)
	}
	th := compile(t, b, r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})).Thread("t")
	snap, err := th.Invoke(t.Context(), notes.Put("in"))
	require.NoError(t, err)
	first := r.take()
	_, err = th.Invoke(t.Context(), ask.Answer(snap.Pauses[0].ID, "a"))
	require.NoError(t, err)
	second := r.take()
	assert.Equal(t, []string{"invoke_workflow g", "  superstep", "    task a"}, tree(second))
	_, err = th.Invoke(t.Context(), ask.Answer(snap.Pauses[1].ID, "b"))
	require.NoError(t, err)
	third := r.take()
	asked := only(t, first, "invoke_workflow g").SpanContext.SpanID()
	for _, spans := range []tracetest.SpanStubs{second, third} {
		root := only(t, spans, "invoke_workflow g")
		require.Len(t, root.Links, 1)
		assert.Equal(t, asked, root.Links[0].SpanContext.SpanID())
	}
	assert.Equal(t, only(t, first, "task b").SpanContext.SpanID(), only(t, third, "task b").Links[0].SpanContext.SpanID())
}

// TestFailuresAreRecorded proves the outcome, the kind of the error and the status of the spans of a
// run whose node fails, panics or runs too long, and of a run that is cancelled.
func TestFailuresAreRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		node    func(cancel context.CancelFunc) graph.NodeFunc
		outcome string
		kind    string
		status  codes.Code
	}{
		"error": {
			node: func(context.CancelFunc) graph.NodeFunc {
				return func(context.Context, state.View) (state.Update, error) {
					return nil, fmt.Errorf("looking: %w", errors.New("broken"))
				}
			},
			outcome: "failed", kind: "*errors.errorString", status: codes.Error,
		},
		"panic": {
			node: func(context.CancelFunc) graph.NodeFunc {
				return func(context.Context, state.View) (state.Update, error) { panic("broken") }
			},
			outcome: "failed", kind: "panic", status: codes.Error,
		},
		"timeout": {
			node: func(context.CancelFunc) graph.NodeFunc {
				return node.Timeout(1, func(ctx context.Context, _ state.View) (state.Update, error) {
					<-ctx.Done()
					return nil, ctx.Err()
				})
			},
			outcome: "failed", kind: "timeout", status: codes.Error,
		},
		"cancelled": {
			node: func(cancel context.CancelFunc) graph.NodeFunc {
				return func(ctx context.Context, _ state.View) (state.Update, error) {
					cancel()
					<-ctx.Done()
					return nil, ctx.Err()
				}
			},
			outcome: "cancelled", kind: "canceled", status: codes.Unset,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(otelgraph.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b := graph.New("g", text)
			b.Node("n", c.node(cancel))
			b.Edge(graph.Start, "n")
			g := compile(t, b, r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
			_, err := g.Thread("t").Invoke(ctx, text.Put("in"))
			require.Error(t, err)
			spans := r.take()
			require.Len(t, spans, 3)
			for _, s := range spans {
				attrs := attributesOf(s.Attributes)
				assert.Equal(t, c.outcome, attrs["weft.outcome"], s.Name)
				assert.Equal(t, c.kind, attrs["error.type"], s.Name)
				assert.Equal(t, c.status, s.Status.Code, s.Name)
			}
			assert.Equal(t, []string{"error.type=" + c.kind + " graph=g outcome=" + c.outcome + ": 1"}, r.points(t, "weft.run.duration"))
		})
	}
}

// TestReaderThatLeavesCancelsTheRun proves that all spans end when the reader leaves the loop over a stream.
func TestReaderThatLeavesCancelsTheRun(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	b := graph.New("g", text)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
		graph.Emit(ctx, "begun")
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.Edge(graph.Start, "n")
	g := compile(t, b, r.Graph(graph.Options{}))
	for e, err := range g.Stream(t.Context()) {
		require.NoError(t, err)
		if _, ok := e.(graph.Emitted); ok {
			break
		}
	}
	assert.Equal(t, []string{
		"invoke_workflow g outcome=cancelled", "  superstep outcome=cancelled", "    task n outcome=cancelled",
	}, tree(r.take(), "weft.outcome"))
	assert.Equal(t, []string{"graph=g: 0"}, r.points(t, "weft.run.active"))
}

// TestConflictIsCounted proves that a run which does not get its thread has a span and is counted.
func TestConflictIsCounted(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	var g *graph.Graph
	b := graph.New("g", text)
	b.Node("n", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := g.Thread("t").Invoke(ctx, text.Put("again"))
		assert.ErrorIs(t, err, checkpoint.ErrConflict)
		return nil, nil
	})
	b.Edge(graph.Start, "n")
	g = compile(t, b, r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}))
	_, err := g.Thread("t").Invoke(t.Context(), text.Put("in"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"invoke_workflow g outcome=done",
		"  superstep outcome=done",
		"    task n outcome=done",
		"      invoke_workflow g outcome=failed error.type=conflict",
	}, tree(r.take(), "weft.outcome", "error.type"))
	assert.Equal(t, []string{"graph=g: 1"}, r.points(t, "weft.lease.conflicts"))
}

// TestRetriesAreEventsOfTheTask proves that failed attempts are in the span of the task, also of a
// task of a flow.
func TestRetriesAreEventsOfTheTask(t *testing.T) {
	t.Parallel()
	policy := node.RetryPolicy{Attempts: 3, Initial: -1}
	failTwice := func() func() error {
		calls := 0
		return func() error {
			if calls++; calls < 3 {
				return fmt.Errorf("attempt %d", calls)
			}
			return nil
		}
	}
	check := func(t *testing.T, r *recording, span string) {
		t.Helper()
		events := only(t, r.take(), span).Events
		require.Len(t, events, 2)
		for i, e := range events {
			assert.Equal(t, "weft.retry", e.Name)
			assert.Equal(t, map[string]string{
				"weft.attempt": fmt.Sprint(i + 1), "exception.message": fmt.Sprintf("attempt %d", i+1), "error.type": "*errors.errorString",
			}, attributesOf(e.Attributes))
		}
	}
	t.Run("node", func(t *testing.T) {
		t.Parallel()
		r, work := record(otelgraph.Options{}), failTwice()
		b := graph.New("g", text)
		b.Node("n", node.Retry(policy, func(context.Context, state.View) (state.Update, error) { return nil, work() }))
		b.Edge(graph.Start, "n")
		_, err := compile(t, b, r.Graph(graph.Options{})).Invoke(t.Context())
		require.NoError(t, err)
		check(t, r, "task n")
	})
	t.Run("flow", func(t *testing.T) {
		t.Parallel()
		r, work := record(otelgraph.Options{}), failTwice()
		f, err := flow.New("f", func(ctx context.Context, in string) (string, error) {
			return flow.Do(ctx, "work", flow.Retry(policy, func(context.Context) (string, error) { return in, work() }))
		}, r.Graph(graph.Options{}))
		require.NoError(t, err)
		_, err = f.Graph.Invoke(t.Context(), f.Input("in"))
		require.NoError(t, err)
		check(t, r, "task work")
	})
}

// TestOwnHooksAreKept proves that the hooks of the options are called inside the spans.
func TestOwnHooksAreKept(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	var inSpan []bool
	note := func(ctx context.Context) { inSpan = append(inSpan, trace.SpanContextFromContext(ctx).IsValid()) }
	own := &graph.Hooks{
		Run: func(ctx context.Context, _ graph.Running) (context.Context, func(graph.Outcome)) {
			note(ctx)
			return ctx, nil
		},
		Step: func(ctx context.Context, _ graph.Running) (context.Context, func(graph.Outcome)) {
			note(ctx)
			return ctx, func(graph.Outcome) { note(ctx) }
		},
		Task: func(ctx context.Context, _ graph.Running) (context.Context, func(graph.Outcome)) {
			note(ctx)
			return ctx, nil
		},
		Retry: func(ctx context.Context, _ int, _ error) { note(ctx) },
	}
	calls := 0
	b := graph.New("g", text)
	b.Node("n", node.Retry(node.RetryPolicy{Initial: -1}, func(context.Context, state.View) (state.Update, error) {
		if calls++; calls == 1 {
			return nil, errors.New("once")
		}
		return nil, nil
	}))
	b.Edge(graph.Start, "n")
	_, err := compile(t, b, r.Graph(graph.Options{Hooks: own})).Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true, true, true, true}, inSpan)
}
