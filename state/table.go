package state

import "maps"

// table holds the entries of a map in layers. A layer overrides the older layers.
// A transaction changes only the top layer, so it does not change other views.
// A fork with merge makes each layer more than twice as large as the next newer layer.
// An entry is therefore copied by few merges.
type table[K comparable, V any] struct {
	layers []layer[K, V] // oldest first; other views share them, so they never change
	top    layer[K, V]   // the changes of one transaction
}

type layer[K comparable, V any] map[K]cell[V]

// cell is an entry of a layer. It may record that the entry was removed.
type cell[V any] struct {
	value   V
	removed bool
}

// newTable returns a table with the given entries.
func newTable[K comparable, V any](entries map[K]V) *table[K, V] {
	top := make(layer[K, V], len(entries))
	for k, v := range entries {
		top[k] = cell[V]{value: v}
	}
	return &table[K, V]{top: top}
}

// fork returns a copy of t. Changes of the copy do not affect t. If merge is true, fork
// merges small layers. Overlays need no merge, since most of them are read only once.
func (t *table[K, V]) fork(merge bool) *table[K, V] {
	out := &table[K, V]{top: layer[K, V]{}}
	out.layers = append(append(make([]layer[K, V], 0, len(t.layers)+1), t.layers...), t.top)
	for n := len(out.layers); merge && n > 1 && len(out.layers[n-2]) <= 2*len(out.layers[n-1]); n-- {
		out.layers[n-2] = mergeLayers(out.layers[n-2], out.layers[n-1], n == 2)
		out.layers = out.layers[:n-1]
	}
	return out
}

// mergeLayers returns a new layer with the entries of both layers.
// The argument oldest is true if older is the oldest layer of its table. The result then
// needs no records of removals.
func mergeLayers[K comparable, V any](older, newer layer[K, V], oldest bool) layer[K, V] {
	out := maps.Clone(older)
	for k, e := range newer {
		if e.removed && oldest {
			delete(out, k)
		} else {
			out[k] = e
		}
	}
	return out
}

// find returns the value of a key, without copying it.
func (t *table[K, V]) find(key K) (v V, ok bool) {
	if e, found := t.top[key]; found {
		return e.value, !e.removed
	}
	for i := len(t.layers) - 1; i >= 0; i-- {
		if e, found := t.layers[i][key]; found {
			return e.value, !e.removed
		}
	}
	return v, false
}

// entries returns a new map with all entries. It does not copy the values.
func (t *table[K, V]) entries() map[K]V {
	size := len(t.top)
	for _, l := range t.layers {
		size += len(l)
	}
	out := make(map[K]V, size)
	for _, l := range append(t.layers[:len(t.layers):len(t.layers)], t.top) {
		for k, e := range l {
			if e.removed {
				delete(out, k)
			} else {
				out[k] = e.value
			}
		}
	}
	return out
}
