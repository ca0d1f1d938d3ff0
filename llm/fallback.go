package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Fallback returns a model that asks the first of models, and when that fails
// the next, until one answers. It goes on after every error but [ErrInvalid]
// and that of a context that is done: what one model refuses, as it is too long
// or filtered, another may take.
//
// Once a chunk has been passed on there is no other answer; the error is passed
// on. To fall back from a stream that breaks off too, hold replies back with
// [RetryPolicy].Whole. When every model failed, the error joins theirs.
func Fallback(models ...Model) Model {
	return ModelFunc(func(ctx context.Context, r Request) iter.Seq2[Chunk, error] {
		return func(yield func(Chunk, error) bool) {
			if len(models) == 0 {
				yield(Chunk{}, fmt.Errorf("llm: fallback: no model: %w", ErrInvalid))
				return
			}
			var failures []error
			for i, m := range models {
				passed, err := relay(streamOf(ctx, m, r), yield)
				if err == nil {
					return
				}
				failures = append(failures, fmt.Errorf("llm: model %d of %d: %w", i+1, len(models), err))
				if passed || ctx.Err() != nil || errors.Is(err, ErrInvalid) {
					break
				}
			}
			yield(Chunk{}, errors.Join(failures...))
		}
	})
}
