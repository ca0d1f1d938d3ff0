package state

import (
	"iter"
	"slices"
)

// run is a list as it is read, in two parts: what a buffer holds, and what an
// overlay puts behind it without touching the buffer. Its elements are those of
// the state and must not leave the package without a copy.
type run[E any] struct{ head, tail []E }

func (r run[E]) len() int { return len(r.head) + len(r.tail) }

// at returns the element at i, which is in range.
func (r run[E]) at(i int) E {
	if i < len(r.head) {
		return r.head[i]
	}
	return r.tail[i-len(r.head)]
}

// from returns the elements from i on, of which the caller changes none.
func (r run[E]) from(i int) []E {
	if i >= len(r.head) {
		return slices.Clip(r.tail[i-len(r.head):])
	}
	if len(r.tail) == 0 {
		return slices.Clip(r.head[i:])
	}
	return slices.Concat(r.head[i:], r.tail)
}

// copy returns the elements in a slice of the caller's own.
func (r run[E]) copy(clone func(E) E) []E {
	out := make([]E, r.len())
	copy(out[copy(out, r.head):], r.tail)
	if clone != nil {
		for i := range out {
			out[i] = clone(out[i])
		}
	}
	return out
}

func (r run[E]) last(clone func(E) E) (e E, ok bool) {
	if r.len() == 0 {
		return e, false
	}
	return cloned(r.at(r.len()-1), clone), true
}

func (r run[E]) all(clone func(E) E) iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i := range r.len() {
			if !yield(i, cloned(r.at(i), clone)) {
				return
			}
		}
	}
}

// cloned copies v; no clone function says that assignment does.
func cloned[T any](v T, clone func(T) T) T {
	if clone == nil {
		return v
	}
	return clone(v)
}

// copyOf copies a slice with its elements. It is never nil.
func copyOf[E any](items []E, clone func(E) E) []E { return run[E]{head: items}.copy(clone) }
