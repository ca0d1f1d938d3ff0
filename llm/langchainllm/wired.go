package langchainllm

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// stub is the conversation that the library sees. The Transport replaces it.
const stub = "This request did not pass a langchainllm.Transport."

var errNotWired = errors.New("the request did not pass a langchainllm.Transport: " +
	"make one, and give its Client() to the WithHTTPClient option of the provider")

var errUnknownPath = errors.New("the Transport does not know the path of the request: check the base URL, and Options.Provider")

// runWired gets a reply through the [Transport], which decodes it.
func (s *session) runWired(ctx context.Context) error {
	a := s.ask(ctx, true)
	if s.left {
		return nil
	}
	m := s.model
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !a.facts.Seen && !isPanic(a.err):
		return m.refused(errors.Join(errNotWired, a.err))
	case a.facts.Failure != nil, a.err != nil:
		return m.failed(&a)
	case !a.facts.Decoded:
		return m.refused(errUnknownPath)
	case !a.facts.Complete:
		return m.broke("the stream broke off before its end")
	}
	if !s.yield(s.wiredEnd(a.facts), nil) {
		s.left = true
	}
	return nil
}

// wiredEnd returns the last chunk of a reply.
func (s *session) wiredEnd(f wire.Facts) llm.Chunk {
	end := llm.Chunk{Kind: llm.ChunkEnd, StopReason: stopReason(f.Stop, s.called), Usage: f.Usage}
	if end.StopReason == "" && s.answered {
		end.StopReason = llm.StopEnd
	}
	if said, err := json.Marshal(f.Stop); err == nil && f.Stop != "" {
		end.Metadata = map[string]json.RawMessage{"stop_reason": said}
	}
	return end
}

// showWired yields a chunk. It reports false if the reader has left the loop.
func (s *session) showWired(c llm.Chunk) bool {
	switch c.Kind {
	case llm.ChunkToolCall:
		s.called = true
	case llm.ChunkText, llm.ChunkPart:
		s.answered = true
	case llm.ChunkReasoning, llm.ChunkEnd:
	}
	if !s.yield(c, nil) {
		s.left = true
	}
	return !s.left
}
