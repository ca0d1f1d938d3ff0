package assistant

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// MaxIterations is the maximum number of model calls while the planner plans a turn.
const MaxIterations = 16

// A Desk has the tools that the assistant uses, descriptions of their actions, and the time.
type Desk struct {
	Tools *tools.Set
	// Describe returns a description of an action, for a person.
	Describe func(ctx context.Context, a tools.Action) string
	// Now returns the time, in the person's zone.
	Now func() time.Time
}

// An assistant has the data that the nodes share.
type assistant struct {
	Desk
	model llm.Model
}

// planner returns the prebuilt agent with the three meta-tools, which stand for all tools. It runs a call of a tool
// that is not destructive at once, and adds a destructive call to Actions.
func (a *assistant) planner() (*graph.Graph, error) {
	maker, err := tools.NewSet(plan.Tool(a.Tools, Actions).Annotate(tools.Annotations{Category: "plan", Action: "create"}))
	if err != nil {
		return nil, err
	}
	all, err := a.Tools.Merge(maker)
	if err != nil {
		return nil, err
	}
	return agent.New(PlanActions, a.model, all.Meta(), agent.Options{
		Use: []agent.Middleware{
			middleware.Shorten(middleware.History{Pruning: llm.Pruning{MaxTokens: 16_000, MinMessages: 2 * MaxIterations}}),
			{
				Prompt: func(_ context.Context, r agent.Run) (string, error) {
					now := SessionContext.Get(r.State)
					return fmt.Sprintf(planPrompt, now["today"], now["now"]), nil
				},
				BeforeAgent: func(_ context.Context, r agent.Run) (state.Update, error) { return a.begin(r.State) },
				AfterModel: func(_ context.Context, r agent.Run, reply *llm.Message) (state.Update, error) {
					return append(a.review(r.State), putAside(reply)...), nil
				},
				WrapModel:  silently,
				AfterAgent: func(_ context.Context, r agent.Run) (state.Update, error) { return withdraw(r.State), nil },
			},
		},
		MaxTurns: MaxIterations,
		Messages: History,
		Channels: slices.DeleteFunc(slices.Clone(channels), func(c state.Handle) bool { return c.Name() == History.Name() }),
		Tools:    tools.Options{Planning: &tools.Planning{Actions: Actions}},
	})
}

// begin starts a turn with the user's last message. If a question is open and the message is a yes or a no, the
// message is its answer, and the planner stops. Any other message is a new request, and the question stays open.
func (a *assistant) begin(s state.View) (state.Update, error) {
	last, _ := History.Last(s)
	said := Answer{Text: last.Text()}
	open := PendingConfirmation.Get(s)
	if open != nil && (agreed(&said) || declined(&said)) {
		said.To = open.ID
		return state.Update{UserConfirmation.Put(&said), UserMessage.Put(cmp.Or(open.Request, said.Text))}, agent.Stop(llm.Message{})
	}
	if before := UserConfirmation.Get(s); open == nil && before != nil {
		open = before.Next
	}
	now := a.Now()
	return state.Update{
		UserMessage.Put(said.Text),
		SessionContext.Put(map[string]string{"now": now.Format(time.RFC3339), "today": now.Format("Monday 2 January 2006"), planner: ""}),
		PendingConfirmation.Put(open),
		// Clear the rest of the previous turn.
		Actions.Overwrite(nil), RequiresConfirmation.Put(false), ExecutionMode.Put(""), Results.Overwrite(nil),
		UserConfirmation.Put(nil), ConfirmationMessage.Put(""), FinalResponse.Put(""),
		DiscoveredTools.Overwrite(nil), ToolInvocations.Overwrite(nil), Error.Put(""),
	}, nil
}

// planner is the key of the planner's last reply in SessionContext.
const planner = "planner"

// putAside moves the text of the planner's last reply to SessionContext, because the answer of synthesize_response
// replaces that reply in the conversation.
func putAside(reply *llm.Message) state.Update {
	if len(reply.ToolCalls) > 0 {
		return nil
	}
	said := reply.Text()
	reply.Parts = nil
	return state.Update{SessionContext.Put(map[string]string{planner: said})}
}

// withdraw removes the planner's last reply from the conversation.
func withdraw(s state.View) state.Update {
	last, _ := History.Last(s)
	if last.Role != llm.RoleAssistant || len(last.ToolCalls) > 0 {
		return nil
	}
	return state.Update{History.Remove(last.ID)}
}

// silently calls the model without streaming its reply.
func silently(ctx context.Context, c agent.ModelCall, _ agent.ModelFunc) (agent.Reply, error) {
	c.Request.Messages = append([]llm.Message{llm.System(c.System)}, c.Request.Messages...)
	m, err := llm.Generate(ctx, c.Model, c.Request)
	return agent.Reply{Message: m}, err
}

// review sets the tools that the planner has found, its calls and their results in this turn, and whether the actions
// need a confirmation. It runs after each reply of the model.
func (a *assistant) review(s state.View) state.Update {
	actions := Actions.Get(s)
	var found []string
	var calls []tools.Action
	results := map[string]plan.Result{}
	for _, step := range steps(turn(History.Get(s))) {
		switch step.call.Name {
		case tools.DiscoverTools:
			for line := range strings.Lines(step.answer.Text()) {
				name, _, _ := strings.Cut(line, " ")
				if _, ok := a.Tools.Lookup(name); ok && !slices.Contains(found, name) {
					found = append(found, name)
				}
			}
		case tools.InvokeTool:
			action := invoked(step.call)
			calls = append(calls, action)
			noted := slices.ContainsFunc(actions, func(b tools.Action) bool { return b.ID == action.ID })
			if !noted && action.Tool != plan.MakePlan {
				results[action.ID] = plan.Result{Success: step.answer.Status != llm.StatusError, Message: step.answer.Text()}
			}
		}
	}
	return state.Update{
		DiscoveredTools.Overwrite(found), ToolInvocations.Overwrite(calls), Results.Overwrite(results),
		RequiresConfirmation.Put(a.destructive(actions)),
	}
}
