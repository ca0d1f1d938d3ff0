package tools_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
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
	th := nodeGraph(t, set, memcheckpoint.New(memcheckpoint.Options{}), o).Thread("t")
	answerAll := func(snap *graph.Snapshot) (*graph.Snapshot, error) {
		open, err := approveTool.Open(snap)
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
	inner.BranchMany(graph.Start, func(s state.View) (state.Update, error) {
		var out state.Update
		for _, c := range tools.Pending(messages.Get(s)) {
			out = append(out, graph.Send("call", oneCall.Put(c)))
		}
		return out, nil
	}, "call")
	inner.Destinations("call", "checkout")
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
