package durable_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

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

// A counter notes what its tools were called with.
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

// thread returns a thread of a graph that shares nothing with an earlier one but
// the store. Its model makes the calls, or has only to say that it is done.
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
	if err != nil {
		t.Fatal(err)
	}
	return g.Thread("t")
}

// Several calls are approved, rejected and edited one at a time, each in a
// process of its own, and each runs once.
func TestApprovalsInAGraph(t *testing.T) {
	t.Parallel()
	for _, shape := range []string{"node", "agent", "meta"} {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			store, err := sqlitecheckpoint.Open(t.Context(), t.TempDir()+"/weft.db", sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			var count counter
			set, err := tools.NewSet(count.tool("guarded"), count.tool("free"))
			if err != nil {
				t.Fatal(err)
			}
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
			if _, err := thread(t, shape, set, store, calls...).Invoke(t.Context(), agent.Messages.Put(llm.User("go"))); err != nil {
				t.Fatal(err)
			}
			decideAll(t, func() *graph.Thread { return thread(t, shape, set, store) })
			check(t, thread(t, shape, set, store), count.ran)
		})
	}
}

// decideAll answers the questions of a thread, each through another graph.
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
		if err != nil {
			t.Fatal(err)
		}
		open, err := approveTool.Open(snap)
		if err != nil || len(open) == 0 {
			t.Fatalf("%d questions, %v", len(open), err)
		}
		q := open[len(open)-1]
		answer := decide[string(q.Prompt.Arguments)](q.Prompt)
		if _, err := thread().Invoke(t.Context(), approveTool.Answer(q.ID, answer)); err != nil {
			t.Fatal(err)
		}
		if _, err := thread().Invoke(t.Context(), approveTool.Answer(q.ID, answer)); !errors.Is(err, graph.ErrNoQuestion) {
			t.Errorf("an answer counted twice: %v", err)
		}
	}
}

// check looks at what the tools were called with and what the model was told.
func check(t *testing.T, th *graph.Thread, ran []string) {
	t.Helper()
	snap, err := th.Snapshot(t.Context())
	if err != nil || !snap.Done() {
		t.Fatalf("not done, %v", err)
	}
	var answers []string
	for _, m := range agent.Messages.Get(snap) {
		if m.Role == llm.RoleTool {
			answers = append(answers, m.ToolCallID+" "+m.Text())
		}
	}
	want := []string{
		"call_1 ran with 1", "call_2 ran with 2", "call_3 a person rejected this call: no threes",
		"call_4 A person changed the arguments; the tool ran with {\"n\":40}\n\nran with 40", "call_5 ran with 5",
	}
	if !slices.Equal(answers, want) {
		t.Errorf("got  %q\nwant %q", answers, want)
	}
	slices.Sort(ran)
	if want := []string{"free 2", "guarded 1", "guarded 40", "guarded 5"}; !slices.Equal(ran, want) {
		t.Errorf("got  %q\nwant %q", ran, want)
	}
}
