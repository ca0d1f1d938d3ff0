package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// TestHandoverThatDidNotEndIsAnError proves that the call of a sub-agent has an error as its result, in the request
// and in the stored conversation, if a new message arrives while the sub-agent asks a person, after it was cancelled,
// and after it failed.
func TestHandoverThatDidNotEndIsAnError(t *testing.T) {
	t.Parallel()
	own := state.Keyed("clerk_messages", llm.ByID)
	builds := map[string]func(t *testing.T, clerk func(*state.KeyedChannel[llm.Message]) *graph.Graph, model llm.Model, o agent.Options) *graph.Graph{
		"as a tool": func(t *testing.T, clerk func(*state.KeyedChannel[llm.Message]) *graph.Graph, model llm.Model, o agent.Options) *graph.Graph {
			o.Use = []agent.Middleware{agent.AsTool(agent.SubAgent{Agent: clerk(nil), Name: agent.HandoverPrefix + "clerk", Description: "It deletes."})}
			return newAgent(t, model, nil, o)
		},
		"member": func(t *testing.T, clerk func(*state.KeyedChannel[llm.Message]) *graph.Graph, model llm.Model, o agent.Options) *graph.Graph {
			g, err := agent.Supervisor("boss", model, nil, []agent.Member{{Agent: clerk(own), Description: "It deletes.", Messages: own}}, o)
			require.NoError(t, err)
			return g
		},
		"member with the whole conversation": func(t *testing.T, clerk func(*state.KeyedChannel[llm.Message]) *graph.Graph, model llm.Model, o agent.Options) *graph.Graph {
			g, err := agent.Supervisor("boss", model, nil, []agent.Member{{Agent: clerk(nil), Description: "It deletes."}}, o)
			require.NoError(t, err)
			return g
		},
	}
	failure := errors.New("the disk is full")
	for name, build := range builds {
		for how, work := range map[string]func(cancel context.CancelFunc) error{
			"asks":      nil,
			"cancelled": func(cancel context.CancelFunc) error { cancel(); return context.Canceled },
			"failed":    func(context.CancelFunc) error { return failure },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				clerk := func(messages *state.KeyedChannel[llm.Message]) *graph.Graph {
					remove := tools.New("remove", "Removes.", func(context.Context, struct{}) (string, error) { return "removed", work(cancel) })
					o := agent.Options{Messages: messages, Tools: tools.Options{OnError: tools.ReturnErrors}}
					if work == nil {
						o.Tools.Approval.Rule = tools.Named("remove")
					}
					g, err := agent.New("clerk", llmtest.NewScript(llmtest.Call("remove", `{}`)), newSet(t, remove), o)
					require.NoError(t, err)
					return g
				}
				model := llmtest.NewScript(llmtest.Calls(hands("clerk", "delete 7")), llmtest.Say("no"))
				th := build(t, clerk, model, agent.Options{Graph: memory(), Tools: tools.Options{OnError: tools.ReturnErrors}}).Thread("t")
				_, err := th.Invoke(ctx, agent.Messages.Put(llm.User("delete 7")))
				require.Equal(t, work == nil, err == nil, "%v", err)

				snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("did you delete it?")))
				require.NoError(t, err)
				for where, messages := range map[string][]llm.Message{"request": model.Requests()[1].Messages, "state": agent.Messages.Get(snap)} {
					var results []llm.Message
					for _, m := range messages {
						if m.Role == llm.RoleTool {
							results = append(results, m)
						}
					}
					require.Len(t, results, 1, where)
					assert.Equal(t, llm.StatusError, results[0].Status, where)
					assert.Contains(t, results[0].Text(), "not finished", where)
				}
			})
		}
	}
}

// TestStopKeepsTheResultOfAToolThatRan proves that if a middleware stops the run after the tool has run, the result of
// the call is the outcome that the middleware returns, or else the outcome of the tool. If the tool failed, the result
// does not say that the tool was not called.
func TestStopKeepsTheResultOfAToolThatRan(t *testing.T) {
	t.Parallel()
	stop := agent.Stop(llm.Assistant("done"))
	for name, tt := range map[string]struct {
		wrap func(out tools.Outcome) tools.Outcome
		fail error
		want string
	}{
		"the outcome of the tool":     {func(out tools.Outcome) tools.Outcome { return out }, nil, "tool:booked"},
		"no outcome":                  {func(tools.Outcome) tools.Outcome { return tools.Outcome{} }, nil, "tool:booked"},
		"its own outcome":             {func(out tools.Outcome) tools.Outcome { out.Message.Parts = []llm.Part{llm.Text("seat 7")}; return out }, nil, "tool:seat 7"},
		"a tool whose error is final": {func(out tools.Outcome) tools.Outcome { return out }, errors.New("no seats"), "tool:The tool gave no result: the run was stopped."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := tools.New("book", "Books.", func(context.Context, struct{}) (tools.Result, error) {
				return tools.Result{Text: "booked", Update: state.Update{trail.Put("booked")}}, tt.fail
			})
			m := agent.Middleware{Channels: []state.Handle{trail}, WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
				out, _ := next(ctx, c)
				return tt.wrap(out), stop
			}}
			call := llm.ToolCall{ID: "call_1", Name: "book", Arguments: json.RawMessage(`{}`)}
			g := newAgent(t, llmtest.NewScript(llmtest.Calls(call)), newSet(t, book), agent.Options{Use: []agent.Middleware{m}, Tools: tools.Options{OnError: tools.ReturnErrors}})
			w := watch(g.Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
			snap := w.snapshot(t)
			assert.Equal(t, "user:go | assistant | "+tt.want+" | assistant:done", roles(snap))
			assert.Equal(t, tt.fail == nil, len(trail.Get(snap)) == 1, "the writes of the tool")
			assert.Equal(t, agent.Stopped, agent.Result.Get(snap).Reason)
			assert.Equal(t, 1, strings.Count(w.kinds(), string(agent.ChunkToolFinished)), "the call ends once: %s", w.kinds())
		})
	}
}

