package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

type sumInput struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add(_ context.Context, in sumInput) (int, error) { return in.A + in.B, nil }

func newSet(t testing.TB, list ...tools.Tool) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(list...)
	require.NoError(t, err)
	return set
}

func newAgent(t testing.TB, m llm.Model, set *tools.Set, o agent.Options) *graph.Graph {
	t.Helper()
	g, err := agent.New("helper", m, set, o)
	require.NoError(t, err)
	return g
}

// roles returns the role and text of each message.
func roles(s state.View) string {
	var out []string
	for _, m := range agent.Messages.All(s) {
		entry := string(m.Role)
		if text := m.Text(); text != "" {
			entry += ":" + text
		}
		out = append(out, entry)
	}
	return strings.Join(out, " | ")
}

// requests returns a middleware that changes each request.
func requests(change func(*llm.Request)) agent.Middleware {
	return agent.Middleware{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
		change(&c.Request)
		return next(ctx, c)
	}}
}

// TestToolLoop proves that the results of concurrent calls are
// stored in the order of the calls, and that the next request contains them.
func TestToolLoop(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Calls(
			llm.ToolCall{Name: "add", Arguments: json.RawMessage(`{"a":1,"b":2}`)},
			llm.ToolCall{Name: "add", Arguments: json.RawMessage(`{"a":10,"b":20}`)},
			llm.ToolCall{Name: "fly", Arguments: json.RawMessage(`{}`)},
		),
		llmtest.Say("3 and 30"),
	)
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{System: "Be brief."})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("add them")))
	require.NoError(t, err)
	messages := agent.Messages.Get(snap)
	assert.Len(t, messages, 6)
	assert.Equal(t, "3", messages[2].Text())
	assert.Equal(t, "30", messages[3].Text())
	assert.Equal(t, llm.StatusError, messages[4].Status)
	requests := script.Requests()
	got := requests[0].Messages[0]
	assert.Equal(t, llm.RoleSystem, got.Role)
	assert.Equal(t, "Be brief.", got.Text())
	assert.Len(t, requests[1].Messages, 6)
}

// TestStreamEmitsChunksOfReply proves that the events of a run contain the parts of a
// streamed reply.
func TestStreamEmitsChunksOfReply(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.NewScript(llmtest.Say("one two three")), nil, agent.Options{})
	var text strings.Builder
	chunks := 0
	for ev, err := range g.Stream(t.Context(), agent.Messages.Put(llm.User("count"))) {
		require.NoError(t, err)
		e, _ := ev.(graph.Emitted)
		if chunk, ok := e.Value.(llm.Chunk); ok {
			text.WriteString(chunk.Text)
			chunks++
		}
	}
	assert.Equal(t, "one two three", text.String())
	assert.GreaterOrEqual(t, chunks, 3)
}

// TestLastTurnHasNoTools proves that the model may not call tools in the last turn, and that
// the next run counts its turns from one.
func TestLastTurnHasNoTools(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Call("add", `{"a":1,"b":1}`), llmtest.Call("add", `{"a":2,"b":2}`), llmtest.Say("enough"),
		llmtest.Call("add", `{"a":1,"b":1}`), llmtest.Say("again"),
	)
	g := newAgent(t, script, newSet(t, tools.New("add", "Adds.", add)), agent.Options{
		MaxTurns: 3, Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})},
	})
	th := g.Thread("t")
	for range 2 {
		_, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
		require.NoError(t, err)
	}
	modes := []llm.ToolMode{}
	for _, r := range script.Requests() {
		modes = append(modes, r.ToolChoice.Mode)
	}
	want := []llm.ToolMode{llm.ToolsAuto, llm.ToolsAuto, llm.ToolsNone, llm.ToolsAuto, llm.ToolsAuto}
	assert.Equal(t, want, modes, "the tool choices of the requests")
}

// TestModelThatNeverAnswersEndsOutOfTurn proves that a run ends if the model calls a
// tool in its last turn, that the call gets a result, and that Result and the last message have the
// reason.
func TestModelThatNeverAnswersEndsOutOfTurn(t *testing.T) {
	t.Parallel()
	replies := slices.Repeat([]llmtest.Reply{llmtest.Call("add", `{"a":1,"b":1}`)}, 10)
	g := newAgent(t, llmtest.NewScript(replies...), newSet(t, tools.New("add", "Adds.", add)), agent.Options{})
	snap, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	r := agent.Result.Get(snap)
	assert.Equal(t, agent.OutOfTurn, r.Reason)
	assert.EqualValues(t, 10, r.Turns)
	assert.Equal(t, "helper", r.Agent)
	assert.NotEmpty(t, r.Problem)
	messages := agent.Messages.Get(snap)
	require.Len(t, messages, 22)
	assert.Equal(t, llm.StatusError, messages[20].Status)
	assert.Contains(t, messages[20].Text(), "10 times")
	assert.Equal(t, llm.RoleAssistant, messages[21].Role)
	assert.Equal(t, "I stopped: the limit of model calls for one request (10) is reached.", messages[21].Text())
}

