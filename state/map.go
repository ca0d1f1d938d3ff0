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

// mapLog is what a transaction did to a map.
type mapLog[K comparable] struct {
	set     bool           // it was overwritten
	touched map[K]struct{} // the entries that were put or removed
}

// Default sets the entries that an absent map has, and starts from. It returns
// the channel, and is meant for its declaration.
func (c *MapChannel[K, V]) Default(v func() map[K]V) *MapChannel[K, V] {
	c.start = v
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
	slot := s.slot(c)
	if slot == nil {
		return c.initial(), false
	}
	return c.copy(slot.(map[K]V)), true
}

func (c *MapChannel[K, V]) initial() map[K]V {
	if c.start != nil {
		return c.start()
	}
	return nil
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
	slot := s.slot(c)
	m, _ := slot.(map[K]V)
	if slot == nil {
		m = c.initial()
	}
	v, ok := m[key]
	if ok && c.clone != nil {
		v = c.clone(v)
	}
	return v, ok
}

// Put returns a write that adds or replaces entries.
func (c *MapChannel[K, V]) Put(entries map[K]V) Write {
	return Write{ch: c, op: KindMerge, data: c.copy(entries)}
}

// Remove returns a write that removes the entries of these keys. A key that is
// not there changes nothing.
func (c *MapChannel[K, V]) Remove(keys ...K) Write {
	gone := make(map[K]struct{}, len(keys))
	for _, k := range keys {
		gone[k] = struct{}{}
	}
	return Write{ch: c, op: KindRemove, data: gone}
}

// Overwrite returns a write that replaces the map; see [Channel.Overwrite].
func (c *MapChannel[K, V]) Overwrite(entries map[K]V) Write {
	return Write{ch: c, op: KindOverwrite, data: c.copy(entries)}
}

// open returns the transaction's own map.
func (c *MapChannel[K, V]) open(slot any, m *mark) (map[K]V, *mapLog[K]) {
	if m.owned {
		return slot.(map[K]V), m.log.(*mapLog[K])
	}
	log := &mapLog[K]{touched: map[K]struct{}{}}
	own := map[K]V{}
	if slot != nil {
		maps.Copy(own, slot.(map[K]V))
	} else {
		maps.Copy(own, c.initial())
		log.set = len(own) > 0
	}
	m.owned, m.log = true, log
	return own, log
}

func (c *MapChannel[K, V]) fold(slot any, m *mark, w *Write) (any, error) {
	own, log := c.open(slot, m)
	switch w.op {
	case KindOverwrite:
		own, log.set = maps.Clone(w.data.(map[K]V)), true
		if own == nil {
			own = map[K]V{}
		}
	case KindMerge:
		for k, v := range w.data.(map[K]V) {
			own[k], log.touched[k] = v, struct{}{}
		}
	case KindRemove:
		for k := range w.data.(map[K]struct{}) {
			delete(own, k)
			log.touched[k] = struct{}{}
		}
	}
	return own, nil
}

func (c *MapChannel[K, V]) finish(slot any, _ *mark) (any, error) { return slot, nil }

func (c *MapChannel[K, V]) encode(slot any, m *mark, emit Emit) error {
	log, own := m.log.(*mapLog[K]), slot.(map[K]V)
	if log.set {
		return c.snapshot(slot, emit)
	}
	put, gone := map[K]V{}, map[K]struct{}{}
	for k := range log.touched {
		if v, ok := own[k]; ok {
			put[k] = v
		} else {
			gone[k] = struct{}{}
		}
	}
	if len(gone) > 0 {
		data, err := c.keys.append(nil, gone)
		if err != nil {
			return err
		}
		emit(c.name, KindRemove, data)
	}
	if len(put) == 0 && len(gone) > 0 {
		return nil
	}
	return c.emit(KindMerge, put, emit)
}

func (c *MapChannel[K, V]) emit(k Kind, m map[K]V, emit Emit) error {
	data, err := c.codec.append(nil, m)
	if err == nil {
		emit(c.name, k, data)
	}
	return err
}

func (c *MapChannel[K, V]) snapshot(slot any, emit Emit) error {
	return c.emit(KindSet, slot.(map[K]V), emit)
}

func (c *MapChannel[K, V]) replay(slot any, m *mark, k Kind, data []byte) (any, error) {
	w, err := c.decodeWrite(echoed(k), data)
	if err != nil {
		return nil, err
	}
	return c.fold(slot, m, &w)
}

// echoed is the kind of write that a stored change has the effect of.
func echoed(k Kind) Kind {
	if k == KindSet {
		return KindOverwrite
	}
	return k
}

func (c *MapChannel[K, V]) encodeWrite(w *Write) (Kind, []byte, error) {
	if w.op == KindRemove {
		data, err := c.keys.append(nil, w.data.(map[K]struct{}))
		return w.op, data, err
	}
	data, err := c.codec.append(nil, w.data.(map[K]V))
	return w.op, data, err
}

func (c *MapChannel[K, V]) decodeWrite(k Kind, data []byte) (Write, error) {
	switch k {
	case KindRemove:
		gone, err := c.keys.decode(data)
		return Write{ch: c, op: k, data: gone}, err
	case KindMerge, KindOverwrite:
		entries, err := c.codec.decode(data)
		return Write{ch: c, op: k, data: entries}, err
	}
	return Write{}, fmt.Errorf("%w: kind %s for a map", ErrStored, k)
}

func (c *MapChannel[K, V]) echo(k Kind, data []byte) (Write, bool, error) {
	w, err := c.decodeWrite(echoed(k), data)
	return w, true, err
}
