package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// Map returns a channel that holds a map. Put adds or replaces entries.
// Other entries do not change. The cost of a write hardly depends on the size of
// the map, neither in memory nor in storage.
func Map[K comparable, V any](name string) *MapChannel[K, V] {
	c := &MapChannel[K, V]{
		clone: jsonform.Cloner[V](),
		codec: jsonform.New[map[K]V](),
		keys:  jsonform.New[map[K]struct{}](),
	}
	entries := reflect.TypeFor[map[K]V]()
	c.traits = &statecore.Traits{
		Name: name, Kind: "map", Value: entries, Update: entries,
		Err: c.codec.Err(), Codec: (*mapCodec[K, V])(c), ChangesAreWrites: true, Checked: c.codec.Checked(),
	}
	return c
}

// A MapChannel is a channel that holds entries by key. Create it with [Map].
type MapChannel[K comparable, V any] struct {
	handle
	start   func() map[K]V // the default; may be nil
	clone   func(V) V
	codec   *jsonform.Codec[map[K]V]
	keys    *jsonform.Codec[map[K]struct{}]
	upgrade jsonform.Upgrade // converts one stored value; may be nil
}

// Default sets the entries that the map has before its first write. The first Put
// adds to them, or the first Remove removes from them. Default returns the channel. Call
// Default only where the channel is declared.
func (c *MapChannel[K, V]) Default(v func() map[K]V) *MapChannel[K, V] {
	c.start = v
	c.traits.ChangesAreWrites = false // the first stored change also contains the default
	return c
}

// Internal marks the channel as an implementation detail of nodes. See [Channel.Internal].
func (c *MapChannel[K, V]) Internal() *MapChannel[K, V] {
	c.traits.Internal = true
	return c
}

// Upgrade sets a function that converts the stored JSON of a value from an older
// form. See [Channel.Upgrade].
func (c *MapChannel[K, V]) Upgrade(up func(old json.RawMessage) (json.RawMessage, error)) *MapChannel[K, V] {
	c.upgrade = up
	return c
}

// Get returns the entries. If the map was never written, Get returns the default or,
// without a default, nil. The caller may change the map and its values. To read one
// entry of a large map, use Find, which costs less. Get panics like [Channel.Get].
func (c *MapChannel[K, V]) Get(s View) map[K]V {
	m, _ := c.Lookup(s)
	return m
}

// Lookup is like [MapChannel.Get], and also reports whether the map was written.
func (c *MapChannel[K, V]) Lookup(s View) (map[K]V, bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		return c.initial(), false
	}
	entries := slot.Value.(*table[K, V]).entries()
	if c.clone != nil {
		for k, v := range entries {
			entries[k] = c.clone(v)
		}
	}
	return entries, true
}

// initial returns a copy of the default.
// The user's function may return the same map each time.
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

// Find returns a copy of the value of a key, or false if there is no such entry.
func (c *MapChannel[K, V]) Find(s View, key K) (V, bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		v, ok := c.initial()[key]
		return v, ok
	}
	v, ok := slot.Value.(*table[K, V]).find(key)
	if ok {
		v = cloned(v, c.clone)
	}
	return v, ok
}

// Put returns a write that adds or replaces entries.
func (c *MapChannel[K, V]) Put(entries map[K]V) Write {
	return c.write(statecore.Action{Kind: statecore.KindMerge, Data: c.copy(entries)})
}

// Remove returns a write that removes the entries with these keys. The write ignores
// keys that are not in the map.
func (c *MapChannel[K, V]) Remove(keys ...K) Write {
	if len(keys) == 0 {
		return Write{}
	}
	removed := make(map[K]struct{}, len(keys))
	for _, k := range keys {
		removed[k] = struct{}{}
	}
	return c.write(statecore.Action{Kind: statecore.KindRemove, Data: removed})
}

// Overwrite returns a write that replaces the map. See [Channel.Overwrite].
func (c *MapChannel[K, V]) Overwrite(entries map[K]V) Write {
	return c.write(statecore.Action{Kind: statecore.KindOverwrite, Data: c.copy(entries)})
}

// mapCodec implements [statecore.Codec] for a [MapChannel].
type mapCodec[K comparable, V any] MapChannel[K, V]

func (c *mapCodec[K, V]) Initial() statecore.Slot {
	return statecore.Slot{Value: newTable((*MapChannel[K, V])(c).initial())}
}

func (c *mapCodec[K, V]) Fold(s statecore.Slot, m *statecore.Mark, a statecore.Action) (statecore.Slot, error) {
	if s.Absent() && a.Kind != statecore.KindOverwrite {
		if entries := (*MapChannel[K, V])(c).initial(); len(entries) > 0 {
			s.Value, m.Owned, m.Whole = newTable(entries), true, true // the first stored change also contains the default
		}
	}
	return statecore.Slot{Value: c.apply(s, m, a)}, nil
}

// open returns a table that the transaction may change in place.
func (c *mapCodec[K, V]) open(s statecore.Slot, m *statecore.Mark) *table[K, V] {
	if m.Owned {
		return s.Value.(*table[K, V])
	}
	m.Owned = true
	if s.Absent() {
		return &table[K, V]{top: layer[K, V]{}}
	}
	return s.Value.(*table[K, V]).fork(!m.Detach)
}

