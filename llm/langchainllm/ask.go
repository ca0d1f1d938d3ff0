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

// A pump passes chunks from the library's goroutines to the goroutine of the reader.
type pump struct {
	chunks chan llm.Chunk
	over   chan struct{}
}

var errOver = errors.New("the reader has left")

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

// options returns the options with which the library streams to the pump.
func (p *pump) options(ctx context.Context) []llms.CallOption {
	return []llms.CallOption{
		llms.WithStreamingFunc(func(_ context.Context, text []byte) error {
			return p.send(ctx, llm.Chunk{Kind: llm.ChunkText, Text: string(text)})
		}),
		// Some libraries fail if only one of the two is set.
		llms.WithStreamingReasoningFunc(func(_ context.Context, reasoning, _ []byte) error {
			return p.send(ctx, llm.Chunk{Kind: llm.ChunkReasoning, Text: string(reasoning)})
		}),
	}
}

// ignore returns options with which the library streams and its chunks are discarded, because the Transport passes on the reply.
func ignore() []llms.CallOption {
	return []llms.CallOption{
		llms.WithStreamingFunc(func(context.Context, []byte) error { return nil }),
		llms.WithStreamingReasoningFunc(func(context.Context, []byte, []byte) error { return nil }),
	}
}

// ask calls the library once, and yields the chunks of the reply.
func (s *session) ask(parent context.Context, streaming bool) attempt {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	p := &pump{chunks: make(chan llm.Chunk), over: make(chan struct{})}
	defer close(p.over)
	call := &wire.Call{
		Dialect: s.model.profile.dialect, Request: s.request, Body: s.question.body,
		Emit: func(c llm.Chunk) error { return p.send(ctx, c) },
	}
	options := slices.Clone(s.question.options)
	show := s.show
	switch {
	case call.Dialect != wire.None:
		options, show = append(options, ignore()...), s.showWired
	case streaming:
		options = append(options, p.options(ctx)...)
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
			if show(chunk) {
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

// drain waits for the library to return after its context was cancelled.
func (s *session) drain(p *pump, result <-chan attempt) {
	for {
		select {
		case <-result:
			return
		case <-p.chunks:
		}
	}
}

// A panicError is a panic of a library.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("langchaingo panicked: %v", e.value) }

func isPanic(err error) bool {
	_, ok := errors.AsType[*panicError](err)
	return ok
}

// generate calls the library, and returns a panic as an error.
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
