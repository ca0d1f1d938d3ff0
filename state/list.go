package state

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"sync/atomic"
)

// Append returns a channel that holds a growing list. Appending costs the same
// however long the list is, in memory and in storage.
func Append[E any](name string) *ListChannel[E] {
	c := &ListChannel[E]{
		traits: &traits{name: name, kind: "append", goType: reflect.TypeFor[[]E]().String(), echoes: true},
		clone:  cloner[E](),
		codec:  newCodec[E](),
	}
	c.err = c.codec.err
	return c
}

// A ListChannel is a channel that holds a list. It is made by [Append].
type ListChannel[E any] struct {
	*traits
	start func() []E
	clone func(E) E
	codec *codec[E]
}

// list is a slot: the first n elements of a buffer. Lists share a buffer until
// two of them want to grow.
type list[E any] struct {
	buf *buffer[E]
	n   int
}

type buffer[E any] struct {
	used  atomic.Int64 // elements that some list holds
	items []E          // its length is the room there is
}

func (l list[E]) items() []E {
	if l.buf == nil {
		return nil
	}
	return l.buf.items[:l.n:l.n]
}

// push returns the list with an element more. The list that was the first to
// want the next place in the buffer gets it; any other moves to a new one.
func (l list[E]) push(e E) list[E] {
	if l.buf == nil || l.n == len(l.buf.items) || !l.buf.used.CompareAndSwap(int64(l.n), int64(l.n+1)) {
		l = l.grow(1)
		l.buf.used.Store(int64(l.n + 1))
	}
	l.buf.items[l.n] = e
	l.n++
	return l
}

// grow copies the list into a buffer with room for at least more elements.
func (l list[E]) grow(more int) list[E] {
	b := &buffer[E]{}
	b.items = append(b.items, l.items()...)
	b.items = slices.Grow(b.items, max(more, l.n, 4))
	b.items = b.items[:cap(b.items)]
	b.used.Store(int64(l.n))
	return list[E]{buf: b, n: l.n}
}

func newList[E any](items []E) list[E] {
	b := &buffer[E]{items: items}
	b.used.Store(int64(len(items)))
	return list[E]{buf: b, n: len(items)}
}

// listLog is what a transaction did to a list.
type listLog struct {
	from int  // where the appended elements begin
	set  bool // the list was overwritten
}

// Default sets the elements that an absent list has, and starts from. It
// returns the channel, and is meant for its declaration.
func (c *ListChannel[E]) Default(v func() []E) *ListChannel[E] {
	c.start = v
	return c
}

// Get returns the list; nil, or the default, when it was never written. The
// slice and its elements are the caller's own: to look at some of a long list,
// Len, Last and All are cheaper. Get panics like [Channel.Get].
func (c *ListChannel[E]) Get(s View) []E {
	items, _ := c.Lookup(s)
	return items
}

// Lookup is Get, and reports whether the list was ever written.
func (c *ListChannel[E]) Lookup(s View) ([]E, bool) {
	slot := s.slot(c)
	if slot == nil {
		if c.start != nil {
			return c.start(), false
		}
		return nil, false
	}
	return cloneSlice(slot.(*list[E]).items(), c.clone), true
}

func cloneSlice[E any](items []E, clone func(E) E) []E {
	out := make([]E, len(items))
	copy(out, items)
	if clone != nil {
		for i := range out {
			out[i] = clone(out[i])
		}
	}
	return out
}

// view returns the elements without a copy; they must not leave the package.
func (c *ListChannel[E]) view(s View) []E {
	if slot := s.slot(c); slot != nil {
		return slot.(*list[E]).items()
	}
	if c.start != nil {
		return c.start()
	}
	return nil
}

// Len returns the number of elements.
func (c *ListChannel[E]) Len(s View) int { return len(c.view(s)) }

// Last returns the newest element, and whether there is one.
func (c *ListChannel[E]) Last(s View) (E, bool) { return lastOf(c.view(s), c.clone) }

func lastOf[E any](items []E, clone func(E) E) (e E, ok bool) {
	if len(items) == 0 {
		return e, false
	}
	e = items[len(items)-1]
	if clone != nil {
		e = clone(e)
	}
	return e, true
}

// All yields the elements with their positions, oldest first.
func (c *ListChannel[E]) All(s View) iter.Seq2[int, E] { return allOf(c.view(s), c.clone) }

