package otelgraph_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/graph/otelgraph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

type query struct {
	Text string `json:"text"`
}

// scripted returns a named model with replies that have usage.
func scripted(replies ...llmtest.Reply) llm.Model {
	for i := range replies {
		replies[i] = replies[i].Costing(llm.Usage{Input: 10, Output: 5, Total: 15, Cached: 4, CacheWrite: 3, Reasoning: 2})
	}
	return llm.Named(llmtest.NewScript(replies...), llm.ModelName{Provider: "googleai", Model: "gemini-test"})
}

func newSet(t *testing.T, list ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(list...)
	require.NoError(t, err)
	return set
}

func search(fn func(context.Context, query) (string, error)) tools.Tool {
	return tools.New("search", "Searches.", fn)
}

// TestAgentSpans proves the spans of a supervisor and its member: models and tools are traced
// without a further option, with the attributes of the semantic conventions and without contents.
func TestAgentSpans(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	member, err := agent.New("searcher", scripted(llmtest.Call("search", `{"text":"looms"}`), llmtest.Say("secret found")),
		newSet(t, search(func(ctx context.Context, _ query) (string, error) {
			_, span := r.provider.Tracer("test").Start(ctx, "own span")
			span.End()
			return "secret", nil
		})), agent.Options{})
	require.NoError(t, err)
	g, err := agent.Supervisor("boss", scripted(llmtest.Call("transfer_to_searcher", `{"task":"secret"}`), llmtest.Say("secret done")),
		nil, []agent.Member{{Agent: member, Description: "Searches."}}, agent.Options{
			Graph: r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}),
		})
	require.NoError(t, err)
	_, err = g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("secret?")))
	require.NoError(t, err)
	spans := r.take()
	assert.Equal(t, []string{
		"invoke_workflow boss",
		"  superstep",
		"    task agent",
		"      chat gemini-test",
		"  superstep",
		"    task tools",
		"      execute_tool transfer_to_searcher",
		"  superstep",
		"    task searcher",
		"      invoke_workflow searcher",
		"        superstep",
		"          task agent",
		"            chat gemini-test",
		"        superstep",
		"          task tools",
		"            execute_tool search",
		"              own span",
		"        superstep",
		"          task agent",
		"            chat gemini-test",
		"  superstep",
		"    task agent",
		"      chat gemini-test",
	}, tree(spans))
	var chats, calls int
	for _, s := range spans {
		attrs := attributesOf(s.Attributes)
		for _, v := range attrs {
			assert.NotContains(t, v, "secret", s.Name)
		}
		switch attrs["gen_ai.operation.name"] {
		case "chat":
			chats++
			assert.Equal(t, trace.SpanKindClient, s.SpanKind)
			assert.NotEmpty(t, attrs["gen_ai.response.time_to_first_chunk"])
			delete(attrs, "gen_ai.response.time_to_first_chunk")
			assert.Contains(t, []string{`["stop"]`, `["tool_call"]`}, attrs["gen_ai.response.finish_reasons"])
			delete(attrs, "gen_ai.response.finish_reasons")
			assert.Equal(t, map[string]string{
				"gen_ai.operation.name": "chat", "gen_ai.provider.name": "gcp.gemini", "gen_ai.request.model": "gemini-test",
				"gen_ai.request.stream": "true", "gen_ai.conversation.id": "t", "weft.outcome": "done",
				"gen_ai.usage.input_tokens": "10", "gen_ai.usage.output_tokens": "5", "gen_ai.usage.cache_read.input_tokens": "4",
				"gen_ai.usage.cache_creation.input_tokens": "3", "gen_ai.usage.reasoning.output_tokens": "2",
			}, attrs)
		case "execute_tool":
			calls++
			assert.NotEmpty(t, attrs["gen_ai.tool.call.id"])
			assert.Equal(t, "function", attrs["gen_ai.tool.type"])
		}
	}
	assert.Equal(t, 4, chats)
	assert.Equal(t, 2, calls)
	assert.Equal(t, []string{
		"gen_ai.operation.name=chat gen_ai.provider.name=gcp.gemini gen_ai.request.model=gemini-test gen_ai.token.type=input: 40 in 4",
		"gen_ai.operation.name=chat gen_ai.provider.name=gcp.gemini gen_ai.request.model=gemini-test gen_ai.token.type=output: 20 in 4",
	}, r.points(t, "gen_ai.client.token.usage"))
	assert.Equal(t, []string{
		"gen_ai.operation.name=chat gen_ai.provider.name=gcp.gemini gen_ai.request.model=gemini-test: 4",
	}, r.points(t, "gen_ai.client.operation.duration"))
}

