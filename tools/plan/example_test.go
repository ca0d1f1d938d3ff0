package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

type eventID struct {
	ID string `json:"id"`
}

func calendar() *tools.Set {
	set, err := tools.NewSet(
		tools.New("search_events", "Searches events.", func(context.Context, struct{}) ([]eventID, error) { return []eventID{{"e7"}}, nil }),
		tools.New("delete_event", "Deletes an event.", func(_ context.Context, in eventID) (string, error) { return "deleted " + in.ID, nil }),
		tools.New("fail", "Fails.", func(context.Context, struct{}) (string, error) { return "", errors.New("no connection") }),
	)
	if err != nil {
		panic(err)
	}
	return set
}

// A person approves a plan as a whole, and is asked again about a call whose argument is
// known only when the plan runs.
func ExampleApproved() {
	set, ctx := calendar(), context.Background()
	actions := []tools.Action{
		{ID: "old", Tool: "delete_event", Arguments: json.RawMessage(`{"id":"e1"}`)},
		{ID: "find", Tool: "search_events"},
		{ID: "drop", Tool: "delete_event", Arguments: json.RawMessage(`{"id":"${find.0.id}"}`)},
	}
	deletions := tools.Named("delete_*")
	questions, err := plan.Questions(ctx, set, actions, deletions)
	if err != nil {
		panic(err)
	}
	fmt.Println("approved:", string(questions[0].Arguments))
	ask := plan.Approved(questions, func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
		fmt.Println("asked:", string(q.Arguments))
		return q.Reject("keep it"), nil
	})
	results, err := plan.Run(ctx, set, actions, plan.Options{Tools: tools.Options{Approval: tools.Approval{Rule: deletions, Ask: ask}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(results["old"].Message)
	fmt.Println(results["drop"].Message)
	// Output:
	// approved: {"id":"e1"}
	// asked: {"id":"e7"}
	// deleted e1
	// a person rejected this call: keep it
}

// An action can use the result of another. If an action fails, only the actions that
// depend on it are skipped.
func ExampleRun() {
	results, err := plan.Run(context.Background(), calendar(), []tools.Action{
		{ID: "drop", Tool: "delete_event", Arguments: json.RawMessage(`{"id":"${find.0.id}"}`)},
		{ID: "find", Tool: "search_events"},
		{ID: "other", Tool: "fail"},
		{ID: "after", Tool: "search_events", DependsOn: []string{"other"}},
	}, plan.Options{})
	if err != nil {
		panic(err)
	}
	for _, id := range slices.Sorted(maps.Keys(results)) {
		fmt.Printf("%s: %v %s\n", id, results[id].Success, results[id].Message)
	}
	// Output:
	// after: false skipped: action "other" did not succeed
	// drop: true deleted e7
	// find: true [{"id":"e7"}]
	// other: false no connection
}

// Check reports all mistakes of a plan before an action runs.
func ExampleCheck() {
	fmt.Println(plan.Check(calendar(), []tools.Action{
		{ID: "a", Tool: "delete_event", Arguments: json.RawMessage(`{"id":"${b.id}"}`)},
		{ID: "c", Tool: "delete_evnt", DependsOn: []string{"x"}},
	}, nil))
	fmt.Println(plan.Check(calendar(), []tools.Action{
		{ID: "a", Tool: "search_events", DependsOn: []string{"b"}},
		{ID: "b", Tool: "search_events", DependsOn: []string{"a"}},
	}, nil))
	// Output:
	// plan: invalid plan: action "a": id: there is no action for the reference "${b.id}"; write $${ for a text with ${
	// action "c": there is no tool "delete_evnt"
	// it depends on "x", and there is no such action
	// plan: invalid plan: the actions wait for each other in a circle: a → b → a
}
