package llmtest

import (
	"context"
	"errors"
	"iter"

	"github.com/weft-go/weft/llm"
)

// Echo is a model that replies with the text of the last user message. It fails if
// the request has none.
type Echo struct{}

// Stream streams the text of the last user message.
func (Echo) Stream(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == llm.RoleUser {
			return Say(m.Text()).stream(ctx)
		}
	}
	return func(yield func(llm.Chunk, error) bool) {
		yield(llm.Chunk{}, errors.New("llmtest: echo: no user message"))
	}
}
