package durable_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

var approveTool = graph.NewInterrupt[tools.Question, tools.Decision]("approve_tool")

func approving(rule tools.Rule) tools.Options {
	return tools.Options{Once: graph.Once[llm.Message], Approval: tools.Approval{
		Rule: rule,
		Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return approveTool.WaitKey(ctx, key, q)
		},
	}}
}

// A counter records the calls of its tools.
type counter struct {
	mu  sync.Mutex
	ran []string
}

func (c *counter) tool(name string) tools.Tool {
	return tools.New(name, "Counts.", func(_ context.Context, in struct {
		N int `json:"n"`
	},
	) (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ran = append(c.ran, fmt.Sprint(name, " ", in.N))
		return fmt.Sprint("ran with ", in.N), nil
	})
}

// thread returns a thread of a new graph, which shares only the store with other graphs. The
// model of the graph makes the calls; without calls it answers with a text.
func thread(t *testing.T, shape string, set *tools.Set, store checkpoint.Store, calls ...llm.ToolCall) *graph.Thread {
	t.Helper()
	o, run := approving(tools.Named("guarded")), graph.Options{Checkpoints: store}
	var g *graph.Graph
	var err error
	if shape == "node" {
		b := graph.New("helper", agent.Messages)
		b.Node("model", func(context.Context, state.View) (state.Update, error) {
			return state.Update{agent.Messages.Put(llm.Assistant("", calls...))}, nil
		})
		b.Node("tools", tools.Node(set, agent.Messages, o))
		b.Edge(graph.Start, "model")
		b.Edge("model", "tools")
		g, err = b.Compile(run)
	} else {
		script := llmtest.NewScript(llmtest.Say("done"))
		if len(calls) > 0 {
			script = llmtest.NewScript(llmtest.Calls(calls...))
		}
		g, err = agent.New("helper", script, set, agent.Options{Tools: o, Graph: run})
	}
	require.NoError(t, err)
	return g.Thread("t")
}

// TestApprovalsInAGraph proves that calls can be approved, rejected and edited one at a time,
// each with a new graph as after a restart, and that each call runs at most once.
func TestApprovalsInAGraph(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"node", "agent", "meta"} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			store, err := sqlitecheckpoint.Open(t.Context(), t.TempDir()+"/weft.db", sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
			require.NoError(t, err)
			defer store.Close()
			var count counter
			set, err := tools.NewSet(count.tool("guarded"), count.tool("free"))
			require.NoError(t, err)
			var calls []llm.ToolCall
			for i, arguments := range []string{`{"n":1}`, `{"n":2}`, `{"n":3.0,"n":3}`, `{"n":4}`, `{"n":5}`} {
				name := "guarded"
				if i == 1 {
					name = "free"
				}
				if shape == "meta" {
					name, arguments = tools.InvokeTool, fmt.Sprintf(`{"tool_name":%q,"params":%s}`, name, arguments)
				}
				calls = append(calls, llm.ToolCall{ID: fmt.Sprint("call_", i+1), Name: name, Arguments: json.RawMessage(arguments)})
			}
			if shape == "meta" {
				set = set.Meta()
			}
			_, err = thread(t, shape, set, store, calls...).Invoke(t.Context(), agent.Messages.Put(llm.User("go")))
			require.NoError(t, err)
			decideAll(t, func() *graph.Thread { return thread(t, shape, set, store) })
			check(t, thread(t, shape, set, store), count.ran)
		})
	}
}

// decideAll answers the questions of a thread, each with a new graph. It proves that a
// question cannot be answered twice.
func decideAll(t *testing.T, thread func() *graph.Thread) {
	t.Helper()
	decide := map[string]func(tools.Question) tools.Decision{
		`{"n":1}`: tools.Question.Approve,
		`{"n":3}`: func(q tools.Question) tools.Decision { return q.Reject("no threes") },
		`{"n":4}`: func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{"n":40}`)) },
		`{"n":5}`: tools.Question.Approve,
	}
	for range decide {
		snap, err := thread().Snapshot(t.Context())
		require.NoError(t, err)
		open, err := approveTool.Open(snap)
		require.NoError(t, err)
		require.NotEmpty(t, open)
		q := open[len(open)-1]
		answer := decide[string(q.Prompt.Arguments)](q.Prompt)
		_, err = thread().Invoke(t.Context(), approveTool.Answer(q.ID, answer))
		require.NoError(t, err)
		_, err = thread().Invoke(t.Context(), approveTool.Answer(q.ID, answer))
		assert.ErrorIs(t, err, graph.ErrNoQuestion)
	}
}

// check proves that the thread is done, and that the calls and the answers are as decided.
func check(t *testing.T, th *graph.Thread, ran []string) {
	t.Helper()
	snap, err := th.Snapshot(t.Context())
	require.NoError(t, err)
	require.True(t, snap.Done())
	var answers []string
	for _, m := range agent.Messages.Get(snap) {
		if m.Role == llm.RoleTool {
			answers = append(answers, m.ToolCallID+" "+m.Text())
		}
	}
	want := []string{
		"call_1 ran with 1", "call_2 ran with 2", "call_3 a person rejected this call: no threes",
		"call_4 The arguments were changed by a person; the tool ran with {\"n\":40}\n\nran with 40", "call_5 ran with 5",
	}
	assert.Equal(t, want, answers)
	slices.Sort(ran)
	assert.Equal(t, []string{"free 2", "guarded 1", "guarded 40", "guarded 5"}, ran)
}
