package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
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

// nodeGraph is a graph whose one node calls the tools of the input's message.
func nodeGraph(t *testing.T, set *tools.Set, s checkpoint.Store, o tools.Options) *graph.Graph {
	t.Helper()
	b := graph.New("calls", messages)
	b.Node("tools", tools.Node(set, messages, o))
	b.Edge(graph.Start, "tools")
	g, err := b.Compile(graph.Options{Checkpoints: s})
	if err != nil {
		t.Fatal(err)
	}
	return g
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
			var ran []int
			var free atomic.Int32
			set := mustSet(t, counting(&ran), doing("free", func(context.Context, int) (string, error) { free.Add(1); return "free", nil }))
			calls := []llm.ToolCall{numbered(1, "tool"), numbered(2, "free"), numbered(3, "tool"), numbered(4, "tool"), numbered(5, "tool")}
			calls[2].Arguments = json.RawMessage(`{"n":3.0,"n":3}`)
			if shape == "meta" {
				for i, c := range calls {
					calls[i].Name, calls[i].Arguments = tools.InvokeTool, json.RawMessage(fmt.Sprintf(`{"tool_name":%q,"params":%s}`, c.Name, c.Arguments))
				}
				set = set.Meta()
			}
			o := onGraph(tools.Named("tool"))
			// Nothing but the store is shared between the runs.
			thread := func() *graph.Thread {
				if shape == "node" {
					return nodeGraph(t, set, store, o).Thread("t")
				}
				a, err := agent.New("helper", llmtest.NewScript(llmtest.Say("done")), set, agent.Options{Tools: o, Graph: graph.Options{Checkpoints: store}})
				if err != nil {
					t.Fatal(err)
				}
				return a.Thread("t")
			}
			first := thread()
			if shape != "node" {
				a, err := agent.New("helper", llmtest.NewScript(llmtest.Calls(calls...)), set, agent.Options{Tools: o, Graph: graph.Options{Checkpoints: store}})
				if err != nil {
					t.Fatal(err)
				}
				first = a.Thread("t")
			}
			input := agent.Messages.Put(llm.User("go"))
			if shape == "node" {
				input = messages.Put(llm.Assistant("", calls...))
			}
			if _, err := first.Invoke(t.Context(), input); err != nil {
				t.Fatal(err)
			}
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
				open, err := approveTool.Pending(snap)
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
			snap, err := thread().Snapshot(t.Context())
			if err != nil || !snap.Done() {
				t.Fatalf("not done, %v", err)
			}
			var answers []string
			all := messages.Get
			if shape != "node" {
				all = agent.Messages.Get
			}
			for _, m := range all(snap) {
				if m.Role == llm.RoleTool {
					answers = append(answers, m.ToolCallID+" "+m.Text())
				}
			}
			want := []string{
				"call_1 ran with 1", "call_2 free", "call_3 a person rejected this call: no threes",
				"call_4 A person changed the arguments; the tool ran with {\"n\":40}\n\nran with 40", "call_5 ran with 5",
			}
			if !slices.Equal(answers, want) {
				t.Errorf("got  %q\nwant %q", answers, want)
			}
			slices.Sort(ran)
			if fmt.Sprint(ran) != "[1 5 40]" || free.Load() != 1 {
				t.Errorf("ran %v, and free %d times", ran, free.Load())
			}
		})
	}
}

// A tool that fails after its approval was used asks again when its node is
// retried.
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
	th := nodeGraph(t, set, checkpoint.NewMemory(checkpoint.MemoryOptions{}), o).Thread("t")
	answerAll := func(snap *graph.Snapshot) (*graph.Snapshot, error) {
		open, err := approveTool.Pending(snap)
		if err != nil || len(open) != 1 {
			t.Fatalf("%d questions, %v", len(open), err)
		}
		return th.Invoke(t.Context(), approveTool.Answer(open[0].ID, open[0].Prompt.Approve()))
	}
	snap, err := th.Invoke(t.Context(), messages.Put(llm.Assistant("", numbered(1, "tool"))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = answerAll(snap); err == nil || ran != 1 {
		t.Fatalf("ran %d times, %v", ran, err)
	}
	if snap, err = th.Invoke(t.Context()); err != nil || ran != 1 {
		t.Fatalf("ran %d times, %v", ran, err)
	}
	if snap, err = answerAll(snap); err != nil || ran != 2 || !snap.Done() {
		t.Errorf("ran %d times, %v", ran, err)
	}
}

// Writes, progress and where to go next reach the graph, and the parent's.
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
	inner.Dispatch(graph.Start, func(s state.View) state.Update {
		var out state.Update
		for _, c := range tools.Pending(messages.Get(s)) {
			out = append(out, graph.Send("call", oneCall.Put(c)))
		}
		return out
	}, "call")
	inner.Routes("call", "checkout")
	shop, err := inner.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	outer := graph.New("site", messages, cart, note)
	outer.Subgraph("shop", shop)
	outer.Edge(graph.Start, "shop")
	g, err := outer.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	var last *graph.Snapshot
	for ev, err := range g.Stream(t.Context(), messages.Put(llm.Assistant("", numbered(1, "buy"), numbered(2, "buy")))) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case graph.Emitted:
			events = append(events, fmt.Sprintf("%T", ev.Value))
		case graph.RunEnded:
			last = ev.Snapshot
		}
	}
	slices.Sort(events)
	if want := []string{"tools.CallFinished", "tools.CallFinished", "tools.CallStarted", "tools.CallStarted", "tools.Progress", "tools.Progress"}; !slices.Equal(events, want) {
		t.Errorf("got %q", events)
	}
	if got := cart.Get(last); !slices.Equal(got, []string{"1", "2", "paid 1 2"}) || note.Get(last) != "from the tool" {
		t.Errorf("got %q and %q", got, note.Get(last))
	}
}

// An agent answers a call with broken arguments and goes on.
func TestAgentAnswersInvalidCalls(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Calls(llm.InvalidCall("call_1", "double", `{"n":`, "unexpected end of JSON input")),
		llmtest.Call("double", `{"n":2}`), llmtest.Say("4"),
	)
	a, err := agent.New("helper", script, mustSet(t, doubling()), agent.Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := a.Invoke(t.Context(), agent.Messages.Put(llm.User("twice two?")))
	if err != nil {
		t.Fatal(err)
	}
	got := agent.Messages.Get(snap)
	if len(got) != 6 || got[2].Status != llm.StatusError || !strings.Contains(got[2].Text(), "call it again with a JSON object") || got[4].Text() != "4" {
		t.Errorf("got %v", got)
	}
}
