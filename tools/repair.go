package tools

import "github.com/weft-go/weft/llm"

// NotCalled is the answer that [Repair] adds to a call without an answer.
const NotCalled = "The tool was not called: the conversation went on without it."

// Repair returns a conversation that every provider accepts. Each message with tool calls
// is followed by exactly one answer for each call, in the order of the calls. Repair moves
// answers to their place, keeps the last of several answers to a call, and removes answers
// that belong to no call. A call has no answer if its run was cancelled, or if the user
// continued while the call waited for approval; Repair answers it with [NotCalled], as an
// error. Repair does not change the slice messages, and returns it unchanged if it needs no
// repair.
//
// Call Repair on the messages for a model after a history was loaded or pruned, but not
// while calls are [Pending] that should still run.
func Repair(messages []llm.Message) []llm.Message {
	if inOrder(messages) {
		return messages
	}
	type key struct {
		message int
		call    string
	}
	answers := map[key]llm.Message{}
	newest := map[string]int{} // the last message so far with a call of this id
	for i, m := range messages {
		for _, call := range m.ToolCalls {
			newest[call.ID] = i
		}
		if at, ok := newest[m.ToolCallID]; ok && m.Role == llm.RoleTool {
			answers[key{at, m.ToolCallID}] = m
		}
	}
	var out []llm.Message
	for i, m := range messages {
		if m.Role == llm.RoleTool {
			continue
		}
		out = append(out, m)
		for _, call := range m.ToolCalls {
			answer, ok := answers[key{i, call.ID}]
			if !ok {
				answer = llm.ToolError(call, NotCalled)
			}
			out = append(out, answer)
		}
	}
	return out
}

// inOrder reports whether each call has exactly one answer, at the right place.
func inOrder(messages []llm.Message) bool {
	var due []llm.ToolCall
	for _, m := range messages {
		if m.Role == llm.RoleTool {
			if len(due) == 0 || due[0].ID != m.ToolCallID {
				return false
			}
			due = due[1:]
			continue
		}
		if len(due) > 0 {
			return false
		}
		due = m.ToolCalls
	}
	return len(due) == 0
}
