package tools

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
)

// Node returns a graph node that calls the tools which the last assistant
// message asks for and which no message after it answers, and puts the answers
// into the channel in the order of the calls. Without such calls it changes
// nothing.
//
// All calls are one task. When one of them pauses or fails the node, the others
// are called again with it, unless [Options.Once] remembers their answers. Where
// a tool may do so, set it, or send each call to a [CallNode].
func Node(s *Set, messages *state.KeyedChannel[llm.Message], o Options) func(context.Context, state.View) (state.Update, error) {
	return func(ctx context.Context, view state.View) (state.Update, error) {
		answers, err := s.CallAll(ctx, Pending(messages.Get(view)), o)
		if err != nil || len(answers) == 0 {
			return nil, err
		}
		return state.Update{messages.Put(answers...)}, nil
	}
}

// CallNode returns a graph node that calls the tool which was sent to it in a
// channel, and puts the answer into the messages. Each call sent is a task of
// its own: one that pauses or fails does not make the others run again.
//
//	for _, call := range tools.Pending(Messages.Get(view)) {
//		update = append(update, graph.Send("tool", Call.Put(call)))
//	}
func CallNode(s *Set, call *state.Channel[llm.ToolCall, llm.ToolCall], messages *state.KeyedChannel[llm.Message], o Options) func(context.Context, state.View) (state.Update, error) {
	return func(ctx context.Context, view state.View) (state.Update, error) {
		c, ok := call.Lookup(view)
		if !ok {
			return nil, fmt.Errorf("tools: no call was sent in channel %q", call.Name())
		}
		answer, err := s.Call(ctx, c, o)
		if err != nil {
			return nil, err
		}
		return state.Update{messages.Put(answer)}, nil
	}
}

// Pending returns the tool calls of the last assistant message which no message
// after it answers, in order.
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
