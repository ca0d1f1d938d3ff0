package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// end returns an empty reply with a stop reason.
func end(reason llm.StopReason) llmtest.Reply {
	return llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkEnd, StopReason: reason, Usage: &llm.Usage{Input: 5, Total: 5}}}}
}

// stopping returns the reply with the given stop reason.
func stopping(reply llmtest.Reply, reason llm.StopReason) llmtest.Reply {
	reply.Message.StopReason = reason
	return reply
}

// TestRunEndsWithReason proves which Reason a run has for each kind of last reply, and
// which messages it stores.
func TestRunEndsWithReason(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		reply llmtest.Reply
		want  agent.Reason
		roles string
	}{
		{"answer", llmtest.Say("so"), agent.Answered, "user:go | assistant:so"},
		{"cut off", stopping(llmtest.Say("so and"), llm.StopLength), agent.CutOff, "user:go | assistant:so and"},
		{"cut off before it began", end(llm.StopLength), agent.CutOff, "user:go | assistant:I stopped: a token limit cut off the reply."},
		{"cut off in a call", llmtest.Reply{Chunks: []llm.Chunk{
			{Kind: llm.ChunkToolCall, ToolCall: llm.ToolCallDelta{Name: "add", Arguments: `{"a":`}},
			{Kind: llm.ChunkEnd, StopReason: llm.StopLength},
		}}, agent.CutOff, "user:go | assistant:I stopped: a token limit cut off the reply."},
		{"filtered", stopping(llmtest.Say("so"), llm.StopFilter), agent.Filtered, "user:go | assistant:so"},
		{"filtered all", end(llm.StopFilter), agent.Filtered, "user:go | assistant:I stopped: the provider refused or filtered the reply."},
		{
			"filtered with a call", stopping(llmtest.Call("add", `{"a":1,"b":2}`), llm.StopFilter), agent.Filtered,
			"user:go | assistant | tool:The tool was not called: the provider filtered the reply. | assistant:I stopped: the provider refused or filtered the reply.",
		},
		{"refused", llmtest.Fail(&llm.Error{Kind: llm.ErrContentFilter}), agent.Filtered, "user:go | assistant:I stopped: the provider refused or filtered the reply."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newAgent(t, llmtest.NewScript(tt.reply), newSet(t, tools.New("add", "Adds.", add)), agent.Options{})
			snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			r := agent.Result.Get(snap)
			assert.Equal(t, tt.want, r.Reason)
			assert.Equal(t, r.Reason == agent.Answered, r.Problem == "", "Problem is %q", r.Problem)
			assert.EqualValues(t, 1, r.Turns)
			got := roles(snap)
			assert.Equal(t, tt.roles, got)
		})
	}
}

// TestEmptyReplyFails proves that an empty reply without a stop reason is an error.
func TestEmptyReplyFails(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.NewScript(llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkText}, {Kind: llm.ChunkEnd}}}), nil, agent.Options{})
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.ErrorIs(t, err, llm.ErrEmpty)
}

// TestAnswerInLastTurnIsOutOfTurn proves that a run that ends in the last turn has the reason
// OutOfTurn, because the model could not call tools.
func TestAnswerInLastTurnIsOutOfTurn(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(llmtest.Call("add", `{"a":1,"b":1}`), llmtest.Say("enough"))
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{MaxTurns: 2})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.OutOfTurn, r.Reason)
	assert.EqualValues(t, 2, r.Turns)
}

// TestUsageIsSummed proves that Outcome has the usage of the run and Usage the sum of
// the thread, and that a reply without usage counts as zero.
func TestUsageIsSummed(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Call("add", `{"a":1,"b":1}`).Costing(llm.Usage{Input: 10, Output: 1}),
		llmtest.Say("2").Costing(llm.Usage{Input: 20, Output: 2}),
		llmtest.Say("unknown"),
		llmtest.Say("bye").Costing(llm.Usage{Input: 30, Output: 3}),
	)
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{Graph: memory()})
	th := g.Thread("t")
	want := []struct{ run, thread int64 }{{33, 33}, {0, 33}, {33, 66}}
	for i, w := range want {
		snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
		run, thread := agent.Result.Get(snap).Usage.Total, agent.Usage.Get(snap).Total
		assert.Equal(t, w.run, run, "tokens of run %d", i)
		assert.Equal(t, w.thread, thread, "tokens of the thread after run %d", i)
	}
}

