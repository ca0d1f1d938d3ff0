package state

import (
	"slices"
	"sync"
)

// index is a slot: a list whose elements have keys. Like list, indexes share a
// buffer, with its table of positions, until one of them goes its own way.
type index[K comparable, E any] struct {
	key func(E) K
	all []E // the elements; what lies behind their end is the buffer's
	buf *indexed[K, E]
	own bool // no view has seen the buffer, so elements may change in place
}

// indexed is a buffer that only grows. The lock is held by those who apply
// writes; readers look at elements that no longer change.
type indexed[K comparable, E any] struct {
	mu  sync.Mutex
	all []E
	at  map[K]int // position by key; nil until it is needed
}

func (l *index[K, E]) items() []E { return slices.Clip(l.all) }

func (l *index[K, E]) reset() { l.adopt(nil) }

// adopt moves l to a buffer of its own.
func (l *index[K, E]) adopt(items []E) {
	l.all, l.own = items, true
	l.buf = &indexed[K, E]{all: items}
}

// detach copies l into a buffer of its own.
func (l *index[K, E]) detach() { l.adopt(slices.Clone(l.all)) }

// tip locks a buffer that l may grow: the shared one if no other index has
// grown it yet.
func (l *index[K, E]) tip() *indexed[K, E] {
	if l.buf != nil {
		l.buf.mu.Lock()
		if len(l.buf.all) == len(l.all) {
			return l.buf
		}
		l.buf.mu.Unlock()
	}
	l.detach()
	l.buf.mu.Lock()
	return l.buf
}

func (b *indexed[K, E]) position(key K, of func(E) K) (int, bool) {
	if b.at == nil {
		b.at = make(map[K]int, len(b.all))
		for i, e := range b.all {
			b.at[of(e)] = i
		}
	}
	i, ok := b.at[key]
	return i, ok
}

// put replaces the element of e's key, or appends e.
func (l *index[K, E]) put(e E) {
	b := l.tip()
	defer b.mu.Unlock()
	key := l.key(e)
	i, known := b.position(key, l.key)
	switch {
	case !known:
		b.at[key] = len(b.all)
		b.all = append(b.all, e)
		l.all = b.all
	case l.own:
		l.all[i] = e
	default:
		table := b.at
		b.at = nil // the table goes with the newer list
		l.detach()
		l.buf.at = table
		l.all[i] = e
	}
}

// remove takes the elements of these keys out.
func (l *index[K, E]) remove(keys []K) {
	gone := make(map[K]bool, len(keys))
	for _, k := range keys {
		gone[k] = true
	}
	if !slices.ContainsFunc(l.all, func(e E) bool { return gone[l.key(e)] }) {
		return
	}
	kept := make([]E, 0, len(l.all))
	for _, e := range l.all {
		if !gone[l.key(e)] {
			kept = append(kept, e)
		}
	}
	l.adopt(kept)
}
