package state

import (
	"fmt"
	"iter"
	"reflect"
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
	c.bind(c)
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

// Default sets the elements that an absent list has, and starts from. It
// returns the channel, and is meant for its declaration.
func (c *ListChannel[E]) Default(v func() []E) *ListChannel[E] {
	c.start = v
	c.echoes = false // the first change holds the default, which no write does
	return c
}

// initial returns a copy of the default, so that one that is always the same
// slice can do no harm.
func (c *ListChannel[E]) initial() []E {
	if c.start == nil {
		return nil
	}
	items := c.start()
	if items == nil {
		return nil
	}
	return copyOf(items, c.clone)
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
	held := s.slot(c)
	if held.absent() {
		return c.initial(), false
	}
	return listIn[E](held).run().copy(c.clone), true
}

func (c *ListChannel[E]) run(s View) run[E] {
	if held := s.slot(c); !held.absent() {
		return listIn[E](held).run()
	}
	return run[E]{head: c.initial()}
}

// Len returns the number of elements.
func (c *ListChannel[E]) Len(s View) int { return c.run(s).len() }

// Last returns the newest element, and whether there is one.
func (c *ListChannel[E]) Last(s View) (E, bool) { return c.run(s).last(c.clone) }

// All yields the elements with their positions, oldest first.
func (c *ListChannel[E]) All(s View) iter.Seq2[int, E] { return c.run(s).all(c.clone) }

// Put returns a write that appends elements.
func (c *ListChannel[E]) Put(elements ...E) Write {
	if len(elements) == 0 {
		return Write{}
	}
	return putting(&c.verbs, elements, c.clone)
}

// Overwrite returns a write that replaces the list; see [Channel.Overwrite].
func (c *ListChannel[E]) Overwrite(elements []E) Write {
	return c.write(KindOverwrite, copyOf(elements, c.clone))
}

func (c *ListChannel[E]) fold(s slot, m *mark, w *Write) (slot, error) {
	l := c.open(s, m)
	if w.verb.kind == KindOverwrite {
		m.set, m.from = true, 0
		return newList(w.data.([]E)).slot(), nil
	}
	first, rest := put[E](w)
	l.push(first, len(rest))
	for _, e := range rest {
		l.push(e, 0)
	}
	return l.slot(), nil
}

// open returns the transaction's own list, and marks where it begins to differ
// from what is stored.
func (c *ListChannel[E]) open(s slot, m *mark) (l list[E]) {
	if !s.absent() {
		l = listIn[E](s)
	}
	if m.owned {
		return l
	}
	m.owned, m.from = true, l.n
	if s.absent() {
		if items := c.initial(); len(items) > 0 {
			l = newList(items)
			m.set = true // the default is stored with the first write
		}
	}
	if m.detach {
		l.detach()
	}
	return l
}

func (c *ListChannel[E]) encode(s slot, m *mark, to *sink) error {
	kind := KindAppend
	if m.set {
		kind = KindSet
	}
	return c.codec.sendList(to, c.name, kind, listIn[E](s).run().from(m.from))
}

func (c *ListChannel[E]) snapshot(s slot, to *sink) error {
	return c.codec.sendList(to, c.name, KindSet, listIn[E](s).run().from(0))
}

func (c *ListChannel[E]) replay(s slot, _ *mark, k Kind, data []byte) (slot, error) {
	if k != KindSet && k != KindAppend {
		return slot{}, fmt.Errorf("%w: kind %s for a list", ErrStored, k)
	}
	items, err := c.codec.decodeList(data)
	if err != nil {
		return slot{}, err
	}
	if k == KindSet {
		return newList(items).slot(), nil
	}
	var l list[E]
	if !s.absent() {
		l = listIn[E](s)
	}
	for i, e := range items {
		l.push(e, len(items)-i-1)
	}
	return l.slot(), nil
}

func (c *ListChannel[E]) encodeWrite(w Write) (Kind, []byte, error) {
	if w.verb.kind == KindOverwrite {
		data, err := c.codec.encodeList(w.data.([]E))
		return KindOverwrite, data, err
	}
	data, err := c.codec.encodeList(puts[E](&w))
	return KindUpdate, data, err
}

func (c *ListChannel[E]) decodeWrite(k Kind, data []byte) (Write, error) {
	if k != KindOverwrite && k != KindUpdate {
		return Write{}, fmt.Errorf("%w: kind %s for a write to a list", ErrStored, k)
	}
	items, err := c.codec.decodeList(data)
	switch {
	case err != nil:
		return Write{}, err
	case k == KindOverwrite:
		return c.write(KindOverwrite, items), nil
	case len(items) == 0:
		return Write{}, nil
	}
	return putting(&c.verbs, items, nil), nil
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

// list is the first n elements of a buffer. Lists share a buffer until two of them
// want to grow.
type list[E any] struct {
	buf *buffer[E]
	n   int
}

// buffer is where lists keep their elements. Behind what a list holds, elements
// are written once, by the list that was the first to ask for the place; what
// is written never changes.
type buffer[E any] struct {
	used   atomic.Int64 // how many of items some list holds
	items  []E          // its length is the room there is
	before []E          // elements of another buffer that come first
}

func newList[E any](items []E) list[E] {
	b := &buffer[E]{items: items}
	b.used.Store(int64(len(items)))
	return list[E]{buf: b, n: len(items)}
}

// listIn returns the list of a slot that is not absent.
func listIn[E any](s slot) list[E] { return list[E]{s.value.(*buffer[E]), int(s.n)} }

func (l list[E]) slot() slot { return slot{l.buf, int64(l.n)} }

func (l list[E]) run() run[E] {
	if l.buf == nil {
		return run[E]{}
	}
	own := l.n - len(l.buf.before)
	if len(l.buf.before) == 0 {
		return run[E]{head: l.buf.items[:own:own]}
	}
	return run[E]{head: l.buf.before, tail: l.buf.items[:own:own]}
}

// push appends an element, behind which so many more are to come.
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

// grow moves the elements, of which own are not those of another buffer, to a
// buffer with room for as many again, or for more if they are to come.
func (l *list[E]) grow(own, more int) {
	room := smallRoom
	if own > 0 {
		room = max(mediumRoom, 2*own)
	}
	b := newBuffer[E](max(room, own+1+more))
	if l.buf != nil {
		b.before = l.buf.before
		copy(b.items, l.buf.items[:own])
	}
	l.buf = b
}

// A buffer with room for no more is one allocation.
const (
	smallRoom  = 4
	mediumRoom = 12
)

// newBuffer makes room for n elements at least.
func newBuffer[E any](n int) *buffer[E] {
	switch {
	case n <= smallRoom:
		b := &struct {
			buffer[E]
			room [smallRoom]E
		}{}
		b.items = b.room[:]
		return &b.buffer
	case n <= mediumRoom:
		b := &struct {
			buffer[E]
			room [mediumRoom]E
		}{}
		b.items = b.room[:]
		return &b.buffer
	}
	room := append([]E(nil), make([]E, n)...) // what the allocator has for so many
	return &buffer[E]{items: room[:cap(room)]}
}

// detach makes sure that l never claims a place in its buffer.
func (l *list[E]) detach() {
	if l.n > 0 {
		l.buf = &buffer[E]{before: l.run().from(0)}
	}
}
