package tools

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Node returns a graph node that calls tools: all calls of the last assistant message that
// no later message answers. It puts the answers into the channel in the order of the calls.
// Without such calls it changes nothing.
//
// An error of a tool is the answer of its call, and does not fail the node: node.Retry repeats
// nothing unless [Options].OnError returns the error, as [ReturnErrors] does.
//
// All calls run in one task, and none runs until all calls that need approval have it. If a
// call pauses or fails the node, the next run of the node makes the other calls again,
// unless [Options].Once stores their answers. If a tool may pause or fail the node, set
// Once or send each call to a [CallNode].
func Node(s *Set, messages *state.KeyedChannel[llm.Message], o Options) func(context.Context, state.View) (state.Update, error) {
	return func(ctx context.Context, view state.View) (state.Update, error) {
		calls := Pending(messages.Get(view))
		if len(calls) == 0 {
			return nil, nil
		}
		ctx, err := o.Bind.Apply(ctx, view)
		if err != nil {
			return nil, err
		}
		outcomes, err := s.runAll(ctx, calls, o)
		if err != nil {
			return nil, err
		}
		answers := make([]llm.Message, len(outcomes))
		var update state.Update
		for i, out := range outcomes {
			answers[i] = out.Message
			update = append(update, out.Update...)
		}
		return append(state.Update{messages.Put(answers...)}, update...), nil
	}
}

// CallNode returns a graph node that calls the tool of the call in a channel, and puts the
// answer into messages. Each sent call is a task: if it pauses or fails, the other calls do
// not run again, and the graph stores the result of each, writes included. [Options].Once
// then stores approvals only.
//
//	for _, call := range tools.Pending(Messages.Get(view)) {
//		update = append(update, graph.Send("tool", Call.Put(call)))
//	}
func CallNode(s *Set, call *state.Channel[llm.ToolCall, llm.ToolCall], messages *state.KeyedChannel[llm.Message], o Options) func(context.Context, state.View) (state.Update, error) {
	o.ByTask = true
	return func(ctx context.Context, view state.View) (state.Update, error) {
		c, ok := call.Lookup(view)
		if !ok {
			return nil, fmt.Errorf("tools: no call was sent in channel %q", call.Name())
		}
		ctx, err := o.Bind.Apply(ctx, view)
		if err != nil {
			return nil, err
		}
		out, err := s.Run(ctx, c, o)
		if err != nil {
			return nil, err
		}
		return append(state.Update{messages.Put(out.Message)}, out.Update...), nil
	}
}

// Pending returns the calls of the last assistant message that no later message answers, in
// order.
func Pending(messages []llm.Message) []llm.ToolCall {
	answered := map[string]bool{}
	for i := len(messages) - 1; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case llm.RoleTool:
			answered[m.ToolCallID] = true
		case llm.RoleAssistant:
			var pending []llm.ToolCall
			for _, call := range m.ToolCalls {
				if !answered[call.ID] {
					pending = append(pending, call)
				}
			}
			return pending
		}
	}
	return nil
}
