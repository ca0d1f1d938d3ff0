package state

import (
	"fmt"
	"maps"
	"reflect"
)

// Map returns a channel that holds entries by key: a write adds or replaces
// entries, and leaves the others alone.
func Map[K comparable, V any](name string) *MapChannel[K, V] {
	c := &MapChannel[K, V]{
		traits: &traits{name: name, kind: "map", goType: reflect.TypeFor[map[K]V]().String(), echoes: true},
		clone:  cloner[V](),
		codec:  newCodec[map[K]V](),
		keys:   newCodec[map[K]struct{}](),
	}
	c.bind(c)
	c.err = c.codec.err
	return c
}

// A MapChannel is a channel that holds entries by key. It is made by [Map].
type MapChannel[K comparable, V any] struct {
	*traits
	start func() map[K]V
	clone func(V) V
	codec *codec[map[K]V]
	keys  *codec[map[K]struct{}]
}

// Default sets the entries that an absent map has, and starts from. It returns
// the channel, and is meant for its declaration.
func (c *MapChannel[K, V]) Default(v func() map[K]V) *MapChannel[K, V] {
	c.start = v
	c.echoes = false // the first change holds the default, which no write does
	return c
}

// Get returns the entries; nil, or the default, when it was never written. The
// map and its values are the caller's own: to look at one entry of a large map,
// Find is cheaper. Get panics like [Channel.Get].
func (c *MapChannel[K, V]) Get(s View) map[K]V {
	m, _ := c.Lookup(s)
	return m
}

// Lookup is Get, and reports whether the map was ever written.
func (c *MapChannel[K, V]) Lookup(s View) (map[K]V, bool) {
	held := s.slot(c)
	if held.absent() {
		return c.initial(), false
	}
	return c.copy(held.value.(map[K]V)), true
}

// initial returns a copy of the default, so that one that is always the same
// map can do no harm.
func (c *MapChannel[K, V]) initial() map[K]V {
	if c.start == nil {
		return nil
	}
	return c.copy(c.start())
}

func (c *MapChannel[K, V]) copy(m map[K]V) map[K]V {
	out := maps.Clone(m)
	if c.clone != nil {
		for k, v := range out {
			out[k] = c.clone(v)
		}
	}
	return out
}

// Find returns the entry of a key, and whether there is one.
func (c *MapChannel[K, V]) Find(s View, key K) (V, bool) {
	held := s.slot(c)
	if held.absent() {
		v, ok := c.initial()[key]
		return v, ok
	}
	v, ok := held.value.(map[K]V)[key]
	if ok {
		v = cloned(v, c.clone)
	}
	return v, ok
}

// Put returns a write that adds or replaces entries.
func (c *MapChannel[K, V]) Put(entries map[K]V) Write {
	return c.write(KindMerge, c.copy(entries))
}

// Remove returns a write that removes the entries of these keys. A key that is
// not there changes nothing.
func (c *MapChannel[K, V]) Remove(keys ...K) Write {
	if len(keys) == 0 {
		return Write{}
	}
	gone := make(map[K]struct{}, len(keys))
	for _, k := range keys {
		gone[k] = struct{}{}
	}
	return c.write(KindRemove, gone)
}

// Overwrite returns a write that replaces the map; see [Channel.Overwrite].
func (c *MapChannel[K, V]) Overwrite(entries map[K]V) Write {
	return c.write(KindOverwrite, c.copy(entries))
}

// open returns the transaction's own map.
func (c *MapChannel[K, V]) open(s slot, m *mark) map[K]V {
	if m.owned {
		return s.value.(map[K]V)
	}
	m.owned = true
	if !s.absent() {
		return maps.Clone(s.value.(map[K]V))
	}
	return map[K]V{}
}

func (c *MapChannel[K, V]) fold(s slot, m *mark, w *Write) (slot, error) {
	if s.absent() && w.verb.kind != KindOverwrite {
		if entries := c.initial(); len(entries) > 0 {
			s.value, m.owned, m.set = entries, true, true // the default is stored with the first write
		}
	}
	return slot{value: c.apply(s, m, w)}, nil
}

func (c *MapChannel[K, V]) apply(s slot, m *mark, w *Write) map[K]V {
	if w.verb.kind == KindOverwrite {
		m.owned, m.set = true, true
		own := make(map[K]V, len(w.data.(map[K]V)))
		maps.Copy(own, w.data.(map[K]V))
		return own
	}
	own, touched := c.open(s, m), c.touched(m)
	if w.verb.kind == KindRemove {
		for k := range w.data.(map[K]struct{}) {
			delete(own, k)
			touched[k] = struct{}{}
		}
		return own
	}
	for k, v := range w.data.(map[K]V) {
		own[k], touched[k] = v, struct{}{}
	}
	return own
}

// touched returns the transaction's record: the entries that were put or
// removed.
func (c *MapChannel[K, V]) touched(m *mark) map[K]struct{} {
	if m.log == nil {
		m.log = map[K]struct{}{}
	}
	return m.log.(map[K]struct{})
}

func (c *MapChannel[K, V]) encode(s slot, m *mark, to *sink) error {
	if m.set {
		return c.snapshot(s, to)
	}
	own, put, gone := s.value.(map[K]V), map[K]V{}, map[K]struct{}{}
	for k := range c.touched(m) {
		if v, ok := own[k]; ok {
			put[k] = v
		} else {
			gone[k] = struct{}{}
		}
	}
	if len(gone) > 0 {
		if err := c.keys.sendValue(to, c.name, KindRemove, gone); err != nil {
			return err
		}
	}
	if len(put) == 0 && len(gone) > 0 {
		return nil
	}
	return c.codec.sendValue(to, c.name, KindMerge, put)
}

func (c *MapChannel[K, V]) snapshot(s slot, to *sink) error {
	return c.codec.sendValue(to, c.name, KindSet, s.value.(map[K]V))
}

func (c *MapChannel[K, V]) replay(s slot, m *mark, k Kind, data []byte) (slot, error) {
	if k != KindSet && k != KindMerge && k != KindRemove {
		return slot{}, fmt.Errorf("%w: kind %s for a map", ErrStored, k)
	}
	w, err := c.decodeWrite(echoed(k), data)
	if err != nil {
		return slot{}, err
	}
	return slot{value: c.apply(s, m, &w)}, nil
}

// echoed is the kind of write that a stored change has the effect of.
func echoed(k Kind) Kind {
	if k == KindSet {
		return KindOverwrite
	}
	return k
}

func (c *MapChannel[K, V]) encodeWrite(w Write) (Kind, []byte, error) {
	if w.verb.kind == KindRemove {
		data, err := c.keys.encode(w.data.(map[K]struct{}))
		return w.verb.kind, data, err
	}
	data, err := c.codec.encode(w.data.(map[K]V))
	return w.verb.kind, data, err
}

func (c *MapChannel[K, V]) decodeWrite(k Kind, data []byte) (Write, error) {
	switch k {
	case KindRemove:
		gone, err := c.keys.decode(data)
		return c.write(k, gone), err
	case KindMerge, KindOverwrite:
		entries, err := c.codec.decode(data)
		return c.write(k, entries), err
	}
	return Write{}, fmt.Errorf("%w: kind %s for a write to a map", ErrStored, k)
}

func (c *MapChannel[K, V]) echo(k Kind, data []byte) (Write, bool, error) {
	w, err := c.decodeWrite(echoed(k), data)
	return w, err == nil, err
}