// TestErrorOfInvalidMessageNamesRemedy proves that the error for invalid input names the message
// and the remedy, and does not report a panic.
func TestErrorOfInvalidMessageNamesRemedy(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.Echo{}, nil, agent.Options{Graph: memory()})
	_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi"), llm.Message{Parts: []llm.Part{llm.Text("hello")}}))
	require.ErrorIs(t, err, llm.ErrInvalid)
	for _, want := range []string{`agent "helper"`, "message 2 of the conversation", "no role", "create messages with llm.System, llm.User"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "panic")
	_, err = g.Thread("t").Snapshot(t.Context())
	require.ErrorIs(t, err, checkpoint.ErrNotFound)
}

// TestInvalidInputIsNotStored proves that a run with an invalid message fails, does not
// change the thread, and that the thread can be used afterwards.
func TestInvalidInputIsNotStored(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.Echo{}, nil, agent.Options{Graph: memory()})
	th := g.Thread("t")
	bad := llm.Message{Role: "wizard"}
	for _, before := range []int{0, 2} {
		_, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("hi"), bad))
		require.ErrorIs(t, err, llm.ErrInvalid)
		require.ErrorContains(t, err, fmt.Sprintf("message %d", before+2))
		snap, err := th.Snapshot(t.Context())
		if before == 0 {
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
		} else {
			require.NoError(t, err)
			require.Equal(t, before, agent.Messages.Len(snap))
		}
		snap, err = th.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
		require.NoError(t, err)
		assert.True(t, snap.Done())
	}
}

// TestInvalidToolCallsAreReportedToModel proves that a call with broken JSON, with wrong
// arguments or of an unknown tool has an error result, after which the model continues.
func TestInvalidToolCallsAreReportedToModel(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Call("add", `{"a":1,`), llmtest.Call("add", `{"a":"one"}`), llmtest.Call("fly", `{}`),
		llmtest.Call("add", `{"a":1,"b":2}`), llmtest.Say("3"),
	)
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{Graph: memory()})
	snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("1+2")))
	require.NoError(t, err)
	var got []string
	for _, m := range agent.Messages.All(snap) {
		if m.Role == llm.RoleTool {
			got = append(got, string(m.Status)+" "+m.Text())
		}
	}
	for i, want := range []string{"error the arguments for add are not JSON", "error invalid arguments", `error there is no tool "fly"`, "success 3"} {
		assert.True(t, strings.HasPrefix(got[i], want), "answer %d is %q, want %q", i, got[i], want)
	}
}

// TestPromptReadsState proves that a middleware can compute a part of the system prompt from
// the state, and that its error fails the run.
func TestPromptReadsState(t *testing.T) {
	t.Parallel()
	lang := state.Last[string]("language")
	script := llmtest.NewScript(llmtest.Say("γεια"))
	g := newAgent(t, script, nil, agent.Options{
		Channels: []state.Handle{lang},
		System:   "Be brief.",
		Use: []agent.Middleware{{Name: "language", System: "Be kind.", Prompt: func(_ context.Context, r agent.Run) (string, error) {
			if lang.Get(r.State) == "" {
				return "", errors.New("no language")
			}
			return "Answer in " + lang.Get(r.State), nil
		}}},
	})
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
	require.Error(t, err)
	require.ErrorContains(t, err, `middleware "language": prompt: no language`)
	_, err = g.Invoke(t.Context(), lang.Put("Greek"), agent.Messages.Put(llm.User("hi")))
	require.NoError(t, err)
	r := script.Requests()[0]
	assert.Len(t, r.Messages, 2, "the request is %v", r.Messages)
	assert.Equal(t, "Be brief.\n\nBe kind.\n\nAnswer in Greek", r.Messages[0].Text(), "the request is %v", r.Messages)
}

