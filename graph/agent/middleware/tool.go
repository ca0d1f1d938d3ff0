package middleware

import (
	"context"
	"slices"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// RetryTools retries tools that fail; see [tools.WithRetry]. Without names, it applies to all
// tools.
func RetryTools(p tools.RetryPolicy, names ...string) agent.Middleware {
	return agent.Middleware{Name: "retry tools", ToolNames: names, WrapTool: func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
		if len(names) == 0 || slices.Contains(names, tools.Invoked(c.Call)) {
			ctx = tools.WithRetry(ctx, p)
		}
		return next(ctx, c)
	}}
}

// Approve requires the approval of a person for the calls that the rule selects, in addition
// to Options.Tools.Approval; see [agent.Approval].
func Approve(rule tools.Rule) agent.Middleware {
	return agent.Middleware{Name: "approve", Approve: rule}
}
