package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// Every function of a middleware can ask a person, and a new build of the agent resumes with the answer.
// The model is not asked again, so the stored reply is the reply that the person saw.
func TestMiddlewareAsksAPerson(t *testing.T) {
	t.Parallel()
	fine := graph.NewInterrupt[string, bool]("fine")
	ask := func(ctx context.Context, text string) error {
		ok, err := fine.Wait(ctx, text)
		if err == nil && !ok {
			err = errors.New("refused")
		}
		return err
	}
	hook := func(ctx context.Context, r agent.Run) (state.Update, error) {
		return nil, ask(ctx, fmt.Sprint(r.Messages.Len(r.State), " messages"))
	}
	for name, c := range map[string]struct {
		m      agent.Middleware
		prompt string
	}{
		beforeAgent: {agent.Middleware{BeforeAgent: hook}, "1 messages"},
		beforeModel: {agent.Middleware{BeforeModel: func(ctx context.Context, r agent.Run) (state.Update, error) {
			if r.Turn == 2 {
				return nil, nil
			}
			return hook(ctx, r)
		}}, "1 messages"},
		wrapModel: {agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			first, err := next(ctx, c)
			if err != nil || c.Turn == 1 {
				return first, err
			}
			second, err := next(ctx, c)
			if err != nil {
				return second, err
			}
			return second, ask(ctx, first.Message.Text()+" or "+second.Message.Text())
		}}, "reply 2 or reply 3"},
		afterModel: {agent.Middleware{AfterModel: func(ctx context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
			if r.Turn == 1 {
				return nil, nil
			}
			return nil, ask(ctx, reply.Text())
		}}, "reply 2"},
		wrapTool: {agent.Middleware{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			if err := ask(ctx, c.Call.Name); err != nil {
				return tools.Outcome{}, err
			}
			return next(ctx, c)
		}}, "work"},
		afterAgent: {agent.Middleware{AfterAgent: hook}, "4 messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := memcheckpoint.New(memcheckpoint.Options{})
			model := llmtest.NewScript(llmtest.Call("work", `{}`), llmtest.Say("reply 2"), llmtest.Say("reply 3"), llmtest.Say("reply 4"))
			set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "result", nil }))
			thread := func() *graph.Thread {
				return newAgent(t, model, set, agent.Options{Use: []agent.Middleware{c.m}, Graph: graph.Options{Checkpoints: store}}).Thread("1")
			}
			snap, err := thread().Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			open, err := fine.Open(snap)
			require.NoError(t, err)
			require.Len(t, open, 1)
			assert.Equal(t, c.prompt, open[0].Prompt)
			snap, err = thread().Invoke(t.Context(), fine.Answer(open[0].ID, true))
			require.NoError(t, err)
			require.True(t, snap.Done())
			last := "reply 2"
			if name == wrapModel {
				last = "reply 3"
			}
			assert.Equal(t, "user:go | assistant | tool:result | assistant:"+last, roles(snap))
			assert.Equal(t, agent.Answered, agent.Result.Get(snap).Reason)
		})
	}
}

// A Stop from WrapTool ends the run after the other tool calls of the reply have ended.
func TestStopAroundAToolCallLetsOtherCallsEnd(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "result", nil }),
		tools.New("spend", "Spends.", func(context.Context, struct{}) (string, error) { return "spent", nil }))
	m := agent.Middleware{WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		if c.Call.Name == "spend" {
			return tools.Outcome{}, agent.Stop(llm.Assistant("The budget is spent."))
		}
		return next(ctx, c)
	}}
	script := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "spend"}, llm.ToolCall{Name: "work"}), llmtest.Say("again"))
	th := newAgent(t, script, set, agent.Options{Use: []agent.Middleware{m}, Graph: memory()}).Thread("1")
	snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:The tool was not called: the run was stopped. | tool:result | assistant:The budget is spent.", roles(snap))
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.Stopped, r.Reason)
	assert.Equal(t, 1, r.Turns)
	snap, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("once more")))
	require.NoError(t, err)
	assert.Equal(t, agent.Answered, agent.Result.Get(snap).Reason, "the next run is not stopped")
}

// A middleware that returns an outcome for another call, or for no call, fails the run.
func TestMiddlewareMustAnswerTheCall(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "result", nil }))
	for _, message := range []llm.Message{{}, llm.User("no"), llm.ToolResult(llm.ToolCall{ID: "other", Name: "work"}, "x")} {
		m := agent.Middleware{WrapTool: func(context.Context, agent.ToolCall, agent.ToolFunc) (tools.Outcome, error) {
			return tools.Outcome{Message: message}, nil
		}}
		_, err := newAgent(t, llmtest.NewScript(llmtest.Call("work", `{}`)), set, agent.Options{Use: []agent.Middleware{m}}).
			Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.ErrorIs(t, err, llm.ErrInvalid)
		require.ErrorContains(t, err, `of tool work`)
	}
}

