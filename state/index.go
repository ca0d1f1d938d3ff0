package state

import (
	"slices"
	"sync"
)

// short is the maximum length of a list that is searched without a table of positions.
const short = 16

// index is a list whose elements have keys. A slot holds an index. Several indexes
// can share a buffer and its table of positions. An append at the end of the buffer
// keeps the buffer shared. Before any other change, the index gets a buffer of its own.
type index[K comparable, E any] struct {
	all  []E
	buf  *indexed[K, E]
	tail *[]E // the elements that an overlay appends to the list; nil except in an overlay
	own  bool // no other index uses buf, so elements may change in place
}

// indexed is a buffer that only grows. Hold the lock to append or to use the table.
// An element does not change while several indexes share the buffer.
// The function key is called while the lock is held. It must only read its argument.
type indexed[K comparable, E any] struct {
	key func(E) K
	mu  sync.Mutex
	all []E
	at  map[K]int // position by key; nil until it is needed
}

func newIndex[K comparable, E any](key func(E) K) *index[K, E] {
	return &index[K, E]{buf: &indexed[K, E]{key: key}, own: true}
}

// fork returns a copy of l. Changes of the copy do not affect l.
func (l *index[K, E]) fork() *index[K, E] {
	out := &index[K, E]{all: l.all, buf: l.buf}
	if l.tail != nil {
		out.adopt(l.segments().copy(nil))
	}
	return out
}

func (l *index[K, E]) segments() segments[E] {
	if l.tail != nil {
		return segments[E]{head: l.all, tail: *l.tail}
	}
	return segments[E]{head: l.all}
}

// adopt replaces the elements of l by items, in a new buffer.
func (l *index[K, E]) adopt(items []E) {
	l.all, l.tail, l.own = items, nil, true
	l.buf = &indexed[K, E]{key: l.buf.key, all: items}
}

// detach makes l append to a separate slice instead of the buffer.
func (l *index[K, E]) detach() { l.tail = new([]E) }

func (l *index[K, E]) reset() { l.adopt(nil) }

// find returns the position of the element with a key, and whether there is one.
func (l *index[K, E]) find(key K) (int, bool) {
	if l.tail != nil {
		if i, ok := scan(*l.tail, key, l.buf.key); ok {
			return len(l.all) + i, true
		}
	}
	if len(l.all) <= short {
		return scan(l.all, key, l.buf.key)
	}
	l.buf.mu.Lock()
	defer l.buf.mu.Unlock()
	i, ok := l.buf.position(key)
	return i, ok && i < len(l.all)
}

// scan searches backwards, since most searches are for a recent element.
func scan[K comparable, E any](items []E, key K, of func(E) K) (int, bool) {
	for i := len(items) - 1; i >= 0; i-- {
		if of(items[i]) == key {
			return i, true
		}
	}
	return 0, false
}

// position returns the position of a key in the buffer. The caller holds the lock.
func (b *indexed[K, E]) position(key K) (int, bool) {
	if b.at == nil && len(b.all) <= short {
		return scan(b.all, key, b.key)
	}
	if b.at == nil {
		at := make(map[K]int, len(b.all)+short)
		for i, e := range b.all {
			at[b.key(e)] = i
		}
		b.at = at
	}
	i, ok := b.at[key]
	return i, ok
}

// put replaces the element with the key of e. If the key is new, put appends e.
func (l *index[K, E]) put(e E) {
	if l.tail != nil && l.putTail(e) {
		return
	}
	key := l.buf.key(e)
	b := l.tip()
	defer b.mu.Unlock()
	i, known := b.position(key)
	switch {
	case !known:
		if b.at != nil {
			b.at[key] = len(b.all)
		}
		b.all = append(b.all, e)
		l.all = b.all
	case l.own:
		l.all[i] = e
	default:
		table := b.at
		b.at = nil // the newer list takes over the map of positions
		l.adopt(slices.Clone(l.all))
		l.buf.at = table
		l.all[i] = e
	}
}

// putTail puts e into the tail of an overlay. If e replaces an element outside of
// the tail, putTail moves the overlay to a new buffer and returns false.
func (l *index[K, E]) putTail(e E) bool {
	i, known := l.find(l.buf.key(e))
	switch {
	case !known:
		*l.tail = append(*l.tail, e)
	case i >= len(l.all):
		(*l.tail)[i-len(l.all)] = e
	default:
		l.adopt(l.segments().copy(nil))
		return false
	}
	return true
}

// tip locks and returns a buffer that l can append to. This is the shared buffer,
// or a copy if another index has appended to the shared buffer.
func (l *index[K, E]) tip() *indexed[K, E] {
	l.buf.mu.Lock()
	if len(l.buf.all) == len(l.all) {
		return l.buf
	}
	l.buf.mu.Unlock()
	l.adopt(slices.Clone(l.all))
	l.buf.mu.Lock()
	return l.buf
}

// remove removes the elements with the given keys.
func (l *index[K, E]) remove(keys []K) {
	gone := make(map[K]bool, len(keys))
	for _, k := range keys {
		if _, ok := l.find(k); ok {
			gone[k] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	kept := make([]E, 0, l.segments().len()-len(gone))
	for _, e := range l.segments().all(nil) {
		if !gone[l.buf.key(e)] {
			kept = append(kept, e)
		}
	}
	l.adopt(kept)
}
