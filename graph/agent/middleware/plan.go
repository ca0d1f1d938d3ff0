package middleware

import (
	"context"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

// Plan gives the model the tool run_plan. It runs a plan: tool calls that may use each other's
// results, without a model call between them; see [plan.RunTool]. A call that the rule selects needs
// the approval of a person, who sees its final arguments; see [agent.Approval]. Actions that have
// ended do not run again when the agent resumes. A tool that returns writes fails in a plan.
//
// The model needs to know the tools: give the same set to the agent, or describe them in the prompt.
// The whole plan has to end within Options.Tools.Timeout.
func Plan(set *tools.Set, rule tools.Rule) agent.Middleware {
	return agent.Middleware{Name: "plan", Tools: []tools.Tool{plan.RunTool(set, tools.Options{
		Once: graph.Once[llm.Message], Emit: graph.Emit,
		Approval: tools.Approval{Rule: rule, Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return agent.Approval.WaitKey(ctx, key, q)
		}},
	})}}
}
