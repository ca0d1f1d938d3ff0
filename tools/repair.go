package tools

import "github.com/weft-go/weft/llm"

// NotCalled is what [Repair] answers a call with that has no answer.
const NotCalled = "The tool was not called: the conversation went on without it."

// Repair returns a conversation that every provider takes: behind each message
// that calls tools stand its answers, one for each call and in the order of the
// calls. A call has none when its run was cancelled, or when the user went on
// while it waited for approval; it is answered with [NotCalled], as an error.
// Answers that stand elsewhere are moved, the last of several counts, and those
// to no call are left out. Messages is not changed; a conversation that needs no
// repair comes back as it is.
//
// It is for what a model is sent, after a history was loaded or pruned, and
// while no call is [Pending] that is still to be made.
func Repair(messages []llm.Message) []llm.Message {
	if inOrder(messages) {
		return messages
	}
	type key struct {
		message int
		call    string
	}
	answers := map[key]llm.Message{}
	newest := map[string]int{} // the last message so far that has a call of this id
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

// inOrder reports whether each call is answered where it should be, once.
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