// TestContentIsRecordedOnRequest proves the form of messages, tools, arguments and results.
func TestContentIsRecordedOnRequest(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{Content: true})
	g, err := agent.New("a", scripted(llmtest.Call("search", `{"text":"looms"}`), llmtest.Say("Looms weave.")),
		newSet(t, search(func(context.Context, query) (string, error) { return "a loom", nil })),
		agent.Options{System: "Be short.", Graph: r.Graph(graph.Options{})})
	require.NoError(t, err)
	_, err = g.Invoke(t.Context(), agent.Messages.Put(llm.User("What?", llm.Image("image/png", []byte("data")), llm.ImageURL("https://example.com/a.png"))))
	require.NoError(t, err)
	spans := r.take()
	call := attributesOf(only(t, spans, "execute_tool search").Attributes)
	assert.Equal(t, "a loom", call["gen_ai.tool.call.result"])
	assert.JSONEq(t, `{"text":"looms"}`, call["gen_ai.tool.call.arguments"])
	id := call["gen_ai.tool.call.id"]
	var inputs, outputs []string
	for _, s := range spans {
		if attrs := attributesOf(s.Attributes); attrs["gen_ai.operation.name"] == "chat" {
			inputs, outputs = append(inputs, attrs["gen_ai.input.messages"]), append(outputs, attrs["gen_ai.output.messages"])
			assert.Contains(t, attrs["gen_ai.tool.definitions"], `[{"type":"function","name":"search","description":"Searches.","parameters":{`)
		}
	}
	require.Len(t, inputs, 2)
	first := `{"role":"system","parts":[{"type":"text","content":"Be short."}]},
		{"role":"user","parts":[{"type":"text","content":"What?"},
			{"type":"blob","mime_type":"image/png","modality":"image","content":""},
			{"type":"uri","modality":"image","uri":"https://example.com/a.png"}]}`
	turn := `"role":"assistant","parts":[{"type":"tool_call","id":"` + id + `","name":"search","arguments":{"text":"looms"}}],"finish_reason":"tool_call"`
	assert.JSONEq(t, "["+first+"]", inputs[0])
	assert.JSONEq(t, "[{"+turn+"}]", outputs[0])
	assert.JSONEq(t, "["+first+`,{"name":"a",`+turn+`},
		{"role":"tool","name":"search","parts":[{"type":"tool_call_response","id":"`+id+`","response":"a loom"}]}]`, inputs[1])
	assert.JSONEq(t, `[{"role":"assistant","parts":[{"type":"text","content":"Looms weave."}],"finish_reason":"stop"}]`, outputs[1])
}

