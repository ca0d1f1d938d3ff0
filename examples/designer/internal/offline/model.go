// Package offline is a model that needs no key and no network. Its rules read a request, call the
// tools of the platform, and make sentences of the results. The rules understand a few forms of
// English; see request.go and description.go. They refuse a request with a word that they do not
// understand. Like a language model, they see only the messages and the tools: the values of the
// catalogue are in the description of the search tool, and facts about the user in the system prompt.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/weft-go/weft/examples/internal/rules"
	"github.com/weft-go/weft/llm"
)

// Model is the offline model. Pace is its delay before each word of an answer. A Model is safe for
// concurrent use.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// reply returns the next message: a tool call, or the answer if there is no call to make.
func reply(r llm.Request) llm.Message {
	d := read(r)
	tool, args := d.next()
	if tool == "" || r.ToolChoice.Mode == llm.ToolsNone {
		return llm.Assistant(d.answer())
	}
	arguments, _ := json.Marshal(args) // strings and numbers always encode
	// The number of messages only grows, so no two calls of a conversation have one id.
	return llm.Assistant("", llm.ToolCall{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: tool, Arguments: arguments})
}