// A middleware that always jumps reaches MaxTurns, even if it adds user messages. A new user message
// begins a new run.
func TestJumpsAreBoundedByMaxTurns(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]agent.Middleware{
		"before the model": {BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
			return state.Update{r.Messages.Put(llm.Relay("think"), llm.Relay("more"))}, agent.Jump(agent.ToolsNode)
		}},
		"after the model": {AfterModel: func(_ context.Context, r agent.Run, _ *llm.Message) (state.Update, error) {
			return state.Update{r.Messages.Put(llm.Relay("think"), llm.Relay("more"))}, agent.Jump(agent.ModelNode)
		}},
		"after the agent": {AfterAgent: func(_ context.Context, r agent.Run) (state.Update, error) {
			return state.Update{r.Messages.Put(llm.User("again"))}, agent.Jump(agent.ModelNode)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			th := newAgent(t, llmtest.Echo{}, nil, agent.Options{MaxTurns: 4, Use: []agent.Middleware{m}, Graph: memory()}).Thread("1")
			for range 2 {
				snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
				require.NoError(t, err)
				r := agent.Result.Get(snap)
				assert.Equal(t, agent.OutOfTurn, r.Reason)
				assert.Equal(t, 4, r.Turns)
			}
		})
	}
}

// If a Stop ends a run with an open tool call, the call gets a result, and each write is applied
// once.
func TestStopAppliesWritesOnce(t *testing.T) {
	t.Parallel()
	m := agent.Middleware{BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
		return state.Update{r.Messages.Put(llm.Assistant("", llm.ToolCall{ID: "1", Name: "work"}))}, agent.Stop(llm.Assistant("no"))
	}}
	snap, err := newAgent(t, llmtest.Echo{}, nil, agent.Options{Use: []agent.Middleware{m}}).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, "user:go | assistant | tool:The tool was not called: the run was stopped. | assistant:no", roles(snap))
}

// The usage of a run includes every reply of the model, even if a middleware did not use it. It does
// not include a reply of a middleware.
func TestUsageCountsEveryReplyOfTheModel(t *testing.T) {
	t.Parallel()
	m := agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		if c.Messages.Len(c.State) > 2 {
			cached := llm.Assistant("cached")
			cached.Usage = &llm.Usage{Input: 100}
			return agent.Reply{Message: cached}, nil
		}
		if _, err := next(ctx, c); err != nil {
			return agent.Reply{}, err
		}
		return next(ctx, c)
	}}
	model := llmtest.NewScript(llmtest.Say("a").Costing(llm.Usage{Input: 3}), llmtest.Say("b").Costing(llm.Usage{Input: 4}))
	th := newAgent(t, model, nil, agent.Options{Use: []agent.Middleware{m}, Graph: memory()}).Thread("1")
	for _, want := range []int64{7, 0} {
		snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
		assert.Equal(t, want, agent.Result.Get(snap).Usage.Total)
		assert.EqualValues(t, 7, agent.Usage.Get(snap).Total)
	}
}

// A jump to the tools runs the calls that a middleware wrote. They are not refused because an earlier
// reply had a refused call with the same id.
func TestJumpToToolsForgetsEarlierRefusals(t *testing.T) {
	t.Parallel()
	m := agent.Middleware{
		WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			c.Request.Tools = nil // so the call of the model is refused
			return next(ctx, c)
		},
		BeforeModel: func(_ context.Context, r agent.Run) (state.Update, error) {
			if r.Turn != 2 {
				return nil, nil
			}
			return state.Update{r.Messages.Put(llm.Assistant("", llm.ToolCall{ID: "1", Name: "work"}))}, agent.Jump(agent.ToolsNode)
		},
	}
	set := newSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "worked", nil }))
	g := newAgent(t, llmtest.NewScript(llmtest.Calls(llm.ToolCall{ID: "1", Name: "work"}), llmtest.Say("done")), set, agent.Options{Use: []agent.Middleware{m}})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, `user:go | assistant | tool:tool "work" is not available in this turn | assistant | tool:worked | assistant:done`, roles(snap))
}

// WrapTool runs for unknown tools, and not for tools that were not in the request.
func TestWrapToolSeesOfferedAndUnknownTools(t *testing.T) {
	t.Parallel()
	var seen []string
	m := agent.Middleware{
		WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			c.Request.Tools = c.Request.Tools[:1]
			return next(ctx, c)
		},
		WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			seen = append(seen, c.Call.Name)
			return next(ctx, c)
		},
	}
	do := func(context.Context, struct{}) (string, error) { return "done", nil }
	set := newSet(t, tools.New("a", "Works.", do), tools.New("b", "Works.", do))
	o := agent.Options{Use: []agent.Middleware{m}, Graph: graph.Options{MaxParallel: 1}}
	g := newAgent(t, llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "a"}, llm.ToolCall{Name: "b"}, llm.ToolCall{Name: "unknown"}), llmtest.Say("done")), set, o)
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "unknown"}, seen)
}

// AfterAgent does not run after a failure, and runs once at the end of the resumed run.
func TestAfterAgentRunsOnceAtTheEnd(t *testing.T) {
	t.Parallel()
	runs := 0
	m := agent.Middleware{AfterAgent: func(context.Context, agent.Run) (state.Update, error) { runs++; return nil, nil }}
	th := newAgent(t, llmtest.NewScript(llmtest.Fail(errors.New("no quota")), llmtest.Say("done")), nil, agent.Options{Use: []agent.Middleware{m}, Graph: memory()}).Thread("1")
	_, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorContains(t, err, "no quota")
	assert.Zero(t, runs)
	_, err = th.Invoke(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, runs)
}
