// Package offline is a model that needs no key and no network: rules that read a request, call the
// tools of the platform and make sentences of what these return. The rules understand a few forms of
// English, see request.go and description.go. They answer no request with a word that has no place in
// it. They know of the catalogue what the description of its search tool says, and of the user what
// the system prompt says: they see what a language model would see, and nothing else.
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

// Model is the offline model. Pace is how long it waits before each word; zero means not at all. It may
// be used by any number of goroutines.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// reply is the next message: tool calls while there is something to do, and then the answer.
func reply(r llm.Request) llm.Message {
	d := read(r)
	tool, args := d.next()
	if tool == "" || r.ToolChoice.Mode == llm.ToolsNone {
		return llm.Assistant(d.answer())
	}
	arguments, _ := json.Marshal(args) // texts and numbers, which always have a form in JSON
	// The number of messages only grows, so no two calls of a conversation have one id.
	return llm.Assistant("", llm.ToolCall{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: tool, Arguments: arguments})
}
