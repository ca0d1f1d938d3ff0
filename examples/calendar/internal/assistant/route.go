package assistant

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

func (a *assistant) destructive(actions []tools.Action) bool {
	return slices.ContainsFunc(actions, func(action tools.Action) bool {
		t, ok := a.Tools.Lookup(action.Tool)
		return !ok || t.Annotations().Destructive
	})
}

// route chooses the execution mode of the actions. If one of them is destructive, it prepares the question to the
// user.
func (a *assistant) route(ctx context.Context, s state.View) (state.Update, error) {
	actions := Actions.Get(s)
	if !a.destructive(actions) {
		return state.Update{ExecutionMode.Put(inOrder(actions))}, nil
	}
	id, err := plan.Hash(actions)
	if err != nil {
		return nil, err
	}
	questions, err := plan.Questions(ctx, a.Tools, actions, tools.Destructive())
	if err != nil && !errors.Is(err, plan.ErrInvalid) { // the execution reports an invalid plan
		return nil, err
	}
	var parts []string
	for _, action := range actions {
		parts = append(parts, tools.VisibleLine(a.Describe(ctx, action)))
	}
	text := "This will " + parts[0] + ". Confirm? (yes/no)"
	if len(parts) > 1 {
		text = "This will:\n  - " + strings.Join(parts, "\n  - ") + "\nConfirm? (yes/no)"
	}
	c := &Confirmation{
		ID: id, Message: text, Actions: actions, Steps: parts, Questions: questions,
		Request: UserMessage.Get(s), Invocations: ToolInvocations.Get(s), Results: Results.Get(s), Next: PendingConfirmation.Get(s),
	}
	if c.Next.asks(actions) { // the same question, asked again
		c.Next = c.Next.Next
	}
	return state.Update{ExecutionMode.Put(Confirm), ConfirmationMessage.Put(text), PendingConfirmation.Put(c)}, nil
}

func inOrder(actions []tools.Action) Mode {
	if plan.Ordered(actions) {
		return Sequential
	}
	return Parallel
}

// byMode chooses the node after route_execution.
func byMode(s state.View) (string, error) {
	switch ExecutionMode.Get(s) {
	case Confirm:
		return ConfirmActions, nil
	case Sequential:
		return ExecuteSequential, nil
	}
	return ExecuteParallel, nil
}
