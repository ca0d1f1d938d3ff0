package assistant

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/graph/agent/middleware"
	"github.com/weft-go/weft/graph/node"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// The nodes of the graph.
const (
	PlanActions        = "plan_actions"
	RouteExecution     = "route_execution"
	ConfirmActions     = "confirm_actions"
	ExecuteParallel    = "execute_parallel"
	ExecuteSequential  = "execute_sequential"
	SynthesizeResponse = "synthesize_response"
)

// MaxIterations is how often the model is asked while it plans.
const MaxIterations = 16

// An assistant is what the nodes share.
type assistant struct {
	model    llm.Model
	tools    *tools.Set
	describe func(ctx context.Context, a tools.Action) string
}

// New builds the graph. Describe says to a person what an action will do.
//
//	plan_actions ─▶ route_execution ─┬▶ execute_parallel ───┬▶ synthesize_response
//	                                 ├▶ execute_sequential ─┤
//	                                 └▶ confirm_actions ────┘ (to either, or past both)
func New(model llm.Model, set *tools.Set, describe func(context.Context, tools.Action) string, store checkpoint.Store) (*graph.Graph, error) {
	a := &assistant{model, set, describe}
	planner, err := a.planner()
	if err != nil {
		return nil, err
	}
	b := graph.New("calendar", channels...)
	b.Subgraph(PlanActions, planner)
	b.Node(RouteExecution, a.route)
	b.Node(ConfirmActions, a.confirm)
	b.Node(ExecuteParallel, a.execute(0))
	b.Node(ExecuteSequential, a.execute(1))
	b.Node(SynthesizeResponse, node.Recover(a.unspoken, a.synthesize))
	b.Edge(graph.Start, PlanActions)
	b.Edge(PlanActions, RouteExecution)
	b.Branch(RouteExecution, byMode, ConfirmActions, ExecuteParallel, ExecuteSequential)
	b.Branch(ConfirmActions, byAnswer, ConfirmActions, ExecuteParallel, ExecuteSequential, SynthesizeResponse)
	b.Edge(ExecuteParallel, SynthesizeResponse)
	b.Edge(ExecuteSequential, SynthesizeResponse)
	b.Edge(SynthesizeResponse, graph.End)
	return b.Compile(graph.Options{Checkpoints: store, PauseBefore: []string{ConfirmActions}})
}

// planner is the prebuilt agent with three tools that stand for all. What reads
// or adds is called at once; what is destructive is noted in Actions.
func (a *assistant) planner() (*graph.Graph, error) {
	maker, err := tools.NewSet(plan.Tool(a.tools, Actions).Annotate(tools.Annotations{Category: "plan", Action: "create"}))
	if err != nil {
		return nil, err
	}
	all, err := a.tools.Merge(maker)
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
				AfterModel: func(_ context.Context, r agent.Run, _ *llm.Message) (state.Update, error) {
					return a.review(r.State), nil
				},
			},
		},
		MaxTurns: MaxIterations,
		Messages: History,
		Channels: []state.Handle{Actions, RequiresConfirmation, Results, SessionContext, DiscoveredTools, ToolInvocations},
		Tools:    tools.Options{Planning: &tools.Planning{Actions: Actions}},
	})
}

// review keeps the books of the planning: after each reply of the model, what
// was found, called and answered so far in this turn.
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
				if _, ok := a.tools.Lookup(name); ok && !slices.Contains(found, name) {
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

func (a *assistant) destructive(actions []tools.Action) bool {
	return slices.ContainsFunc(actions, func(action tools.Action) bool {
		t, ok := a.tools.Lookup(action.Tool)
		return !ok || t.Annotations().Destructive
	})
}

// route decides how the actions are run, and says what the user is to be asked:
// the run stops before confirm_actions, not in it.
func (a *assistant) route(ctx context.Context, s state.View) (state.Update, error) {
	actions := Actions.Get(s)
	if !a.destructive(actions) {
		return state.Update{ExecutionMode.Put(inOrder(actions))}, nil
	}
	id, err := plan.Hash(actions)
	if err != nil {
		return nil, err
	}
	questions, err := plan.Questions(ctx, a.tools, actions, tools.Destructive())
	if err != nil && !errors.Is(err, plan.ErrInvalid) { // the execution reports an invalid plan
		return nil, err
	}
	var parts []string
	for _, action := range actions {
		parts = append(parts, tools.VisibleLine(a.describe(ctx, action)))
	}
	text := "This will " + parts[0] + ". Confirm? (yes/no)"
	if len(parts) > 1 {
		text = "This will:\n  - " + strings.Join(parts, "\n  - ") + "\nConfirm? (yes/no)"
	}
	return state.Update{
		ExecutionMode.Put(Confirm), ConfirmationMessage.Put(text),
		PendingConfirmation.Put(&Confirmation{ID: id, Message: text, Actions: actions, Questions: questions}),
	}, nil
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

// confirm takes the answer that the user gave while the run was paused. What is
// no answer to this question leaves it open.
func (a *assistant) confirm(_ context.Context, s state.View) (state.Update, error) {
	said, pending := UserConfirmation.Get(s), PendingConfirmation.Get(s)
	switch {
	case said == nil || pending == nil || said.To != pending.ID:
		return state.Update{UserConfirmation.Put(nil)}, nil
	case !agreed(said):
		return state.Update{PendingConfirmation.Put(nil), Actions.Overwrite(nil)}, nil
	}
	yes := Answer{To: said.To, Text: said.Text, Approved: pending.Questions}
	return state.Update{PendingConfirmation.Put(nil), UserConfirmation.Put(&yes)}, nil
}

// byAnswer chooses the node after confirm_actions, which itself asks again.
func byAnswer(s state.View) (string, error) {
	switch said := UserConfirmation.Get(s); {
	case said == nil:
		return ConfirmActions, nil
	case !agreed(said):
		return SynthesizeResponse, nil
	case plan.Ordered(Actions.Get(s)):
		return ExecuteSequential, nil
	}
	return ExecuteParallel, nil
}

// agreed reports whether an answer is a yes. Everything else is a no.
func agreed(said *Answer) bool {
	word := strings.ToLower(strings.Trim(said.Text, " \t\r\n.!"))
	return word == "yes" || word == "y"
}

// execute runs the actions, each at most 30 seconds and five at a time unless
// told otherwise. Its results are stored one by one, so that what a killed run
// has done is not done again. The yes to the plan is for the calls that the question
// showed; it asks about each other destructive call when its arguments are known.
func (a *assistant) execute(parallel int) graph.NodeFunc {
	run := func(ctx context.Context, s state.View) (state.Update, error) {
		var approved []tools.Question
		if said := UserConfirmation.Get(s); said != nil {
			approved = said.Approved
		}
		return plan.Node(a.tools, Actions, Results, tools.Options{
			MaxParallel: parallel, Timeout: 30 * time.Second, Once: graph.Once[llm.Message], Emit: graph.Emit,
			Approval: tools.Approval{Rule: tools.Destructive(), Ask: plan.Approved(approved, a.askLate)},
		})(ctx, s)
	}
	return node.Recover(func(_ context.Context, _ state.View, err error) (state.Update, error) {
		return state.Update{Error.Put(err.Error())}, nil
	}, run)
}

// askLate asks about one call of a running plan.
func (a *assistant) askLate(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
	text := a.describe(ctx, tools.Action{ID: q.CallID, Tool: q.Tool, Arguments: q.Arguments})
	return askLate.WaitKey(ctx, key, lateQuestion{"This will " + tools.VisibleLine(text) + ". Confirm? (yes/no)", q})
}