// TestRequestSettingsAreAttributes proves the attributes of the settings of a request, for a model
// that a node asks.
func TestRequestSettingsAreAttributes(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	half, seed := 0.5, int64(7)
	g := asking(t, r, llmtest.Echo{}, llm.Request{
		Messages: []llm.Message{llm.User("hi")}, Temperature: &half, TopP: &half, MaxTokens: 9, Seed: &seed, Stop: []string{"x"},
		Format: llm.Format{Type: llm.FormatJSON},
	})
	_, err := g.Invoke(t.Context())
	require.NoError(t, err)
	attrs := attributesOf(only(t, r.take(), "chat").Attributes)
	delete(attrs, "gen_ai.response.time_to_first_chunk")
	delete(attrs, "gen_ai.response.finish_reasons")
	for _, key := range []string{"gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"} {
		delete(attrs, key)
	}
	assert.Equal(t, map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "unknown", "gen_ai.request.stream": "true", "gen_ai.request.temperature": "0.5",
		"gen_ai.request.top_p": "0.5", "gen_ai.request.max_tokens": "9", "gen_ai.request.seed": "7", "gen_ai.request.stop_sequences": `["x"]`,
		"gen_ai.output.type": "json", "weft.outcome": "done",
	}, attrs)
}

// asking returns a graph whose node asks a model.
func asking(t *testing.T, r *recording, m llm.Model, q llm.Request) *graph.Graph {
	t.Helper()
	b := graph.New("g", text)
	b.Node("ask", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := llm.Generate(ctx, m, q)
		return nil, err
	})
	b.Edge(graph.Start, "ask")
	return compile(t, b, r.Graph(graph.Options{}))
}

// TestFailedRequest proves the status and the metrics of a request that fails.
func TestFailedRequest(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	busy := llm.Classify(llm.Error{Provider: "test", Status: http.StatusTooManyRequests, Message: "slow down"})
	m := llm.Named(llmtest.NewScript(llmtest.Reply{Err: busy}), llm.ModelName{Provider: "test", Model: "m"})
	_, err := asking(t, r, m, llm.Request{Messages: []llm.Message{llm.User("hi")}}).Invoke(t.Context())
	require.ErrorIs(t, err, llm.ErrRateLimit)
	span := only(t, r.take(), "chat m")
	assert.Equal(t, codes.Error, span.Status.Code)
	assert.Equal(t, "rate_limit", attributesOf(span.Attributes)["error.type"])
	assert.Equal(t, []string{
		"error.type=rate_limit gen_ai.operation.name=chat gen_ai.provider.name=test gen_ai.request.model=m: 1",
	}, r.points(t, "gen_ai.client.operation.duration"))
}

// TestToolOutcomes proves the spans and the counter of tools that fail, panic, report a failure or
// ask a person.
func TestToolOutcomes(t *testing.T) {
	t.Parallel()
	ask := graph.NewInterrupt[string, string]("ask")
	for name, c := range map[string]struct {
		tool          func(context.Context, query) (tools.Result, error)
		outcome, kind string
	}{
		"fails":   {func(context.Context, query) (tools.Result, error) { return tools.Result{}, errors.New("broken") }, "failed", "*errors.errorString"},
		"panics":  {func(context.Context, query) (tools.Result, error) { panic("broken") }, "failed", "panic"},
		"reports": {func(context.Context, query) (tools.Result, error) { return tools.Result{Text: "no", Failed: true}, nil }, "failed", "*errors.errorString"},
		"asks": {func(ctx context.Context, _ query) (tools.Result, error) {
			answer, err := ask.Wait(ctx, "?")
			return tools.Result{Text: answer}, err
		}, "paused", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(otelgraph.Options{})
			g, err := agent.New("a", scripted(llmtest.Call("search", `{"text":"x"}`), llmtest.Say("done")), newSet(t, tools.New("search", "Searches.", c.tool)),
				agent.Options{Graph: r.Graph(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})})
			require.NoError(t, err)
			_, err = g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			attrs := attributesOf(only(t, r.take(), "execute_tool search").Attributes)
			assert.Equal(t, c.outcome, attrs["weft.outcome"])
			assert.Equal(t, c.kind, attrs["error.type"])
			if c.outcome == "failed" {
				assert.Equal(t, []string{"error.type=" + c.kind + " gen_ai.tool.name=search: 1"}, r.points(t, "weft.tool.errors"))
			} else {
				assert.Empty(t, r.points(t, "weft.tool.errors"))
			}
		})
	}
}

