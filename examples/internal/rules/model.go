// Package rules is what the offline models of the examples have in common: a model
// whose replies a function makes, and which streams them word by word as a language
// model would.
package rules

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
)

// A Model is an [llm.Model] that needs no key and no network. It may be used by any
// number of goroutines if Reply may.
type Model struct {
	// Reply returns the next message: tool calls, or an answer.
	Reply func(r llm.Request) llm.Message
	// Pace is how long it waits before each word of an answer; zero means not at all.
	Pace time.Duration
}

var _ llm.Model = Model{}

// Stream yields the reply, an answer by its words.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range llm.Reply(m.Reply(r)) {
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
