// Package rules has the common parts of the offline models of the examples: [Model], which makes
// replies with a function, and [Quoted], which names the words of a question that the rules do not
// understand.
package rules

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Model is an [llm.Model] that needs no key and no network. It counts words as tokens. It is safe
// for concurrent use if Reply is.
type Model struct {
	// Reply returns the next message: tool calls, or an answer.
	Reply func(r llm.Request) llm.Message
	// Pace is the wait before each word of an answer. Zero means no wait.
	Pace time.Duration
}

var _ llm.Model = Model{}

// ModelName returns the name of the offline models, for traces.
func (Model) ModelName() llm.ModelName { return llm.ModelName{Provider: "weft", Model: "offline"} }

// Stream yields the reply. It yields the text of an answer word by word.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range llm.Reply(m.counted(r)) {
			if err != nil || chunk.Kind != llm.ChunkText {
				if !yield(chunk, err) {
					return
				}
				continue
			}
			for _, word := range strings.SplitAfter(chunk.Text, " ") {
				if err := m.wait(ctx); err != nil {
					yield(llm.Chunk{}, err)
					return
				}
				chunk.Text = word
				if !yield(chunk, nil) {
					return
				}
			}
		}
	}
}

// counted returns the reply with its usage.
func (m Model) counted(r llm.Request) llm.Message {
	reply := m.Reply(r)
	if reply.Usage == nil {
		used := llm.Usage{Output: words(reply)}
		for _, said := range r.Messages {
			used.Input += words(said)
		}
		used.Total = used.Input + used.Output
		reply.Usage = &used
	}
	return reply
}

// words counts the words of a message and of its calls.
func words(m llm.Message) int64 {
	n := len(strings.Fields(m.Text()))
	for _, call := range m.ToolCalls {
		n += 1 + len(strings.Fields(string(call.Arguments)))
	}
	return int64(n)
}

func (m Model) wait(ctx context.Context) error {
	if m.Pace <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(m.Pace):
		return nil
	}
}