// TestModelAndToolsDependOnState proves that a middleware chooses the model and the tools of a
// turn by the state, and that a call of a removed tool has an error result.
func TestModelAndToolsDependOnState(t *testing.T) {
	t.Parallel()
	var deleted atomic.Int32
	set := newSet(t,
		tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil }),
		tools.New("delete", "Deletes.", func(context.Context, struct{}) (string, error) { deleted.Add(1); return "gone", nil }),
	)
	expert := state.Last[bool]("expert")
	clever := llmtest.NewScript(llmtest.Call("delete", `{}`), llmtest.Say("gone"))
	simple := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "delete"}, llm.ToolCall{Name: "look"}), llmtest.Say("no"))
	g := newAgent(t, simple, set, agent.Options{
		Channels: []state.Handle{expert},
		Use: []agent.Middleware{{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			if expert.Get(c.State) {
				c.Model = clever
			} else {
				c.Request.Tools = set.Select(tools.Query{Names: []string{"look"}}).Specs()
			}
			return next(ctx, c)
		}}},
	})
	snap, err := g.Invoke(t.Context(), expert.Put(false), agent.Messages.Put(llm.User("delete it")))
	require.NoError(t, err)
	got := roles(snap)
	assert.Equal(t, `user:delete it | assistant | tool:tool "delete" is not available in this turn | tool:seen | assistant:no`, got)
	assert.EqualValues(t, 0, deleted.Load())
	_, err = g.Invoke(t.Context(), expert.Put(true), agent.Messages.Put(llm.User("delete it")))
	require.NoError(t, err)
	assert.EqualValues(t, 1, deleted.Load(), "deleted %d times, %v", deleted.Load(), err)
}

// TestMiddlewareCannotAddTools proves that the run fails if a middleware adds a tool to the
// request that the agent does not have.
func TestMiddlewareCannotAddTools(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.Echo{}, nil, agent.Options{Use: []agent.Middleware{{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		c.Request.Tools = append(slices.Clip(c.Request.Tools), llm.ToolSpec{Name: "fly", Schema: json.RawMessage(`{"type":"object"}`)})
		return next(ctx, c)
	}}}})
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
	require.Error(t, err)
	require.ErrorContains(t, err, `"fly" of the request is not a tool of the agent`)
}

// TestErrorsOfMiddlewareFailRun proves that an error of a function of a middleware fails the run
// with an error that names the middleware and the function once.
func TestErrorsOfMiddlewareFailRun(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	fail := func(context.Context, agent.Run) (state.Update, error) { return nil, broken }
	pass := agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		return next(ctx, c)
	}}
	tests := map[string]agent.Options{
		`middleware "m": prompt: broken`:           {Use: []agent.Middleware{{Name: "m", Prompt: func(context.Context, agent.Run) (string, error) { return "", broken }}}},
		`middleware "m": before the agent: broken`: {Use: []agent.Middleware{{Name: "m", BeforeAgent: fail}}},
		`middleware "m": before the model: broken`: {Use: []agent.Middleware{{Name: "m", BeforeModel: fail}}},
		`middleware "m": after the agent: broken`:  {Use: []agent.Middleware{{Name: "m", AfterAgent: fail}}},
		`: middleware 2: model call: broken`: {Use: []agent.Middleware{pass, {WrapModel: func(context.Context, agent.ModelCall, agent.ModelFunc) (agent.Reply, error) {
			return agent.Reply{}, broken
		}}}},
		`middleware "m": after the model: broken`: {Use: []agent.Middleware{{Name: "m", AfterModel: func(context.Context, agent.Run, *llm.Message) (state.Update, error) {
			return nil, broken
		}}}},
		"a middleware made the reply invalid": {Use: []agent.Middleware{{AfterModel: func(_ context.Context, _ agent.Run, m *llm.Message) (state.Update, error) {
			m.Role = llm.RoleUser
			return nil, nil
		}}}},
	}
	for want, o := range tests {
		g := newAgent(t, llmtest.Echo{}, nil, o)
		_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User(strings.Repeat("long ", 100)), llm.User("hi")))
		require.Error(t, err)
		require.ErrorContains(t, err, want)
	}
}

// TestAfterModelChangesReply proves that AfterModel can remove a call, change the text of a
// reply and return writes.
func TestAfterModelChangesReply(t *testing.T) {
	t.Parallel()
	seen := state.Append[string]("seen")
	script := llmtest.NewScript(
		llmtest.Calls(llm.ToolCall{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)}, llm.ToolCall{Name: "drop"}),
		llmtest.Say("the password is 1234"),
	)
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{
		Channels: []state.Handle{seen},
		Use: []agent.Middleware{{AfterModel: func(_ context.Context, _ agent.Run, m *llm.Message) (state.Update, error) {
			m.ToolCalls = slices.DeleteFunc(m.ToolCalls, func(c llm.ToolCall) bool { return c.Name == "drop" })
			for i := range m.Parts {
				m.Parts[i].Text = strings.ReplaceAll(m.Parts[i].Text, "1234", "****")
			}
			return state.Update{seen.Put(m.Text())}, nil
		}}},
	})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	got := roles(snap)
	assert.Equal(t, "user:go | assistant | tool:3 | assistant:the password is ****", got)
	seenTexts := seen.Get(snap)
	assert.Len(t, seenTexts, 2)
}

