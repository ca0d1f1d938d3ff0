package agent

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

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
		if _, ok := value.(tools.CallFinished); !ok { // a middleware may change the answer
			emit(ctx, value)
		}
	}
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
		var last atomic.Pointer[tools.Outcome] // the last outcome of the tool; it has no message if the tool returned an error
		run := a.wrapTool(func(ctx context.Context, c ToolCall) (tools.Outcome, error) {
			out, err := a.tools.Run(ctx, c.Call, o)
			if err != nil {
				last.Store(&tools.Outcome{})
				return out, &innerError{err}
			}
			last.Store(&out)
			return out, nil
		})
		out, err := run(ctx, ToolCall{Run{a.name, s, a.messages, p.Turns, p.Usage}, c})
		var end state.Update
		if stop := controlOf(err); stop != nil && stop.to == "" {
			if err := checkStop(stop.message); err != nil {
				return nil, err
			}
			end = state.Update{a.stop.Put(&stop.message)}
			out = a.outcomeOfStop(c, out, last.Load())
			err = nil
		}
		if err != nil {
			return nil, err
		}
		if err := checkOutcome(c, out); err != nil {
			return nil, err
		}
		// The call of a sub-agent is finished when the sub-agent has answered.
		if !a.isMember(c.Name) || !slices.ContainsFunc(out.Update, isSignal) {
			emit(ctx, tools.CallFinished{Call: c, Answer: out.Message})
		}
		return slices.Concat(state.Update{a.messages.Put(out.Message)}, out.Update, end), nil
	}
}

// outcomeOfStop returns the outcome of a call whose middleware stopped the run: the outcome that the
// middleware returned, or the last outcome of the tool, or an error if there is none. A call that hands over to a
// sub-agent or another agent gets an error too, because the handover has not taken effect yet. For any other tool, the
// outcome loses its signals, such as a Goto, and keeps its result and its other writes.
func (a *agent) outcomeOfStop(c llm.ToolCall, out tools.Outcome, ran *tools.Outcome) tools.Outcome {
	if out.Message.Role == "" && ran != nil && ran.Message.Role != "" {
		out = *ran
	}
	why := "The tool was not called: the run was stopped."
	if ran != nil {
		why = "The tool gave no result: the run was stopped."
	}
	switch {
	case !slices.ContainsFunc(out.Update, isSignal):
	case a.isMember(c.Name) || slices.Contains(a.handoffs, c.Name):
		out, why = tools.Outcome{}, "The tool was not called: the run was stopped."
	default:
		out.Update = slices.DeleteFunc(slices.Clone(out.Update), isSignal)
	}
	if out.Message.Role == "" {
		out = tools.Outcome{Message: llm.ToolError(c, why)}
	}
	return out
}

// isSignal reports whether a write is a signal, such as one that starts a sub-agent or another agent.
func isSignal(w state.Write) bool { return w.Signal() != nil }

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
