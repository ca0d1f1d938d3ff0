// Package offline is a model that needs no key and no network: rules that look at the words of a
// request, call the tools of the platform and make sentences of what these return. It understands
// English of a few shapes, and says what it can do when it understands nothing. It knows of the
// catalogue what the description of its search tool says, and of the user what the system prompt
// says: it sees what a language model would see, and nothing else.
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
	next, ok := d.next()
	if !ok || r.ToolChoice.Mode == llm.ToolsNone {
		return llm.Assistant(d.answer())
	}
	arguments, err := json.Marshal(next.arguments)
	if err != nil {
		return llm.Assistant("I could not call " + next.tool + ": " + err.Error())
	}
	// The number of messages only grows, so no two calls of a conversation have one id.
	return llm.Assistant("", llm.ToolCall{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: next.tool, Arguments: arguments})
}

// A step is a call of a tool, and what came of it.
type step struct {
	tool      string
	arguments map[string]any
	answer    string
	failed    bool
}