type userID string

// TestToolsGetBoundValues proves that a tool gets values bound to the context, the running
// task and the state, and that the model cannot set them.
func TestToolsGetBoundValues(t *testing.T) {
	t.Parallel()
	type (
		threadID string
		planName string
	)
	plan := state.Last[string]("plan")
	set := newSet(t, tools.New("whoami", "Tells.", func(_ context.Context, in struct {
		User   tools.Bound[userID]
		Thread tools.Bound[threadID]
		Plan   tools.Bound[planName]
	},
	) (string, error) {
		return fmt.Sprint(in.User.Value(), " ", in.Thread.Value(), " ", in.Plan.Value()), nil
	}))
	script := llmtest.NewScript(llmtest.Calls(llm.ToolCall{Name: "whoami"}, llm.ToolCall{Name: "whoami", Arguments: json.RawMessage(`{"User":"eve"}`)}), llmtest.Say("ok"))
	g := newAgent(t, script, set, agent.Options{
		Channels: []state.Handle{plan},
		Tools: tools.Options{Bind: tools.Bindings{
			tools.Bind(func(ctx context.Context, _ state.View) (threadID, error) {
				r, _ := graph.FromContext(ctx)
				return threadID(r.Thread), nil
			}),
			tools.Bind(func(_ context.Context, s state.View) (planName, error) { return planName(plan.Get(s)), nil }),
		}},
		Graph: memory(),
	})
	ctx := tools.WithBound(t.Context(), userID("ann"))
	snap, err := g.Thread("t1").Invoke(ctx, plan.Put("gold"), agent.Messages.Put(llm.User("who am I?")))
	require.NoError(t, err)
	got := agent.Messages.Get(snap)
	assert.Equal(t, "ann t1 gold", got[2].Text())
	assert.Equal(t, llm.StatusError, got[3].Status)
}

// TestOptionsAreChecked proves that New returns an error for invalid options, for a nil
// model and for an empty name.
func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]agent.Options{
		"Options.Answer: ": {Answer: agent.Structured[func()]()},
		"MaxTurns is -1":   {MaxTurns: -1},
	} {
		_, err := agent.New("a", llmtest.Echo{}, nil, o)
		require.Error(t, err)
		require.ErrorContains(t, err, want)
	}
	_, err := agent.New("", llmtest.Echo{}, nil, agent.Options{})
	require.Error(t, err, "New with an empty name")
	_, err = agent.New("a", nil, nil, agent.Options{})
	require.Error(t, err, "New with a nil model")
}

// TestMaxParallelBoundsToolCalls proves that MaxParallel limits the concurrent calls of a reply,
// in an agent and in an agent that is a subgraph.
func TestMaxParallelBoundsToolCalls(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		o    agent.Options
		want time.Duration
	}{
		{"default of five", agent.Options{}, 3 * time.Second},
		{"limit of Tools", agent.Options{Tools: tools.Options{MaxParallel: 2}}, 6 * time.Second},
		{"limit of Graph", agent.Options{Tools: tools.Options{MaxParallel: 2}, Graph: graph.Options{MaxParallel: 3}}, 4 * time.Second},
		{"no limit", agent.Options{Tools: tools.Options{MaxParallel: -1}}, time.Second},
	} {
		for _, within := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, within another graph: %t", tt.name, within), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					calls := make([]llm.ToolCall, 12)
					for i := range calls {
						calls[i] = llm.ToolCall{ID: fmt.Sprint("c", i), Name: "wait"}
					}
					wait := tools.New("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
						}
						return "waited", ctx.Err()
					})
					g := newAgent(t, llmtest.NewScript(llmtest.Calls(calls...), llmtest.Say("so")), newSet(t, wait), tt.o)
					if within {
						b := graph.New("around", agent.Messages)
						b.Subgraph("helper", g)
						b.Edge(graph.Start, "helper")
						b.Edge("helper", graph.End)
						var err error
						g, err = b.Compile(graph.Options{})
						require.NoError(t, err)
					}
					begin := time.Now()
					snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
					took := time.Since(begin)
					require.NoError(t, err)
					assert.Equal(t, tt.want, took, "the duration of the run")
					assert.Equal(t, 15, agent.Messages.Len(snap))
				})
			})
		}
	}
}