func (c *mapCodec[K, V]) apply(s statecore.Slot, m *statecore.Mark, a statecore.Action) *table[K, V] {
	if a.Kind == statecore.KindOverwrite {
		m.Owned, m.Whole = true, true
		return newTable(a.Data.(map[K]V))
	}
	t := c.open(s, m)
	if a.Kind == statecore.KindRemove {
		for k := range a.Data.(map[K]struct{}) {
			t.top[k] = cell[V]{removed: true}
		}
		return t
	}
	for k, v := range a.Data.(map[K]V) {
		t.top[k] = cell[V]{value: v}
	}
	return t
}

func (c *mapCodec[K, V]) Changes(s statecore.Slot, m *statecore.Mark, to *statecore.ChangeWriter) error {
	if m.Whole {
		return c.Snapshot(s, to)
	}
	put, removed := map[K]V{}, map[K]struct{}{}
	for k, e := range s.Value.(*table[K, V]).top {
		if e.removed {
			removed[k] = struct{}{}
		} else {
			put[k] = e.value
		}
	}
	if len(removed) > 0 {
		if err := emitValue(to, statecore.KindRemove, c.keys, removed); err != nil {
			return err
		}
	}
	if len(put) == 0 && len(removed) > 0 {
		return nil
	}
	return emitValue(to, statecore.KindMerge, c.codec, put)
}

func (c *mapCodec[K, V]) Snapshot(s statecore.Slot, to *statecore.ChangeWriter) error {
	return emitValue(to, statecore.KindSet, c.codec, s.Value.(*table[K, V]).entries())
}

func (c *mapCodec[K, V]) Replay(s statecore.Slot, m *statecore.Mark, k statecore.Kind, data []byte) (statecore.Slot, error) {
	if k != statecore.KindSet && k != statecore.KindMerge && k != statecore.KindRemove {
		return statecore.Slot{}, statecore.OtherKind(k, c.traits.Kind)
	}
	a, _, err := c.WriteFromChange(k, data)
	if err != nil {
		return statecore.Slot{}, err
	}
	return statecore.Slot{Value: c.apply(s, m, a)}, nil
}

func (c *mapCodec[K, V]) EncodeWrite(a statecore.Action) (statecore.Kind, []byte, error) {
	if a.Kind == statecore.KindRemove {
		data, err := c.keys.Encode(a.Data.(map[K]struct{}))
		return a.Kind, data, err
	}
	data, err := c.codec.Encode(a.Data.(map[K]V))
	return a.Kind, data, err
}

func (c *mapCodec[K, V]) DecodeWrite(k statecore.Kind, data []byte) (statecore.Action, error) {
	switch k {
	case statecore.KindRemove:
		removed, err := c.keys.Decode(data)
		return statecore.Action{Kind: k, Data: removed}, err
	case statecore.KindMerge, statecore.KindOverwrite:
		entries, err := c.decode(data)
		return statecore.Action{Kind: k, Data: entries}, err
	}
	return statecore.Action{}, statecore.OtherKind(k, c.traits.Kind)
}

// decode decodes a stored map. It applies the Upgrade function to the JSON of each value.
func (c *mapCodec[K, V]) decode(data []byte) (map[K]V, error) {
	if c.upgrade == nil {
		return c.codec.Decode(data)
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	for k, old := range values {
		v, err := jsonform.CallUpgrade(c.upgrade, old)
		if err != nil {
			return nil, fmt.Errorf("%w: entry %q: %w", ErrStored, k, err)
		}
		values[k] = v
	}
	data, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStored, err)
	}
	entries, err := c.codec.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w returned JSON that cannot be read: %w", ErrStored, jsonform.ErrUpgrade, err)
	}
	return entries, nil
}

func (c *mapCodec[K, V]) WriteFromChange(k statecore.Kind, data []byte) (statecore.Action, bool, error) {
	if k == statecore.KindSet {
		k = statecore.KindOverwrite
	}
	a, err := c.DecodeWrite(k, data)
	return a, err == nil, err
}

func (c *mapCodec[K, V]) ParseInput(data []byte) (statecore.Action, error) {
	entries, err := c.codec.Parse(data)
	if err != nil || len(entries) == 0 {
		return statecore.Action{}, err
	}
	return statecore.Action{Kind: statecore.KindMerge, Data: entries}, nil
}

func (c *mapCodec[K, V]) ParseRemove(data []byte) (statecore.Action, error) {
	var keys []string
	if err := json.Unmarshal(data, &keys); err != nil {
		return statecore.Action{}, fmt.Errorf("the keys to remove are not an array of texts: %w", err)
	}
	object := make(map[string]struct{}, len(keys)) // the stored form
	for _, k := range keys {
		object[k] = struct{}{}
	}
	data, err := json.Marshal(object)
	if err != nil {
		return statecore.Action{}, err
	}
	return c.DecodeWrite(statecore.KindRemove, data)
}

func (c *mapCodec[K, V]) Describe(a statecore.Action) (string, []byte, error) {
	k, data, err := c.EncodeWrite(a)
	if err != nil || k != statecore.KindRemove {
		return k.String(), data, err
	}
	// The stored form is an object with empty values. An array is easier to read.
	var keys map[string]struct{}
	if err := json.Unmarshal(data, &keys); err != nil {
		return "", nil, err
	}
	data, err = json.Marshal(slices.Sorted(maps.Keys(keys)))
	return k.String(), data, err
}
