package assistant

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// Every channel of the state may be absent. Nodes read and write it with its type.
func TestStateKeysAreOptional(t *testing.T) {
	t.Parallel()
	want := strings.Fields(`user_message conversation_history actions requires_confirmation execution_mode results
		pending_confirmation user_confirmation confirmation_message final_response session_id session_context
		discovered_tools tool_invocations error`)
	var got []string
	for _, c := range channels {
		got = append(got, c.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b := graph.New("empty", channels...)
	b.Node("look", func(_ context.Context, s state.View) (state.Update, error) {
		for name, there := range map[string]bool{
			"user_message": has(UserMessage.Lookup(s)), "actions": has(Actions.Lookup(s)), "results": has(Results.Lookup(s)),
			"execution_mode": has(ExecutionMode.Lookup(s)), "pending_confirmation": has(PendingConfirmation.Lookup(s)),
			"final_response": has(FinalResponse.Lookup(s)), "conversation_history": has(History.Lookup(s)), "error": has(Error.Lookup(s)),
			"requires_confirmation": has(RequiresConfirmation.Lookup(s)), "user_confirmation": has(UserConfirmation.Lookup(s)),
			"confirmation_message": has(ConfirmationMessage.Lookup(s)), "session_id": has(SessionID.Lookup(s)),
			"session_context": has(SessionContext.Lookup(s)), "discovered_tools": has(DiscoveredTools.Lookup(s)), "tool_invocations": has(ToolInvocations.Lookup(s)),
		} {
			if there {
				t.Errorf("%s is there", name)
			}
		}
		mode, err := byMode(s)
		if err != nil {
			t.Error(err)
		}
		if UserMessage.Get(s) != "" || Actions.Get(s) != nil || PendingConfirmation.Get(s) != nil || mode != ExecuteParallel {
			t.Error("what is absent has a value")
		}
		return state.Update{Actions.Put(tools.Action{ID: "a1", Tool: "x"}), Results.Put(map[string]plan.Result{"a1": {Success: true}})}, nil
	})
	b.Edge(graph.Start, "look")
	g, err := b.Compile(graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := g.Invoke(t.Context())
	if err != nil || Actions.Get(snap)[0].ID != "a1" || !Results.Get(snap)["a1"].Success || has(FinalResponse.Lookup(snap)) {
		t.Errorf("got %v", err)
	}
}

func has[V any](_ V, there bool) bool { return there }

// An absent mode means parallel, and each of the three modes has a node.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]string{"": ExecuteParallel, "parallel": ExecuteParallel, "sequential": ExecuteSequential, "confirm": ConfirmActions} {
		b := graph.New("modes", channels...)
		b.Node(RouteExecution, func(context.Context, state.View) (state.Update, error) { return nil, nil })
		reached := ""
		for _, name := range []string{ConfirmActions, ExecuteParallel, ExecuteSequential} {
			b.Node(name, func(context.Context, state.View) (state.Update, error) { reached = name; return nil, nil })
		}
		b.Edge(graph.Start, RouteExecution)
		b.Branch(RouteExecution, byMode, ConfirmActions, ExecuteParallel, ExecuteSequential)
		g, err := b.Compile(graph.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Invoke(t.Context(), ExecutionMode.Put(mode)); err != nil || reached != want {
			t.Errorf("%q: got %s and %v, want %s", mode, reached, err, want)
		}
	}
	if Parallel != "parallel" || Sequential != "sequential" || Confirm != "confirm" {
		t.Error("a mode has another name")
	}
}
