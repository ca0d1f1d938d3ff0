package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Generate asks a model and returns its whole reply, an assistant's message with an id.
// It returns the same errors as [Stream].
func Generate(ctx context.Context, m Model, r Request) (Message, error) {
	var reply Message
	for _, err := range Stream(ctx, m, r, &reply) {
		if err != nil {
			return Message{}, err
		}
	}
	return reply, nil
}

// Stream asks a model and yields the chunks of its reply as they arrive. After a loop
// without an error, *reply is the whole reply, an assistant's message with the id
// that every chunk had. After an error, or if the caller leaves the loop, *reply is
// the zero Message.
//
//	var reply llm.Message
//	for chunk, err := range llm.Stream(ctx, model, request, &reply) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// The texts of all chunks of kind ChunkText, joined, are reply.Text().
//
// An error is in the last pair. It wraps [ErrInvalid] if the request is not valid,
// [ErrEmpty] if the stream had no content, and [ErrMalformed] if the chunks do not form a
// message. If the stream broke off, which means that it has no chunk of kind ChunkEnd, the
// error also wraps [io.ErrUnexpectedEOF]. If ctx is done, it wraps ctx.Err() and its cause,
// even if the model reports no error. Errors of the model are passed on unchanged.
func Stream(ctx context.Context, m Model, r Request, reply *Message) iter.Seq2[Chunk, error] {
	ctx, m = wrapped(ctx, m)
	return stream(ctx, m, r, reply)
}

// stream is Stream without the wrapper of the context.
func stream(ctx context.Context, m Model, r Request, reply *Message) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		*reply = Message{}
		if err := r.Validate(); err != nil {
			yield(Chunk{}, err)
			return
		}
		if err := cancelled(ctx, nil); err != nil {
			yield(Chunk{}, err)
			return
		}
		var a assembly
		for chunk, err := range streamOf(ctx, m, r) {
			err = cancelled(ctx, err)
			if err == nil {
				err = a.add(&chunk)
			}
			if err != nil {
				yield(Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
		message, err := a.message()
		if err := cancelled(ctx, err); err != nil {
			yield(Chunk{}, err)
			return
		}
		*reply = message
	}
}

// streamOf asks a model. If the model or its stream is nil, it returns a stream with
// an error.
func streamOf(ctx context.Context, m Model, r Request) iter.Seq2[Chunk, error] {
	err := fmt.Errorf("llm: no model: %w", ErrInvalid)
	if m != nil {
		if stream := m.Stream(ctx, r); stream != nil {
			return stream
		}
		err = errors.New("llm: the model returned nil in place of a stream")
	}
	return func(yield func(Chunk, error) bool) { yield(Chunk{}, err) }
}

// cancelled returns err, joined with the error of ctx if ctx is done. So a reply whose end
// arrives after ctx is done is an error.
func cancelled(ctx context.Context, err error) error {
	why, cause := ctx.Err(), context.Cause(ctx)
	if why == nil || errors.Is(err, why) && errors.Is(err, cause) {
		return err
	}
	if errors.Is(cause, why) {
		why = cause
	} else {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	if err == nil {
		return fmt.Errorf("llm: %w", why)
	}
	return fmt.Errorf("llm: %w: %w", why, err)
}
