package node

import (
	"context"
	"iter"

	"github.com/weft-go/weft/graph"
)

// Tee yields the values of a stream and emits each of them with [graph.Emit], so the reader
// of the run's events receives them while the node does. Errors are yielded and not
// emitted. Outside a node, Tee only yields the values.
//
//	var reply llm.Message
//	for chunk, err := range node.Tee(ctx, llm.Stream(ctx, model, request, &reply)) {
func Tee[T any](ctx context.Context, values iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for value, err := range values {
			if err == nil {
				graph.Emit(ctx, value)
			}
			if !yield(value, err) {
				return
			}
		}
	}
}
