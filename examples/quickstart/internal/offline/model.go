// Package offline is a model that needs no key and no network: rules that look
// at the words of a question, call the quickstart's tools and put answers
// together from what these returned. It understands nothing. It is there so
// that the example runs anywhere, and speaks to the agent exactly as a language
// model would: it sees the messages and the tools' answers, and nothing else.
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

// Model is the offline model. Pace is how long it waits before each word of an
// answer; zero means not at all. It may be used by any number of goroutines.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return rules.Model{Reply: reply, Pace: m.Pace}.Stream(ctx, r)
}

// reply is the next message: tool calls while something is to be looked up, and
// then the answer.
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
		// The number of messages only grows, so no two calls of a
		// conversation have one id.
		calls[i] = llm.ToolCall{ID: fmt.Sprintf("call_%d_%d", len(r.Messages), i+1), Name: w.tool, Arguments: arguments}
	}
	return llm.Assistant("", calls...)
}

// lookup is a tool to call.
type lookup struct {
	tool      string
	arguments map[string]any
}
