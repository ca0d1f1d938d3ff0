package llmtest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/weft-go/weft/llm"
)

// pieceSize is the largest number of characters in a piece. It is so small that a
// test fails if it takes the first chunk for the whole reply.
const pieceSize = 5

// stream plays the reply, until ctx is done.
func (r Reply) stream(ctx context.Context) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		wait := r.Delay
		for chunk, err := range r.chunks() {
			if err == nil {
				err = pause(ctx, wait)
			}
			if err != nil {
				chunk = llm.Chunk{}
			}
			if !yield(chunk, err) || err != nil {
				return
			}
			wait = r.Pace
		}
		if r.Err != nil {
			if err := pause(ctx, wait); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			yield(llm.Chunk{}, r.Err)
		}
	}
}

// pause waits for d, or until ctx is done. It returns the error of ctx even if d is
// zero.
func pause(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// chunks returns the chunks of the reply, without its error.
func (r Reply) chunks() iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		if len(r.Chunks) > 0 {
			for _, chunk := range r.Chunks {
				if !yield(chunk, nil) {
					return
				}
			}
			return
		}
		if r.Err != nil && r.Message.Role == "" {
			return
		}
		pieces, err := split(r.Message, r.Interleave)
		for _, piece := range pieces {
			if r.Err != nil && piece.Kind == llm.ChunkEnd {
				return
			}
			if !yield(piece, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Chunk{}, err)
		}
	}
}

// split returns a message in small chunks.
func split(m llm.Message, interleave bool) ([]llm.Chunk, error) {
	var pieces []llm.Chunk
	var calls [][]llm.Chunk
	for whole, err := range llm.Reply(m) {
		if err != nil {
			return pieces, err
		}
		parts := slices.Collect(divide(whole))
		switch {
		case interleave && whole.Kind == llm.ChunkToolCall:
			calls = append(calls, parts)
			continue
		case whole.Kind == llm.ChunkEnd:
			pieces = append(pieces, inTurn(calls)...)
		}
		pieces = append(pieces, parts...)
	}
	return pieces, nil
}

// inTurn takes one element of each list in turn, until all lists are empty.
func inTurn(lists [][]llm.Chunk) []llm.Chunk {
	var out []llm.Chunk
	for i := 0; ; i++ {
		before := len(out)
		for _, list := range lists {
			if i < len(list) {
				out = append(out, list[i])
			}
		}
		if len(out) == before {
			return out
		}
	}
}

// divide divides a chunk. The id and name of a tool call are in its first
// piece, a signature is in the last.
func divide(c llm.Chunk) iter.Seq[llm.Chunk] {
	return func(yield func(llm.Chunk) bool) {
		text := &c.Text
		if c.Kind == llm.ChunkToolCall {
			text = &c.ToolCall.Arguments
		}
		signature := c.Signature
		rest := []rune(*text)
		for first := true; first || len(rest) > 0; first = false {
			n := min(pieceSize, len(rest))
			*text, rest = string(rest[:n]), rest[n:]
			c.Signature = ""
			if len(rest) == 0 {
				c.Signature = signature
			}
			if !yield(c) {
				return
			}
			c.ToolCall.ID, c.ToolCall.Name, c.ToolCall.Signature = "", "", ""
		}
	}
}