func allOf[E any](items []E, clone func(E) E) iter.Seq2[int, E] {
	return func(yield func(int, E) bool) {
		for i, e := range items {
			if clone != nil {
				e = clone(e)
			}
			if !yield(i, e) {
				return
			}
		}
	}
}

// Put returns a write that appends elements.
func (c *ListChannel[E]) Put(elements ...E) Write {
	if len(elements) == 0 {
		return Write{}
	}
	return Write{ch: c, op: KindUpdate, data: newBatch(elements, c.clone)}
}

// Overwrite returns a write that replaces the list; see [Channel.Overwrite].
func (c *ListChannel[E]) Overwrite(elements []E) Write {
	return Write{ch: c, op: KindOverwrite, data: cloneSlice(elements, c.clone)}
}

func (c *ListChannel[E]) fold(slot any, m *mark, w *Write) (any, error) {
	l, log := c.open(slot, m)
	if w.op == KindOverwrite {
		*l, log.set, log.from = newList(slices.Clone(w.data.([]E))), true, 0
		return l, nil
	}
	b := w.data.(*batch[E])
	*l = l.push(b.first)
	for _, e := range b.more {
		*l = l.push(e)
	}
	return l, nil
}

// open returns the transaction's own list.
func (c *ListChannel[E]) open(slot any, m *mark) (*list[E], *listLog) {
	if m.owned {
		return slot.(*list[E]), m.log.(*listLog)
	}
	l := &list[E]{}
	switch {
	case slot != nil:
		*l = *slot.(*list[E])
	case c.start != nil:
		*l = newList(c.start())
	}
	log := &listLog{from: l.n, set: slot == nil && l.n > 0}
	if log.set {
		log.from = 0
	}
	if m.detach {
		*l = l.grow(1)
	}
	m.owned, m.log = true, log
	return l, log
}

func (c *ListChannel[E]) finish(slot any, _ *mark) (any, error) { return slot, nil }

func (c *ListChannel[E]) encode(slot any, m *mark, emit Emit) error {
	log := m.log.(*listLog)
	kind := KindAppend
	if log.set {
		kind = KindSet
	}
	return c.emit(kind, slot.(*list[E]).items()[log.from:], emit)
}

func (c *ListChannel[E]) emit(k Kind, items []E, emit Emit) error {
	data, err := c.codec.appendList(nil, items)
	if err == nil {
		emit(c.name, k, data)
	}
	return err
}

func (c *ListChannel[E]) snapshot(slot any, emit Emit) error {
	return c.emit(KindSet, slot.(*list[E]).items(), emit)
}

func (c *ListChannel[E]) replay(slot any, m *mark, k Kind, data []byte) (any, error) {
	if k != KindSet && k != KindAppend {
		return nil, fmt.Errorf("%w: kind %s for a list", ErrStored, k)
	}
	items, err := c.codec.decodeList(data)
	if err != nil {
		return nil, err
	}
	if k == KindSet {
		*m = mark{}
		l := newList(items)
		return &l, nil
	}
	l, _ := c.open(slot, m)
	for _, e := range items {
		*l = l.push(e)
	}
	return l, nil
}

func (c *ListChannel[E]) encodeWrite(w *Write) (Kind, []byte, error) {
	items, isSet := w.data.([]E)
	if !isSet {
		items = w.data.(*batch[E]).slice()
	}
	data, err := c.codec.appendList(nil, items)
	return w.op, data, err
}

func (c *ListChannel[E]) decodeWrite(k Kind, data []byte) (Write, error) {
	items, err := c.codec.decodeList(data)
	switch {
	case err != nil:
		return Write{}, err
	case k == KindOverwrite:
		return Write{ch: c, op: KindOverwrite, data: items}, nil
	case k == KindUpdate && len(items) > 0:
		return Write{ch: c, op: KindUpdate, data: newBatch(items, nil)}, nil
	case k == KindUpdate:
		return Write{}, nil
	}
	return Write{}, fmt.Errorf("%w: kind %s for a write", ErrStored, k)
}

func (c *ListChannel[E]) echo(k Kind, data []byte) (Write, bool, error) {
	switch k {
	case KindAppend:
		k = KindUpdate
	case KindSet:
		k = KindOverwrite
	default:
		return Write{}, false, nil
	}
	w, err := c.decodeWrite(k, data)
	return w, true, err
}