// TestStopKeepsTheResultOfAToolThatGoesElsewhere proves for a tool that returns a Goto or a Send: if a middleware stops
// the run, the result and the other writes of the tool are stored, and the target does not run.
func TestStopKeepsTheResultOfAToolThatGoesElsewhere(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]state.Write{"goto": graph.Goto(agent.ModelNode), "send": graph.SendOver(agent.ToolsNode)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			book := tools.New("book", "Books.", func(context.Context, struct{}) (tools.Result, error) {
				return tools.Result{Text: "booked", Update: state.Update{trail.Put("booked"), next}}, nil
			})
			m := agent.Middleware{Channels: []state.Handle{trail}, WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
				out, err := next(ctx, c)
				require.NoError(t, err)
				return out, agent.Stop(llm.Assistant("done"))
			}}
			model := llmtest.NewScript(llmtest.Call("book", `{}`))
			w := watch(newAgent(t, model, newSet(t, book), agent.Options{Use: []agent.Middleware{m}}).Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
			snap := w.snapshot(t)
			assert.Equal(t, "user:go | assistant | tool:booked | assistant:done", roles(snap))
			assert.Equal(t, []string{"booked"}, trail.Get(snap))
			assert.Len(t, model.Requests(), 1)
			assert.Equal(t, 1, strings.Count(w.kinds(), string(agent.ChunkToolFinished)), w.kinds())
		})
	}
}

// TestStopEndsACallThatItsMiddlewareAnswered proves that the stream has the end of a call if its middleware did not call
// the tool, and stopped the run with an outcome of its own.
func TestStopEndsACallThatItsMiddlewareAnswered(t *testing.T) {
	t.Parallel()
	m := agent.Middleware{WrapTool: func(_ context.Context, c agent.ToolCall, _ agent.ToolFunc) (tools.Outcome, error) {
		return tools.Outcome{Message: llm.ToolResult(c.Call, "cached")}, agent.Stop(llm.Assistant("done"))
	}}
	set := newSet(t, tools.New("add", "Adds.", add))
	w := watch(newAgent(t, llmtest.NewScript(llmtest.Call("add", `{"a":1,"b":2}`)), set, agent.Options{Use: []agent.Middleware{m}}).Stream(t.Context(), agent.Messages.Put(llm.User("go"))))
	assert.Equal(t, "user:go | assistant | tool:cached | assistant:done", roles(w.snapshot(t)))
	assert.Contains(t, w.kinds(), agent.ChunkToolFinished)
}

// TestStopAroundAHandoffStaysWithTheAgent proves that an agent of a swarm keeps the conversation if a middleware stops the
// run after the call of its Handoff.
func TestStopAroundAHandoffStaysWithTheAgent(t *testing.T) {
	t.Parallel()
	m := agent.Middleware{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		out, err := next(ctx, c)
		require.NoError(t, err)
		return out, agent.Stop(llm.Assistant("done"))
	}}
	other := llmtest.NewScript(llmtest.Say("never"))
	a, err := agent.New("a", llmtest.NewScript(llmtest.Call(agent.HandoverPrefix+"b", `{}`)), nil, agent.Options{Use: []agent.Middleware{m, agent.Handoff("b", "It helps.")}})
	require.NoError(t, err)
	b, err := agent.New("b", other, nil, agent.Options{})
	require.NoError(t, err)
	g, err := agent.Swarm("swarm", []*graph.Graph{a, b}, agent.SwarmOptions{})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:The tool was not called: the run was stopped. | assistant:done", roles(snap))
	assert.Empty(t, agent.Active.Get(snap))
	assert.Empty(t, other.Requests())
}

// TestStopAroundAHandoverDoesNotStartTheSubAgent proves that a sub-agent does not run if a middleware stops the run
// after its call.
func TestStopAroundAHandoverDoesNotStartTheSubAgent(t *testing.T) {
	t.Parallel()
	sub := llmtest.NewScript(llmtest.Say("never"))
	m := agent.Middleware{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		out, err := next(ctx, c)
		if err != nil {
			return out, err
		}
		return out, agent.Stop(llm.Assistant("done"))
	}}
	aide, err := agent.New("aide", sub, nil, agent.Options{})
	require.NoError(t, err)
	g := newAgent(t, llmtest.NewScript(calls("aide", "a")), nil, agent.Options{Use: []agent.Middleware{m, agent.AsTool(agent.SubAgent{Agent: aide, Description: "It helps."})}})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:The tool was not called: the run was stopped. | assistant:done", roles(snap))
	assert.Empty(t, sub.Requests())
}
