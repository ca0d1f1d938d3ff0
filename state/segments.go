package state

import (
	"iter"
	"slices"
)

// segments holds the elements of a list in two parts: the elements in a shared
// buffer, and the elements that an overlay adds. The elements belong to the state.
// Copy them before they leave the package.
type segments[E any] struct{ head, tail []E }

func (s segments[E]) len() int { return len(s.head) + len(s.tail) }

// at returns the element with index i, which must be in range.
func (s segments[E]) at(i int) E {
	if i < len(s.head) {
		return s.head[i]
	}
	return s.tail[i-len(s.head)]
}

// from returns the elements from index i to the end. The caller must not change them.
func (s segments[E]) from(i int) []E {
	if i >= len(s.head) {
		return slices.Clip(s.tail[i-len(s.head):])
	}
	if len(s.tail) == 0 {
		return slices.Clip(s.head[i:])
	}
	return slices.Concat(s.head[i:], s.tail)
}

// copy returns a new slice with the elements. The function clone copies each element, unless
// clone is nil. The result is never nil.
func (s segments[E]) copy(clone func(E) E) []E {
	out := make([]E, s.len())
	copy(out[copy(out, s.head):], s.tail)
	if clone != nil {
		for i := range out {
			out[i] = clone(out[i])
		}
	}
	return out
}

func (s segments[E]) last(clone func(E) E) (e E, ok bool) {
	if s.len() == 0 {
		return e, false
	}
	return cloned(s.at(s.len()-1), clone), true
}

func (s segments[E]) all(clone func(E) E) iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i := range s.len() {
			if !yield(i, cloned(s.at(i), clone)) {
				return
			}
		}
	}
}

// cloned returns clone(v), or v if clone is nil.
func cloned[T any](v T, clone func(T) T) T {
	if clone == nil {
		return v
	}
	return clone(v)
}

// cloneAll returns a deep copy of a slice. The result is never nil.
func cloneAll[E any](items []E, clone func(E) E) []E { return segments[E]{head: items}.copy(clone) }
