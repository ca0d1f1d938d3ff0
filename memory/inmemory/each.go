package inmemory

import (
	"context"
	"iter"
)

// each yields the elements of the list that a function returns when the iteration begins, until the
// context ends.
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
