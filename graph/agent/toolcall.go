package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// callNode returns the node that runs one tool call in each task.
func (a *agent) callNode() graph.NodeFunc {
	o := a.options.Tools
	o.ByTask = true
	emit := o.Emit
	o.Emit = func(ctx context.Context, value any) {
		// The call of a sub-agent is finished when the sub-agent has answered.
		if f, ok := value.(tools.CallFinished); !ok || f.Answer.Status == llm.StatusError || !a.isMember(f.Call.Name) {
			emit(ctx, value)
		}
	}
	run := a.wrapTool(func(ctx context.Context, c ToolCall) (tools.Outcome, error) {
		out, err := a.tools.Run(ctx, c.Call, o)
		if err != nil {
			err = &innerError{err}
		}
		return out, err
	})
	return func(ctx context.Context, s state.View) (state.Update, error) {
		c, p := call.Get(s), a.run.Get(s)
		refused := p.Refused[c.ID]
		if withheld.Get(s) {
			refused = notOffered(c)
		}
		if refused != "" || a.isAnswer(c) {
			answer := llm.ToolError(c, refused)
			if refused == "" {
				answer = a.rejectAnswer(c)
			}
			emit(ctx, tools.CallFinished{Call: c, Answer: answer})
			return state.Update{a.messages.Put(answer)}, nil
		}
		ctx, err := o.Bind.Apply(ctx, s)
		if err != nil {
			return nil, err
		}
		out, err := run(ctx, ToolCall{Run{a.name, s, a.messages, p.Turns, p.Usage}, c})
		if stop := controlOf(err); stop != nil && stop.to == "" {
			if err := checkStop(stop.message); err != nil {
				return nil, err
			}
			out = tools.Outcome{Message: llm.ToolError(c, "The tool was not called: the run was stopped.")}
			emit(ctx, tools.CallFinished{Call: c, Answer: out.Message})
			return state.Update{a.messages.Put(out.Message), a.stop.Put(&stop.message)}, nil
		}
		if err != nil {
			return nil, err
		}
		if err := checkOutcome(c, out); err != nil {
			return nil, err
		}
		return append(state.Update{a.messages.Put(out.Message)}, out.Update...), nil
	}
}

// wrapTool returns next, wrapped by the middleware.
func (a *agent) wrapTool(next ToolFunc) ToolFunc {
	for i := range slices.Backward(a.options.Use) {
		m, inner := &a.options.Use[i], next
		if m.WrapTool == nil {
			continue
		}
		next = func(ctx context.Context, c ToolCall) (tools.Outcome, error) {
			out, err := m.WrapTool(ctx, c, inner)
			if err != nil {
				err = labelled(m.label(i)+": tool call", err)
			}
			return out, err
		}
	}
	return next
}

// checkOutcome returns an error for an outcome that does not answer the call.
func checkOutcome(c llm.ToolCall, out tools.Outcome) error {
	err := out.Message.Validate()
	if err == nil && (out.Message.Role != llm.RoleTool || out.Message.ToolCallID != c.ID) {
		err = errors.New("the message does not answer the call; create it with llm.ToolResult or llm.ToolError")
	}
	if err != nil {
		return &labelledError{"a middleware around the call " + c.ID + " of tool " + c.Name, errors.Join(err, llm.ErrInvalid)}
	}
	return nil
}
