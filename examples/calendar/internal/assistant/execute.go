package assistant

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// execute returns a node that runs the actions: at most parallel at a time (0 means five), each for at most 30
// seconds. It stores each result, so that a resumed run does not repeat finished calls. A yes to the plan approves
// the calls that the question showed. The node asks about every other destructive call once its arguments are known.
func (a *assistant) execute(parallel int) graph.NodeFunc {
	run := func(ctx context.Context, s state.View) (state.Update, error) {
		var approved []tools.Question
		if said := UserConfirmation.Get(s); said != nil {
			approved = said.Approved
		}
		update, err := plan.Node(a.Tools, Actions, Results, tools.Options{
			MaxParallel: parallel, Timeout: 30 * time.Second, Once: graph.Once[llm.Message], Emit: graph.Emit,
			Approval: tools.Approval{Rule: tools.Destructive(), Ask: plan.Approved(approved, a.askLate)},
		})(ctx, s)
		if err != nil {
			return update, err
		}
		after, err := state.Apply(s, update...)
		if err != nil {
			return nil, err
		}
		return append(update, called(after)...), nil
	}
	return node.Recover(func(_ context.Context, _ state.View, err error) (state.Update, error) {
		return state.Update{Error.Put(err.Error())}, nil
	}, run)
}

// called adds each executed action to the conversation, as a call with its result.
func called(s state.View) state.Update {
	results := Results.Get(s)
	var calls []llm.ToolCall
	var answers []llm.Message
	for _, action := range Actions.Get(s) {
		result, ok := results[action.ID]
		if !ok {
			continue
		}
		// The id differs from the id of the call that noted the action.
		c := llm.ToolCall{ID: fmt.Sprintf("%s_%d", lastSaid(s), len(calls)+1), Name: tools.InvokeTool, Arguments: invocation(action)}
		answer := llm.ToolResult(c, result.Message)
		if !result.Success {
			answer.Status = llm.StatusError
		}
		calls, answers = append(calls, c), append(answers, answer)
	}
	if len(calls) == 0 {
		return nil
	}
	m := llm.Assistant("", calls...)
	m.Name = PlanActions
	return state.Update{History.Put(append([]llm.Message{m}, answers...)...)}
}

// lastSaid returns the id of the user's last message.
func lastSaid(s state.View) (id string) {
	for _, m := range History.All(s) {
		if m.Role == llm.RoleUser {
			id = m.ID
		}
	}
	return id
}

// askLate asks about one call of a running plan.
func (a *assistant) askLate(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
	q.Description = "This will " + tools.VisibleLine(a.Describe(ctx, tools.Action{ID: q.CallID, Tool: q.Tool, Arguments: q.Arguments})) + "."
	return askLate.WaitKey(ctx, key, q)
}
