// Package offline is a model that needs no key and no network. Its rules match the words
// of a question, call the tools of the quickstart and build answers from the results. It
// does not understand the text. Like a language model, it sees the messages and the
// results of tools, and nothing else.
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

// Model is the offline model. It waits for Pace before each word of an answer; zero
// means no wait. It is safe for concurrent use.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// reply returns the next message: tool calls until everything is looked up, then the
// answer.
func reply(r llm.Request) llm.Message {
	t := read(r.Messages)
	wanted, text := t.next()
	if len(wanted) == 0 {
		return llm.Assistant(text)
	}
	if r.ToolChoice.Mode == llm.ToolsNone {
		return llm.Assistant("I have no turn left to look that up.")
	}
	calls := make([]llm.ToolCall, len(wanted))
	for i, w := range wanted {
		arguments, err := json.Marshal(w.arguments)
		if err != nil {
			return llm.Assistant("I could not ask the tool " + w.tool + ": " + err.Error())
		}
		// The number of messages only grows, so each call of a conversation has
		// an id of its own.
		calls[i] = llm.ToolCall{ID: fmt.Sprintf("call_%d_%d", len(r.Messages), i+1), Name: w.tool, Arguments: arguments}
	}
	return llm.Assistant("", calls...)
}

// A lookup is a call of a tool.
type lookup struct {
	tool      string
	arguments map[string]any
}
