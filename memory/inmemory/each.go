package inmemory

import (
	"context"
	"iter"
)

// each yields the elements of a list until the context ends. It calls the function that returns the list
// when the iteration begins.
func each[T any](ctx context.Context, list func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list() {
			if err := ctx.Err(); err != nil {
				var none T
				yield(none, err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}
