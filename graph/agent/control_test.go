package agent_test

import (
	"context"
	"encoding/json"
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

// TestJumpsAreBoundedWithAStructuredAnswer proves that a run whose middleware always jumps ends after
// MaxTurns, even if the middleware jumps in the request for the structured answer.
func TestJumpsAreBoundedWithAStructuredAnswer(t *testing.T) {
	t.Parallel()
	for _, to := range []string{agent.ModelNode, agent.ToolsNode} {
		for name, m := range map[string]agent.Middleware{
			"around the model": {WrapModel: func(context.Context, agent.ModelCall, agent.ModelFunc) (agent.Reply, error) {
				return agent.Reply{}, agent.Jump(to)
			}},
			"in the prompt": {Prompt: func(context.Context, agent.Run) (string, error) { return "", agent.Jump(to) }},
		} {
			t.Run(to+" "+name, func(t *testing.T) {
				t.Parallel()
				g := newAgent(t, llmtest.NewScript(), nil, agent.Options{MaxTurns: 3, Answer: agent.Structured[grading](), Graph: memory(), Use: []agent.Middleware{m}})
				snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
				require.NoError(t, err)
				r := agent.Result.Get(snap)
				assert.Equal(t, agent.OutOfTurn, r.Reason)
				assert.Equal(t, 3, r.Turns)
			})
		}
	}
}

// TestStopChecksItsMessage proves that an invalid message of a Stop fails the run, and is not
// stored, so that the thread stays usable.
func TestStopChecksItsMessage(t *testing.T) {
	t.Parallel()
	stop := agent.Stop(llm.Message{Role: "boss"})
	for name, m := range map[string]agent.Middleware{
		"before the agent": {BeforeAgent: func(context.Context, agent.Run) (state.Update, error) { return nil, stop }},
		"before the model": {BeforeModel: func(context.Context, agent.Run) (state.Update, error) { return nil, stop }},
		"after the model":  {AfterModel: func(context.Context, agent.Run, *llm.Message) (state.Update, error) { return nil, stop }},
		"around a tool": {WrapTool: func(context.Context, agent.ToolCall, agent.ToolFunc) (tools.Outcome, error) {
			return tools.Outcome{}, stop
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newAgent(t, llmtest.NewScript(llmtest.Call("add", `{"a":1,"b":2}`)), newSet(t, tools.New("add", "Adds.", add)), agent.Options{Graph: memory(), Use: []agent.Middleware{m}})
			snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
			require.ErrorIs(t, err, llm.ErrInvalid)
			require.ErrorContains(t, err, "Stop")
			assert.NotContains(t, roles(snap), "boss")
		})
	}
}

// TestRefusedControlNamesTheMiddleware proves that the error of a Stop or Jump that is not possible
// names the middleware and the possible nodes.
func TestRefusedControlNamesTheMiddleware(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		use  agent.Middleware
		want []string
	}{
		{"an unknown node", agent.Middleware{BeforeModel: func(context.Context, agent.Run) (state.Update, error) { return nil, agent.Jump("nowhere") }}, []string{`"nowhere"`, "agent.ModelNode"}},
		{"from a tool", agent.Middleware{WrapTool: func(context.Context, agent.ToolCall, agent.ToolFunc) (tools.Outcome, error) {
			return tools.Outcome{}, agent.Jump(agent.ModelNode)
		}}, []string{`"agent"`, "WrapTool"}},
		{"after the agent", agent.Middleware{AfterAgent: func(context.Context, agent.Run) (state.Update, error) { return nil, agent.Stop(llm.Message{}) }}, []string{"AfterAgent"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newAgent(t, llmtest.NewScript(llmtest.Call("add", `{"a":1,"b":2}`), llmtest.Say("3")), newSet(t, tools.New("add", "Adds.", add)), agent.Options{Graph: memory(), Use: []agent.Middleware{tt.use}})
			_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}

type quoted struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// shout returns a middleware that changes texts and arguments of replies.
func shout(change func(string) string) agent.Middleware {
	return agent.Middleware{Name: "shout", WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		reply, err := next(ctx, c)
		for i, p := range reply.Message.Parts {
			reply.Message.Parts[i].Text = change(p.Text)
		}
		for i, call := range reply.Message.ToolCalls {
			reply.Message.ToolCalls[i].Arguments = json.RawMessage(change(string(call.Arguments)))
		}
		return reply, err
	}}
}

// TestMiddlewareSeesTheAnswerAsACall proves that if the model is asked for the structured answer after a
// text, WrapModel gets the answer as a call of the answer tool, and can change it. If the changed answer
// does not fit the type, the run ends with a reason.
func TestMiddlewareSeesTheAnswerAsACall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(string) string
		reason agent.Reason
		want   quoted
	}{
		{"changed", func(s string) string { return strings.ReplaceAll(s, "low", "high") }, agent.Answered, quoted{"high", 1}},
		{"not JSON", func(s string) string { return strings.ReplaceAll(s, "low", `"high"`) }, agent.Unfit, quoted{}},
		{"another type", func(s string) string { return strings.ReplaceAll(s, "1", `"one"`) }, agent.Unfit, quoted{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			see := agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
				reply, err := next(ctx, c)
				for _, call := range reply.Message.ToolCalls {
					seen = append(seen, call.Name)
				}
				return reply, err
			}}
			script := llmtest.NewScript(llmtest.Say("fine"), llmtest.Say(`{"text":"low","count":1}`))
			g := newAgent(t, script, nil, agent.Options{Answer: agent.Structured[quoted](), Graph: memory(), Use: []agent.Middleware{shout(tt.change), see}})
			snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
			require.NoError(t, err)
			assert.Equal(t, []string{"answer"}, seen)
			r := agent.Result.Get(snap)
			assert.Equal(t, tt.reason, r.Reason, r.Problem)
			got, err := agent.Answer[quoted](snap)
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.reason == agent.Unfit, err != nil)
		})
	}
}

