package graph

import (
	"context"
	"iter"
)

// Tee emits each value of a stream as it passes, by [Emit], so that whoever
// reads the events of the run sees what the node sees, when it does. An error
// passes without being emitted. Outside a node the stream is all there is.
//
//	var reply llm.Message
//	for chunk, err := range graph.Tee(ctx, llm.Stream(ctx, model, request, &reply)) {
func Tee[T any](ctx context.Context, values iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for value, err := range values {
			if err == nil {
				Emit(ctx, value)
			}
			if !yield(value, err) {
				return
			}
		}
	}
}
