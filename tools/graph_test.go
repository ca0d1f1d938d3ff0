package tools_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// nodeGraph returns a graph with one node, which calls the tools of the input message.
func nodeGraph(t *testing.T, set *tools.Set, s checkpoint.Store, o tools.Options) *graph.Graph {
	t.Helper()
	b := graph.New("calls", messages)
	b.Node("tools", tools.Node(set, messages, o))
	b.Edge(graph.Start, "tools")
	g, err := b.Compile(graph.Options{Checkpoints: s})
	require.NoError(t, err)
	return g
}

// TestApprovalIsUsedOnceInAGraph proves that a person is asked again if the node is resumed
// after the approved call has failed.
func TestApprovalIsUsedOnceInAGraph(t *testing.T) {
	t.Parallel()
	ran := 0
	set := mustSet(t, doing("tool", func(context.Context, int) (string, error) {
		if ran++; ran == 1 {
			return "", errors.New("connection reset")
		}
		return "done", nil
	}))
	o := onGraph(tools.Named("*"))
	o.OnError = tools.ReturnErrors
	th := nodeGraph(t, set, memcheckpoint.New(memcheckpoint.Options{}), o).Thread("t")
	answerAll := func(snap *graph.Snapshot) (*graph.Snapshot, error) {
		open, err := approveTool.Open(snap)
		require.NoError(t, err)
		require.Len(t, open, 1)
		return th.Invoke(t.Context(), approveTool.Answer(open[0].ID, open[0].Prompt.Approve()))
	}
	snap, err := th.Invoke(t.Context(), messages.Put(llm.Assistant("", numbered(1, "tool"))))
	require.NoError(t, err)
	_, err = answerAll(snap)
	require.Error(t, err)
	require.Equal(t, 1, ran)
	snap, err = th.Invoke(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, ran)
	snap, err = answerAll(snap)
	require.NoError(t, err)
	assert.Equal(t, 2, ran)
	assert.True(t, snap.Done())
}

// TestRetryOfANodeOfTools proves that node.Retry repeats a node of tools if OnError returns the
// error of a tool, and that the model gets the error otherwise.
func TestRetryOfANodeOfTools(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		policy tools.ErrorPolicy
		want   string
	}{
		{"by default", nil, "search is down"},
		{"with ReturnErrors", tools.ReturnErrors, "found"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ran := 0
			set := mustSet(t, doing("search", func(context.Context, int) (string, error) {
				if ran++; ran == 1 {
					return "", errors.New("search is down")
				}
				return "found", nil
			}))
			b := graph.New("calls", messages)
			b.Node("tools", node.Retry(node.RetryPolicy{Initial: -1}, tools.Node(set, messages, tools.Options{OnError: tt.policy})))
			b.Edge(graph.Start, "tools")
			g, err := b.Compile(graph.Options{})
			require.NoError(t, err)
			snap, err := g.Invoke(t.Context(), messages.Put(llm.Assistant("", numbered(1, "search"))))
			require.NoError(t, err)
			said := messages.Get(snap)
			assert.Equal(t, tt.want, said[len(said)-1].Text())
		})
	}
}

// TestToolsSteerAGraph proves that the writes, the progress and the goto of a tool reach
// its graph and the parent graph.
func TestToolsSteerAGraph(t *testing.T) {
	t.Parallel()
	cart := state.Append[string]("cart")
	note := state.Last[string]("note")
	set := mustSet(t,
		tools.New("buy", "Buys.", func(ctx context.Context, in number) (tools.Result, error) {
			tools.Report(ctx, tools.Progress{Done: 1, Total: 1})
			return tools.Result{Text: "bought", Update: state.Update{cart.Put(fmt.Sprint(in.N)), graph.Goto("checkout"), graph.ToParent(note.Put("from the tool"))}}, nil
		}))
	inner := graph.New("shop", messages, oneCall, cart)
	inner.Node("call", tools.CallNode(set, oneCall, messages, tools.Options{Once: graph.Once[llm.Message], Emit: graph.Emit}))
	inner.Node("checkout", func(_ context.Context, s state.View) (state.Update, error) {
		return state.Update{cart.Put("paid " + strings.Join(cart.Get(s), " "))}, nil
	})
	inner.BranchMany(graph.Start, func(s state.View) (state.Update, error) {
		var out state.Update
		for _, c := range tools.Pending(messages.Get(s)) {
			out = append(out, graph.Send("call", oneCall.Put(c)))
		}
		return out, nil
	}, "call")
	inner.Destinations("call", "checkout")
	shop, err := inner.Compile(graph.Options{})
	require.NoError(t, err)
	outer := graph.New("site", messages, cart, note)
	outer.Subgraph("shop", shop)
	outer.Edge(graph.Start, "shop")
	g, err := outer.Compile(graph.Options{})
	require.NoError(t, err)
	var events []string
	var last *graph.Snapshot
	for ev, err := range g.Stream(t.Context(), messages.Put(llm.Assistant("", numbered(1, "buy"), numbered(2, "buy")))) {
		require.NoError(t, err)
		switch ev := ev.(type) {
		case graph.Emitted:
			events = append(events, fmt.Sprintf("%T", ev.Value))
		case graph.RunEnded:
			last = ev.Snapshot
		}
	}
	slices.Sort(events)
	assert.Equal(t, []string{"tools.CallFinished", "tools.CallFinished", "tools.CallStarted", "tools.CallStarted", "tools.Progress", "tools.Progress"}, events)
	assert.Equal(t, []string{"1", "2", "paid 1 2"}, cart.Get(last))
	assert.Equal(t, "from the tool", note.Get(last))
}

// TestAgentAnswersInvalidCalls proves that an agent answers a call with invalid JSON and
// continues.
func TestAgentAnswersInvalidCalls(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Calls(llm.InvalidCall("call_1", "double", `{"n":`, "unexpected end of JSON input")),
		llmtest.Call("double", `{"n":2}`), llmtest.Say("4"),
	)
	a, err := agent.New("helper", script, mustSet(t, doubling()), agent.Options{})
	require.NoError(t, err)
	snap, err := a.Invoke(t.Context(), agent.Messages.Put(llm.User("twice two?")))
	require.NoError(t, err)
	got := agent.Messages.Get(snap)
	require.Len(t, got, 6)
	assert.Equal(t, llm.StatusError, got[2].Status)
	assert.Contains(t, got[2].Text(), "call it again with a JSON object")
	assert.Equal(t, "4", got[4].Text())
}