// TestWritesBesideTheAnswerAreChecked proves that the writes that a middleware returns with the
// structured answer are checked like its other writes.
func TestWritesBesideTheAnswerAreChecked(t *testing.T) {
	t.Parallel()
	turn := 0
	jumps := agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		reply, err := next(ctx, c)
		if turn++; turn == 2 {
			reply.Update = state.Update{graph.Goto(agent.ModelNode)}
		}
		return reply, err
	}}
	g := newAgent(t, llmtest.NewScript(llmtest.Say("fine"), llmtest.Say(`{"text":"t","count":1}`)), nil, agent.Options{Answer: agent.Structured[quoted](), Graph: memory(), Use: []agent.Middleware{jumps}})
	_, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
	require.ErrorIs(t, err, graph.ErrSignal)
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// TestNilPointerAsErrorIsReadable proves that an error of a run can be printed if a middleware
// returned a nil pointer as its error.
func TestNilPointerAsErrorIsReadable(t *testing.T) {
	t.Parallel()
	var none *nilError
	for name, m := range map[string]agent.Middleware{
		"prompt": {Name: "m", Prompt: func(context.Context, agent.Run) (string, error) { return "", none }},
		"around": {Name: "m", WrapModel: func(context.Context, agent.ModelCall, agent.ModelFunc) (agent.Reply, error) {
			return agent.Reply{}, none
		}},
		"before": {Name: "m", BeforeModel: func(context.Context, agent.Run) (state.Update, error) { return nil, none }},
	} {
		_, err := newAgent(t, llmtest.NewScript(), nil, agent.Options{Use: []agent.Middleware{m}}).Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), `middleware "m"`, name)
	}
}

// TestQuestionAboutTheAnswerKeepsIt proves that the model is not asked again if a middleware asks a
// person about the structured answer, and that the usage counts once.
func TestQuestionAboutTheAnswerKeepsIt(t *testing.T) {
	t.Parallel()
	agree := graph.NewInterrupt[string, bool]("agree")
	asks := agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		reply, err := next(ctx, c)
		if err == nil && c.Turn == 0 { // the structured answer
			_, err = agree.Wait(ctx, string(reply.Message.ToolCalls[0].Arguments))
		}
		return reply, err
	}}
	cost := llm.Usage{Input: 1}
	script := llmtest.NewScript(llmtest.Say("fine").Costing(cost), llmtest.Say(`{"text":"t","count":1}`).Costing(cost))
	g := newAgent(t, script, nil, agent.Options{Answer: agent.Structured[quoted](), Graph: memory(), Use: []agent.Middleware{asks}})
	snap, err := g.Thread("t").Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
	require.NoError(t, err)
	require.Len(t, snap.Pauses, 1)
	assert.JSONEq(t, `{"text":"t","count":1}`, must(agree.Open(snap))[0].Prompt)
	snap, err = g.Thread("t").Invoke(t.Context(), agree.Answer(snap.Pauses[0].ID, true))
	require.NoError(t, err)
	got, err := agent.Answer[quoted](snap)
	require.NoError(t, err)
	assert.Equal(t, quoted{"t", 1}, got)
	assert.EqualValues(t, 2, agent.Usage.Get(snap).Total)
	assert.EqualValues(t, 2, agent.Result.Get(snap).Usage.Total)
}

// TestHandoffNeedsAName proves that New returns an error for a Handoff without the name of an agent.
func TestHandoffNeedsAName(t *testing.T) {
	t.Parallel()
	_, err := agent.New("a", llmtest.NewScript(), nil, agent.Options{Use: []agent.Middleware{agent.Handoff("", "It helps.")}})
	require.ErrorContains(t, err, "pass it to Handoff")
}
