package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Generate asks a model and returns its whole reply, an assistant's message
// with an id. It fails as [Stream] does.
func Generate(ctx context.Context, m Model, r Request) (Message, error) {
	var reply Message
	for _, err := range Stream(ctx, m, r, &reply) {
		if err != nil {
			return Message{}, err
		}
	}
	return reply, nil
}

// Stream asks a model, yields the chunks of its reply as they come, and puts
// them together. When the loop ends without an error, *reply is the message, an
// assistant's with an id that every chunk has carried; after an error or an
// early exit from the loop it is the zero Message.
//
//	var reply llm.Message
//	for chunk, err := range llm.Stream(ctx, model, request, &reply) {
//		if err != nil {
//			return err
//		}
//		fmt.Print(chunk.Text)
//	}
//
// The texts of all chunks of kind ChunkText make exactly reply.Text().
//
// An error is the last pair. A request that can not be sent wraps [ErrInvalid];
// a stream that gave nothing wraps [ErrEmpty], and one that does not make a
// message [ErrMalformed]. When ctx is done the error wraps ctx.Err() and its
// cause, even if the model ends as though all were well. The model's own errors
// are passed on as they are.
func Stream(ctx context.Context, m Model, r Request, reply *Message) iter.Seq2[Chunk, error] {
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

// streamOf asks a model. One that is nil, or gives nil in place of a stream, is an
// error here and not a panic there.
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

// cancelled returns err, or when ctx is done an error that says so too: what a
// model says after that can not be trusted.
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
