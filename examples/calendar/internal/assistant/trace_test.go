package assistant_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/calendar/internal/assistant"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// call returns a reply with a call that has an id.
func call(id, name, arguments string) llmtest.Reply {
	return llmtest.Calls(llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)})
}

// deleteJohn returns a model that replays the replies to "Delete my meeting with John".
func deleteJohn() *llmtest.Script {
	return llmtest.NewScript(
		call("d1", tools.DiscoverTools, `{"categories":["calendar"],"actions":["delete"]}`),
		call("d2", tools.DiscoverTools, `{"categories":["calendar"],"actions":["search"]}`),
		call("s1", tools.InvokeTool, `{"tool_name":"search_calendar_events","params":{"query":"John"}}`),
		call("a1", tools.InvokeTool, `{"tool_name":"delete_calendar_event","params":{"event_id":"123"}}`),
		llmtest.Say("I have noted the deletion."),
		llmtest.Say("I've deleted your meeting with John that was scheduled for Tuesday at 2:00 PM."),
	)
}

// TestTrace runs "Delete my meeting with John", and compares the state after each step with testdata/trace.txt.
func TestTrace(t *testing.T) {
	t.Parallel()
	o, model, store := newOffice(t, johns), deleteJohn(), memory()
	var b strings.Builder
	node := func(name string, s *graph.Snapshot, keys ...string) {
		fmt.Fprintf(&b, "%s\n%s", name, shown(t, s, keys...))
	}

	thread := o.thread(model, store)
	paused := invoke(t, thread, "Delete my meeting with John")
	byStep := map[string]*graph.Snapshot{}
	var order []string
	for info, err := range thread.History(t.Context(), graph.HistoryQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		snap := must(t)(thread.At(info.ID).Snapshot(t.Context()))
		name := strings.Join(info.Next, ",")
		byStep[name] = snap
		order = append(order, name)
	}
	slices.Reverse(order)
	fmt.Fprintln(&b, "due, step by step:", strings.Join(order, " → "))
	node("1 user input", byStep[assistant.PlanActions], "user_message")
	fmt.Fprintln(&b, "2 plan_actions")
	for _, step := range steps(byStep[assistant.RouteExecution]) {
		fmt.Fprintf(&b, "  %s%s\n    %s\n", step.call.Name, step.call.Text(), step.answer.Text())
	}
	fmt.Fprint(&b, shown(t, byStep[assistant.RouteExecution], "actions", "requires_confirmation", "discovered_tools"))
	node("3 route_execution", byStep[assistant.ConfirmActions], "execution_mode")
	if paused.Done() || len(paused.Pauses) != 1 || paused.Pauses[0].Kind != graph.PauseBefore || paused.Pauses[0].Node != assistant.ConfirmActions {
		t.Fatalf("the run does not wait before confirm_actions: %+v", paused.Pauses)
	}
	fmt.Fprintf(&b, "4 confirm_actions (pause)\n  %s\n", assistant.PendingConfirmation.Get(paused).Message)
	if got := o.titles(); got != "Meeting with John, Dentist" {
		t.Errorf("before the yes the calendar has %s", got)
	}

	// As in another process: a new graph with the same store.
	thread = o.thread(model, store)
	loaded := must(t)(thread.Snapshot(t.Context()))
	fmt.Fprintf(&b, "5 user confirms: yes\n")
	var nodes []string
	var ended *graph.Snapshot
	var executed, confirmed state.View
	for e, err := range thread.Stream(t.Context(), assistant.PendingConfirmation.Get(loaded).Answer("yes")...) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case graph.TaskStarted:
			nodes = append(nodes, e.At().Node)
		case graph.StateChanged:
			switch nodes[len(nodes)-1] {
			case assistant.ConfirmActions:
				confirmed = e.State
			case assistant.ExecuteParallel:
				executed = e.State
			}
		case graph.RunEnded:
			ended = e.Snapshot
		}
	}
	fmt.Fprintf(&b, "  runs %s\n", strings.Join(nodes, " → "))
	if assistant.PendingConfirmation.Get(confirmed) != nil {
		t.Error("the confirmation is still pending when it was answered")
	}
	fmt.Fprintf(&b, "6 execute_parallel\n%s", shown(t, &graph.Snapshot{View: executed}, "results"))
	node("7 synthesize_response", ended, "final_response")
	want, err := os.ReadFile("testdata/trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !ended.Done() || model.Remaining() != 0 {
		t.Errorf("the run ended: %v; %d replies are left", ended.Done(), model.Remaining())
	}
	if got := o.titles(); got != "Dentist" {
		t.Errorf("the calendar has %s", got)
	}
}

// shown returns channels as JSON.
func shown(t *testing.T, s *graph.Snapshot, keys ...string) string {
	t.Helper()
	values := map[string]any{
		"user_message": assistant.UserMessage.Get(s), "actions": assistant.Actions.Get(s), "requires_confirmation": assistant.RequiresConfirmation.Get(s),
		"execution_mode": assistant.ExecutionMode.Get(s), "results": assistant.Results.Get(s), "final_response": assistant.FinalResponse.Get(s),
		"discovered_tools": assistant.DiscoveredTools.Get(s),
	}
	var b strings.Builder
	for _, key := range keys {
		text, err := json.Marshal(values[key])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "  %s: %s\n", key, text)
	}
	return b.String()
}