// TestGraphInsideANodeIsTracedOnce proves that a graph on which a node calls Invoke is part of the
// trace, and that each of its requests has one span.
func TestGraphInsideANodeIsTracedOnce(t *testing.T) {
	t.Parallel()
	r := record(otelgraph.Options{})
	inner := asking(t, r, llmtest.Echo{}, llm.Request{Messages: []llm.Message{llm.User("hi")}})
	b := graph.New("outer", text)
	b.Node("run", func(ctx context.Context, _ state.View) (state.Update, error) {
		_, err := inner.Invoke(ctx)
		return nil, err
	})
	b.Edge(graph.Start, "run")
	_, err := compile(t, b, r.Graph(graph.Options{})).Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{
		"invoke_workflow outer", "  superstep", "    task run",
		"      invoke_workflow g", "        superstep", "          task ask", "            chat",
	}, tree(r.take()))
}

// TestRequestThatTakesTooLongHasFailed proves that the span of a request has an error if the time limit of its node
// ended the request: it does not count as cancelled.
func TestRequestThatTakesTooLongHasFailed(t *testing.T) {
	t.Parallel()
	waits := llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			<-ctx.Done()
			yield(llm.Chunk{}, ctx.Err())
		}
	})
	for name, limit := range map[string]node.TimeoutPolicy{
		"in all": {Run: time.Millisecond}, "without a sign of life": {Idle: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := record(otelgraph.Options{})
				b := graph.New("g", text)
				b.Node("ask", limit.Wrap(func(ctx context.Context, _ state.View) (state.Update, error) {
					_, err := llm.Generate(ctx, waits, llm.Request{Messages: []llm.Message{llm.User("hi")}})
					return nil, err
				}))
				b.Edge(graph.Start, "ask")
				_, err := compile(t, b, r.Graph(graph.Options{})).Invoke(t.Context())
				require.ErrorIs(t, err, graph.ErrTimeout)
				assert.Equal(t, codes.Error, only(t, r.take(), "chat").Status.Code)
			})
		})
	}
}

// TestEachModelOfAFallbackHasASpan proves that the model that failed and the model that answered have a span each, with
// their names, and that the tokens are measured once, also with llm.Retry around the fallback.
func TestEachModelOfAFallbackHasASpan(t *testing.T) {
	t.Parallel()
	primary := func() llm.Model {
		return llm.Named(llmtest.NewScript(llmtest.Reply{Err: llm.ErrOverloaded}), llm.ModelName{Provider: "openai", Model: "primary"})
	}
	for name, build := range map[string]func(o agent.Options) (*graph.Graph, error){
		"llm": func(o agent.Options) (*graph.Graph, error) {
			return agent.New("a", llm.Retry(llm.Fallback(primary(), scripted(llmtest.Say("hi"))), llm.RetryPolicy{}), nil, o)
		},
		"middleware": func(o agent.Options) (*graph.Graph, error) {
			o.Use = []agent.Middleware{middleware.Fallback(scripted(llmtest.Say("hi")))}
			return agent.New("a", primary(), nil, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := record(otelgraph.Options{})
			g, err := build(agent.Options{Graph: r.Graph(graph.Options{})})
			require.NoError(t, err)
			_, err = g.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
			require.NoError(t, err)
			spans := r.take()
			assert.Equal(t, []string{"invoke_workflow a", "  superstep", "    task agent", "      chat primary", "      chat gemini-test"}, tree(spans))
			failed, answered := attributesOf(only(t, spans, "chat primary").Attributes), attributesOf(only(t, spans, "chat gemini-test").Attributes)
			assert.Equal(t, "failed overloaded openai", failed["weft.outcome"]+" "+failed["error.type"]+" "+failed["gen_ai.provider.name"])
			assert.Equal(t, "done gcp.gemini", answered["weft.outcome"]+" "+answered["gen_ai.provider.name"])
			assert.Len(t, r.points(t, "gen_ai.client.token.usage"), 2, "input and output")
		})
	}
}
