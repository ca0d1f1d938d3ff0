package langchainllm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/langchainllm/internal/wire"
)

// A pump brings what a library streams, on whatever goroutine it likes, to the
// one that reads.
type pump struct {
	chunks chan llm.Chunk
	over   chan struct{}
}

var errOver = errors.New("nobody reads any more")

func (p *pump) send(ctx context.Context, c llm.Chunk) error {
	select {
	case p.chunks <- c:
		return nil
	case <-p.over:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pump) options(ctx context.Context, call *wire.Call) []llms.CallOption {
	call.Signed = func(signature string) {
		// A reader that has left needs no signature either.
		_ = p.send(ctx, llm.Chunk{Kind: llm.ChunkReasoning, Signature: signature})
	}
	return []llms.CallOption{
		llms.WithStreamingFunc(func(_ context.Context, text []byte) error {
			return p.send(ctx, llm.Chunk{Kind: llm.ChunkText, Text: string(text)})
		}),
		// Some libraries fail when they are given only one of the two.
		llms.WithStreamingReasoningFunc(func(_ context.Context, reasoning, _ []byte) error {
			return p.send(ctx, llm.Chunk{Kind: llm.ChunkReasoning, Text: string(reasoning)})
		}),
	}
}

// ask calls the library once, and shows what it streams.
func (s *session) ask(parent context.Context, streaming bool) attempt {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	call := &wire.Call{Request: s.request, Thoughts: s.question.thoughts, Mistral: s.model.profile.mistral}
	p := &pump{chunks: make(chan llm.Chunk), over: make(chan struct{})}
	defer close(p.over)
	options := slices.Clone(s.question.options)
	if streaming {
		options = append(options, p.options(ctx, call)...)
	}
	result := make(chan attempt, 1)
	go func() {
		a := attempt{streamed: streaming}
		response, err := s.model.generate(wire.With(ctx, call), s.question.messages, options)
		a.answer, a.facts, a.err = collect(response), call.Facts(), err
		result <- a
	}()
	var deaf <-chan struct{}
	if s.model.profile.deaf {
		deaf = ctx.Done()
	}
	for {
		select {
		case a := <-result:
			return a
		case <-deaf:
			return attempt{err: ctx.Err()}
		case chunk := <-p.chunks:
			if s.show(chunk) {
				continue
			}
			cancel()
			if !s.model.profile.deaf {
				s.drain(p, result)
			}
			return attempt{}
		}
	}
}

// drain waits for a library that has been told to stop.
func (s *session) drain(p *pump, result <-chan attempt) {
	for {
		select {
		case <-result:
			return
		case <-p.chunks:
		}
	}
}

// A panicError is a library's panic.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("langchaingo panicked: %v", e.value) }

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}

// generate calls the library, and makes an error of its panic.
func (m *Model) generate(ctx context.Context, messages []llms.MessageContent, options []llms.CallOption) (response *llms.ContentResponse, err error) {
	returned := false
	defer func() {
		if !returned {
			response, err = nil, &panicError{recover()}
		}
	}()
	response, err = m.inner.GenerateContent(ctx, messages, options...)
	returned = true
	if err == nil && (response == nil || len(response.Choices) == 0) {
		err = errors.New("the library returned no reply and no error")
	}
	return response, err
}
