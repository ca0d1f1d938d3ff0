package fair

import (
	"context"
	"iter"
)

// pageRows is how many rows are read while a place is held. Stores read as many, or fewer, at once.
const pageRows = 256

// rows reads a page inside, and yields it outside: so a caller can ask within its loop, and holds
// no place for as long as it likes.
func rows[T any](ctx context.Context, g *Gate, tenant string, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		r := reading[T]{yield: yield}
		defer func() { r.out() }()
		if r.leave, r.err = g.Enter(ctx, tenant); r.err == nil {
			for row, err := range seq {
				if r.err = err; err != nil {
					break
				}
				if r.page = append(r.page, row); len(r.page) < pageRows {
					continue
				}
				if !r.give() {
					return
				}
				if r.leave, r.err = g.enter(ctx, tenant, false); r.err != nil {
					break
				}
			}
		}
		if r.give() && r.err != nil {
			var none T
			yield(none, r.err)
		}
	}
}

// A reading is under way.
type reading[T any] struct {
	yield func(T, error) bool
	leave func() // nil outside
	page  []T
	err   error
}

func (r *reading[T]) out() {
	if r.leave != nil {
		r.leave()
		r.leave = nil
	}
}

// give yields a page, and says whether the caller wants more.
func (r *reading[T]) give() bool {
	r.out()
	for _, row := range r.page {
		if !r.yield(row, nil) {
			return false
		}
	}
	clear(r.page)
	r.page = r.page[:0]
	return true
}
