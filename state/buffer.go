package state

import (
	"sync/atomic"

	"github.com/weft-go/weft/internal/statecore"
)

// list is a list whose elements are the first n elements of a buffer.
// Lists share a buffer until two of them append at the same position.
type list[E any] struct {
	buf *buffer[E]
	n   int
}

// buffer holds the elements of several lists.
// The first list that appends at a position uses that position.
// A second list that appends at the same position copies the buffer.
// An element in use never changes.
type buffer[E any] struct {
	used   atomic.Int64 // the number of items in use
	items  []E          // its length equals its capacity
	before []E          // elements before items; they belong to another buffer
}

func newList[E any](items []E) list[E] {
	b := &buffer[E]{items: items}
	b.used.Store(int64(len(items)))
	return list[E]{buf: b, n: len(items)}
}

// listIn returns the list in a slot that is not absent.
func listIn[E any](s statecore.Slot) list[E] { return list[E]{s.Value.(*buffer[E]), int(s.N)} }

func (l list[E]) slot() statecore.Slot { return statecore.Slot{Value: l.buf, N: int64(l.n)} }

func (l list[E]) segments() segments[E] {
	if l.buf == nil {
		return segments[E]{}
	}
	own := l.n - len(l.buf.before)
	if len(l.buf.before) == 0 {
		return segments[E]{head: l.buf.items[:own:own]}
	}
	return segments[E]{head: l.buf.before, tail: l.buf.items[:own:own]}
}

// push appends an element.
// The argument more is the number of elements that the caller then appends.
func (l *list[E]) push(e E, more int) {
	own := l.n
	if l.buf != nil {
		own -= len(l.buf.before)
	}
	if l.buf == nil || own == len(l.buf.items) || !l.buf.used.CompareAndSwap(int64(own), int64(own+1)) {
		l.grow(own, more)
		l.buf.used.Store(int64(own + 1))
	}
	l.buf.items[own] = e
	l.n++
}

// grow moves the list to a new buffer with room for 1+more further elements.
// The new buffer has at least twice the size that the list's own elements need.
// The argument own is the number of the list's elements in the items of the old buffer.
func (l *list[E]) grow(own, more int) {
	items := make([]E, max(minCapacity, 2*own, own+1+more))
	b := &buffer[E]{items: items}
	if l.buf != nil {
		b.before = l.buf.before
		copy(items, l.buf.items[:own])
	}
	l.buf = b
}

// minCapacity is the capacity of a new buffer.
const minCapacity = 8

// detach moves the list to a new buffer, so that an append does not change the
// buffer that other lists share. It copies elements only if the list is in two buffers.
func (l *list[E]) detach() {
	if l.n > 0 {
		l.buf = &buffer[E]{before: l.segments().from(0)}
	}
}
