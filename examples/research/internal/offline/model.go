// Package offline is a model that needs no key and no network: rules that pick, of
// the passages that they are shown, the sentences which look as if they answered the
// question. It understands nothing, quotes only what is there, and says so when it
// finds nothing. It speaks to the graph exactly as a language model would: it sees
// the messages and nothing else.
package offline

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/weft-go/weft/llm"
)

// Model is the offline model. Pace is how long it waits before each word; zero means
// not at all. It may be used by any number of goroutines.
type Model struct{ Pace time.Duration }

var _ llm.Model = Model{}

// Stream answers the last message of the user.
func (m Model) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		text := ""
		for _, message := range r.Messages {
			if message.Role == llm.RoleUser {
				text = message.Text()
			}
		}
		for word := range strings.SplitAfterSeq(answer(text), " ") {
			if err := m.wait(ctx); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(llm.Chunk{Kind: llm.ChunkText, Text: word}, nil) {
				return
			}
		}
		yield(llm.Chunk{Kind: llm.ChunkEnd, StopReason: llm.StopEnd}, nil)
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
