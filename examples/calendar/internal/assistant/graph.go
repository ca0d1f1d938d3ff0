// Package assistant is the graph of an assistant. It plans a request with tools, and asks a person before it executes a
// destructive action. Then it answers with the results. The caller chooses the tools.
package assistant

import (
	"github.com/weft-go/weft/graph"
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

// The state of a conversation.
var (
	UserMessage          = state.Last[string]("user_message")
	History              = state.Keyed("conversation_history", llm.ByID)
	Actions              = state.Append[tools.Action]("actions")
	RequiresConfirmation = state.Last[bool]("requires_confirmation")
	ExecutionMode        = state.Last[Mode]("execution_mode")
	Results              = state.Map[string, plan.Result]("results")
	PendingConfirmation  = state.Last[*Confirmation]("pending_confirmation")
	UserConfirmation     = state.Last[*Answer]("user_confirmation")
	ConfirmationMessage  = state.Last[string]("confirmation_message")
	FinalResponse        = state.Last[string]("final_response")
	SessionID            = state.Last[string]("session_id")
	SessionContext       = state.Map[string, string]("session_context")
	DiscoveredTools      = state.Append[string]("discovered_tools")
	ToolInvocations      = state.Append[tools.Action]("tool_invocations")
	Error                = state.Last[string]("error")
)

var channels = []state.Handle{
	UserMessage, History, Actions, RequiresConfirmation, ExecutionMode, Results, PendingConfirmation, UserConfirmation,
	ConfirmationMessage, FinalResponse, SessionID, SessionContext, DiscoveredTools, ToolInvocations, Error,
}

// New builds the graph. With confirm_actions in PauseBefore, a run pauses before that node, and takes the answer of
// [Confirmation.Answer]. Otherwise the node itself asks, with a form.
//
//	plan_actions ─▶ route_execution ─┬▶ execute_parallel ───┬▶ synthesize_response
//	                                 ├▶ execute_sequential ─┤
//	                                 └▶ confirm_actions ────┘ (by the answer: to one of the two above, or past them)
//
// If a request comes while a question is open, the graph answers the request first. Then synthesize_response leads back
// to confirm_actions with that question.
func New(model llm.Model, d Desk, o graph.Options) (*graph.Graph, error) {
	a := &assistant{d, model}
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
	b.Node(SynthesizeResponse, reopening(node.Recover(a.unspoken, a.synthesize)))
	b.Edge(graph.Start, PlanActions)
	b.Edge(PlanActions, RouteExecution)
	b.Branch(RouteExecution, byMode, ConfirmActions, ExecuteParallel, ExecuteSequential)
	b.Branch(ConfirmActions, byAnswer, ExecuteParallel, ExecuteSequential, SynthesizeResponse)
	b.Edge(ExecuteParallel, SynthesizeResponse)
	b.Edge(ExecuteSequential, SynthesizeResponse)
	b.Branch(SynthesizeResponse, byOpen, ConfirmActions, graph.End)
	return b.Compile(o)
}
