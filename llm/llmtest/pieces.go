package llmtest

import (
	"context"
	"iter"

	"github.com/weft-go/weft/llm"
)

// pieceSize is the most characters that a piece has: so few that no test
// passes which takes one chunk for the whole.
const pieceSize = 5

// pieces streams a message in small chunks, until ctx is done.
func pieces(ctx context.Context, m llm.Message) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for whole, err := range llm.Reply(m) {
			if err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			for chunk := range split(whole) {
				if err := ctx.Err(); err != nil {
					yield(llm.Chunk{}, err)
					return
				}
				if !yield(chunk, nil) {
					return
				}
			}
		}
	}
}

// split divides a chunk. The id and name of a tool call are in its first piece.
func split(c llm.Chunk) iter.Seq[llm.Chunk] {
	return func(yield func(llm.Chunk) bool) {
		text := &c.Text
		if c.Kind == llm.ChunkToolCall {
			text = &c.ToolCall.Arguments
		}
		rest := []rune(*text)
		for first := true; first || len(rest) > 0; first = false {
			n := min(pieceSize, len(rest))
			*text, rest = string(rest[:n]), rest[n:]
			if !yield(c) {
				return
			}
			c.ToolCall.ID, c.ToolCall.Name = "", ""
		}
	}
}