var approve = graph.NewInterrupt[string, bool]("approve")

// TestApprovalRunsOtherCallsOnce proves that a call which does not wait for an answer
// runs once, while other calls of the same reply wait.
func TestApprovalRunsOtherCallsOnce(t *testing.T) {
	t.Parallel()
	var looked, sent atomic.Int32
	set := newSet(t,
		tools.New("look", "Looks.", func(context.Context, struct{}) (string, error) {
			looked.Add(1)
			return "seen", nil
		}),
		tools.New("send", "Sends.", func(ctx context.Context, _ struct{}) (string, error) {
			ok, err := approve.Wait(ctx, "send it?")
			if err != nil || !ok {
				return "not sent", err
			}
			sent.Add(1)
			return "sent", nil
		}),
	)
	script := llmtest.NewScript(
		llmtest.Calls(llm.ToolCall{Name: "look"}, llm.ToolCall{Name: "send"}, llm.ToolCall{Name: "send"}),
		llmtest.Say("done"),
	)
	g := newAgent(t, script, set, agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	th := g.Thread("t")
	snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
	require.NoError(t, err)
	pending, err := approve.Open(snap)
	require.NoError(t, err)
	require.Len(t, pending, 2)
	snap, err = th.Invoke(t.Context(), approve.Answer(pending[0].ID, false), approve.Answer(pending[1].ID, true))
	require.NoError(t, err)
	got := roles(snap)
	assert.Equal(t, "user:go | assistant | tool:seen | tool:not sent | tool:sent | assistant:done", got)
	assert.EqualValues(t, 1, looked.Load(), "runs of look")
	assert.EqualValues(t, 1, sent.Load(), "runs of send")
}

// TestUnansweredCallGetsPlaceholderResult proves that the next request has a result for a call
// that still waits when the user sends a new message.
func TestUnansweredCallGetsPlaceholderResult(t *testing.T) {
	t.Parallel()
	set := newSet(t, tools.New("send", "Sends.", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := approve.Wait(ctx, "send it?")
		return "sent", err
	}))
	script := llmtest.NewScript(llmtest.Call("send", `{}`), llmtest.Say("never mind"))
	g := newAgent(t, script, set, agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	th := g.Thread("t")
	for _, text := range []string{"send it", "forget it"} {
		_, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User(text)))
		require.NoError(t, err)
	}
	var got []string
	for _, m := range script.Requests()[1].Messages {
		got = append(got, string(m.Role))
	}
	want := []string{"user", "assistant", "tool", "user"}
	assert.Equal(t, want, got, "the roles in the request")
}

// TestMiddlewareReadsChannels proves that a middleware around the model can read an additional
// channel and change the request.
func TestMiddlewareReadsChannels(t *testing.T) {
	t.Parallel()
	lang := state.Last[string]("language")
	script := llmtest.NewScript(llmtest.Say("γεια"))
	g := newAgent(t, script, nil, agent.Options{
		Channels: []state.Handle{lang},
		Use: []agent.Middleware{{WrapModel: func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			c.Request.Messages = append(slices.Clip(c.Request.Messages), llm.System("Answer in "+lang.Get(c.State)))
			return next(ctx, c)
		}}},
	})
	_, err := g.Invoke(t.Context(), lang.Put("Greek"), agent.Messages.Put(llm.User("hi")))
	require.NoError(t, err)
	r := script.Requests()[0]
	assert.Equal(t, "Answer in Greek", r.Messages[1].Text(), "the request is %v", r.Messages)
}

// TestModelErrorIsNodeError proves that an error of the model is a NodeError of the
// model's node.
func TestModelErrorIsNodeError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no quota")
	g := newAgent(t, llmtest.NewScript(llmtest.Fail(broken)), nil, agent.Options{})
	_, err := g.Invoke(t.Context(), agent.Messages.Put(llm.User("hi")))
	ne, ok := errors.AsType[*graph.NodeError](err)
	assert.True(t, ok)
	assert.Equal(t, agent.ModelNode, ne.Node)
	require.ErrorIs(t, err, broken)
}

// TestConcurrentThreadsAreIndependent proves that concurrent threads of one agent do not
// see each other's messages.
func TestConcurrentThreadsAreIndependent(t *testing.T) {
	t.Parallel()
	g := newAgent(t, llmtest.Echo{}, nil, agent.Options{Graph: graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})}})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			th := g.Thread(fmt.Sprint(i))
			for turn := range 3 {
				text := fmt.Sprintf("%d/%d", i, turn)
				snap, err := th.Invoke(t.Context(), agent.Messages.Put(llm.User(text)))
				if !assert.NoError(t, err) {
					return
				}
				last, _ := agent.Messages.Last(snap)
				assert.Equal(t, text, last.Text(), "the last message of thread %d", i)
				assert.Equal(t, 2*(turn+1), agent.Messages.Len(snap), "the messages of thread %d", i)
			}
		})
	}
	wg.Wait()
}
