package middleware

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph/agent"
	"github.com/weft-go/weft/tools"
)

// Hooks observe the calls of an agent. Either field may be nil. They cannot change a call.
type Hooks struct {
	// Model is called before each model call. It returns the context of the call, and a function
	// that is called after the call with the result and the duration.
	// The error of a call that waits for an answer of a person is a pause, which [graph.IsPause]
	// reports: do not count it as an error.
	Model func(ctx context.Context, c agent.ModelCall) (context.Context, func(agent.Reply, error, time.Duration))
	// Tool is called before each tool call, and its function after the call. If a tool fails, the
	// outcome has an error status and the error is nil. The error of a tool call that waits for an
	// approval is a pause, too.
	Tool func(ctx context.Context, c agent.ToolCall) (context.Context, func(tools.Outcome, error, time.Duration))
}

// Trace calls hooks around each model call and each tool call, for spans, metrics or logs. Put it
// first in Options.Use to observe whole calls, or last to observe each attempt.
func Trace(h Hooks) agent.Middleware {
	m := agent.Middleware{Name: "trace"}
	if h.Model != nil {
		m.WrapModel = func(ctx context.Context, c agent.ModelCall, next agent.ModelFunc) (agent.Reply, error) {
			start := time.Now()
			ctx, done := h.Model(ctx, c)
			reply, err := next(ctx, c)
			if done != nil {
				done(reply, err, time.Since(start))
			}
			return reply, err
		}
	}
	if h.Tool != nil {
		m.WrapTool = func(ctx context.Context, c agent.ToolCall, next agent.ToolFunc) (tools.Outcome, error) {
			start := time.Now()
			ctx, done := h.Tool(ctx, c)
			out, err := next(ctx, c)
			if done != nil {
				done(out, err, time.Since(start))
			}
			return out, err
		}
	}
	return m
}
