package state

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// elements is the common part of [KeyedChannel] and [SetChannel].
// It is a channel that holds a list whose elements have keys.
type elements[K comparable, E any] struct {
	handle
	key   func(E) K
	prune func([]E) []E // may be nil
	noKey func(K) bool  // reports whether a key is missing; nil if every key is valid
	addID func(E) E     // assigns an id to an element without one; may be nil
	clone func(E) E
	codec *jsonform.Codec[E]
	keys  *jsonform.Codec[K]
}

func newElements[K comparable, E any](name, kind string, key func(E) K) *elements[K, E] {
	c := &elements[K, E]{key: key, clone: jsonform.Cloner[E](), codec: jsonform.New[E](), keys: jsonform.New[K]()}
	c.codec.CheckIdentity(func(a, b E) bool { return key(a) == key(b) })
	c.traits = &statecore.Traits{
		Name: name, Kind: kind, Value: reflect.TypeFor[[]E](), Update: reflect.TypeFor[E](), List: true,
		Err: c.codec.Err(), Codec: (*elementsCodec[K, E])(c), ChangesAreWrites: true, Checked: c.codec.Checked(),
	}
	return c
}

// Get returns the list, or nil if it was never written. The caller may change the
// slice and its elements. To read a part of a long list, use Len, Last, All or a
// lookup by key, which cost less. Get panics like [Channel.Get].
func (c *elements[K, E]) Get(s View) []E {
	items, _ := c.Lookup(s)
	return items
}

// Lookup is like Get, and also reports whether the list was written.
func (c *elements[K, E]) Lookup(s View) ([]E, bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		return nil, false
	}
	return slot.Value.(*index[K, E]).segments().copy(c.clone), true
}

func (c *elements[K, E]) segments(s View) segments[E] {
	if slot := s.Slot(c); !slot.Absent() {
		return slot.Value.(*index[K, E]).segments()
	}
	return segments[E]{}
}

// find returns the element with a key, without copying it.
func (c *elements[K, E]) find(s View, key K) (e E, ok bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		return e, false
	}
	l := slot.Value.(*index[K, E])
	i, ok := l.find(key)
	if ok {
		e = l.segments().at(i)
	}
	return e, ok
}

// Len returns the number of elements.
func (c *elements[K, E]) Len(s View) int { return c.segments(s).len() }

// Last returns the last element, or false if the list is empty.
func (c *elements[K, E]) Last(s View) (E, bool) { return c.segments(s).last(c.clone) }

// All iterates over the elements and their indexes, in order.
func (c *elements[K, E]) All(s View) iter.Seq2[int, E] { return c.segments(s).all(c.clone) }

// Remove returns a write that removes the elements with these keys. The write
// ignores keys that are not in the list.
func (c *elements[K, E]) Remove(keys ...K) Write {
	if len(keys) == 0 {
		return Write{}
	}
	return c.write(statecore.Action{Kind: statecore.KindRemove, Data: slices.Clone(keys)})
}

// Clear returns a write that removes all elements.
func (c *elements[K, E]) Clear() Write {
	return c.write(statecore.Action{Kind: statecore.KindClear})
}

func (c *elements[K, E]) put(items []E) Write {
	if len(items) == 0 {
		return Write{}
	}
	return c.write(statecore.Action{Kind: statecore.KindPut, Data: items})
}

func (c *elements[K, E]) overwrite(items []E) Write {
	return c.write(statecore.Action{Kind: statecore.KindOverwrite, Data: items})
}

// elementsCodec implements [statecore.Codec] for [elements].
type elementsCodec[K comparable, E any] elements[K, E]

// elementsLog records the operations of a transaction on the elements, in order. An
// overwrite or clear replaces the earlier operations.
type elementsLog[K comparable, E any] struct {
	ops    []elementsOp[K, E]
	inline [1]elementsOp[K, E] // backs ops, to save an allocation
}

type elementsOp[K comparable, E any] struct {
	kind  statecore.Kind
	items []E
	keys  []K
}

// open returns a list that the transaction may change in place.
func (c *elementsCodec[K, E]) open(s statecore.Slot, m *statecore.Mark) *index[K, E] {
	if m.Owned {
		return s.Value.(*index[K, E])
	}
	m.Owned = true
	if s.Absent() {
		return newIndex(c.key)
	}
	l := s.Value.(*index[K, E]).fork()
	if m.Detach {
		l.detach()
	}
	return l
}

func (c *elementsCodec[K, E]) log(m *statecore.Mark) *elementsLog[K, E] {
	if m.Log == nil {
		log := &elementsLog[K, E]{}
		log.ops = log.inline[:0]
		m.Log = log
	}
	return m.Log.(*elementsLog[K, E])
}

func (c *elementsCodec[K, E]) Initial() statecore.Slot {
	return statecore.Slot{Value: newIndex(c.key)}
}

func (c *elementsCodec[K, E]) Fold(s statecore.Slot, m *statecore.Mark, a statecore.Action) (statecore.Slot, error) {
	op := elementsOp[K, E]{kind: a.Kind}
	switch a.Kind {
	case statecore.KindPut, statecore.KindOverwrite:
		op.items = a.Data.([]E)
	case statecore.KindRemove:
		op.keys = a.Data.([]K)
	}
	if i := c.indexWithoutKey(op.items); i >= 0 {
		return statecore.Slot{}, fmt.Errorf("element %d has no id: WithID of the Identity must set the id", i)
	}
	l, log := c.open(s, m), c.log(m)
	if a.Kind == statecore.KindOverwrite || a.Kind == statecore.KindClear {
		log.ops = log.ops[:0]
	}
	log.ops = append(log.ops, op)
	op.apply(l)
	return statecore.Slot{Value: l}, nil
}

// indexWithoutKey returns the index of the first element without a key, or -1.
func (c *elementsCodec[K, E]) indexWithoutKey(items []E) int {
	if c.noKey == nil {
		return -1
	}
	return slices.IndexFunc(items, func(e E) bool { return c.noKey(c.key(e)) })
}

func (op elementsOp[K, E]) apply(l *index[K, E]) {
	switch op.kind {
	case statecore.KindOverwrite, statecore.KindSet, statecore.KindClear:
		l.reset()
		fallthrough
	case statecore.KindPut:
		for _, e := range op.items {
			l.put(e)
		}
	case statecore.KindRemove:
		l.remove(op.keys)
	}
}

// Prune calls the user's function and removes the elements that it does not return.
func (c *elementsCodec[K, E]) Prune(s statecore.Slot, m *statecore.Mark) (statecore.Slot, error) {
	l := c.open(s, m)
	kept := c.prune(l.segments().copy(c.clone))
	dropped, err := c.dropped(l.segments(), kept)
	if err != nil || len(dropped) == 0 {
		return statecore.Slot{Value: l}, err
	}
	op := elementsOp[K, E]{kind: statecore.KindRemove, keys: dropped}
	log := c.log(m)
	log.ops = append(log.ops, op)
	op.apply(l)
	return statecore.Slot{Value: l}, nil
}

// dropped returns the keys of the elements of items that kept does not contain. It
// returns an error if kept has another order, or an element that items does not contain.
func (c *elementsCodec[K, E]) dropped(items segments[E], kept []E) ([]K, error) {
	var out []K
	next := 0
	for _, e := range items.all(nil) {
		k := c.key(e)
		if next < len(kept) && c.key(kept[next]) == k {
			next++
			continue
		}
		out = append(out, k)
	}
	if next < len(kept) {
		return nil, errors.New("the function of Prune returned an element that is new or out of order")
	}
	return out, nil
}

func (c *elementsCodec[K, E]) Changes(_ statecore.Slot, m *statecore.Mark, to *statecore.ChangeWriter) error {
	ops := c.log(m).ops
	for len(ops) > 0 {
		op, n := mergePuts(ops)
		if err := c.emit(op, to); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// mergePuts merges the puts at the start of ops into one operation. It returns the
// first operation to store, and the number n of operations in ops that it replaces.
func mergePuts[K comparable, E any](ops []elementsOp[K, E]) (op elementsOp[K, E], n int) {
	op = ops[0]
	for n = 1; n < len(ops) && op.kind == statecore.KindPut && ops[n].kind == statecore.KindPut; n++ {
		op.items = append(slices.Clip(op.items), ops[n].items...)
	}
	return op, n
}

func (c *elementsCodec[K, E]) emit(op elementsOp[K, E], to *statecore.ChangeWriter) error {
	switch op.kind {
	case statecore.KindRemove:
		return emitList(to, op.kind, c.keys, op.keys)
	case statecore.KindPut:
		return emitList(to, op.kind, c.codec, op.items)
	}
	return emitList(to, statecore.KindSet, c.codec, op.items)
}

func (c *elementsCodec[K, E]) Snapshot(s statecore.Slot, to *statecore.ChangeWriter) error {
	return emitList(to, statecore.KindSet, c.codec, s.Value.(*index[K, E]).segments().from(0))
}

func (c *elementsCodec[K, E]) Replay(s statecore.Slot, m *statecore.Mark, k statecore.Kind, data []byte) (statecore.Slot, error) {
	if k != statecore.KindSet && k != statecore.KindPut && k != statecore.KindRemove {
		return statecore.Slot{}, statecore.OtherKind(k, c.traits.Kind)
	}
	op, err := c.decode(k, data)
	if err != nil {
		return statecore.Slot{}, err
	}
	l := c.open(s, m)
	op.apply(l)
	return statecore.Slot{Value: l}, nil
}

func (c *elementsCodec[K, E]) decode(k statecore.Kind, data []byte) (op elementsOp[K, E], err error) {
	op.kind = k
	if k == statecore.KindRemove {
		op.keys, err = c.keys.DecodeList(data)
		return op, err
	}
	op.items, err = c.codec.DecodeList(data)
	if err != nil {
		return op, err
	}
	if i := c.indexWithoutKey(op.items); i >= 0 {
		err = fmt.Errorf("%w: element %d has no id", ErrStored, i)
	}
	return op, err
}

func (c *elementsCodec[K, E]) EncodeWrite(a statecore.Action) (statecore.Kind, []byte, error) {
	switch a.Kind {
	case statecore.KindClear:
		return a.Kind, nil, nil
	case statecore.KindRemove:
		data, err := c.keys.EncodeList(a.Data.([]K))
		return a.Kind, data, err
	}
	data, err := c.codec.EncodeList(a.Data.([]E))
	return a.Kind, data, err
}

func (c *elementsCodec[K, E]) DecodeWrite(k statecore.Kind, data []byte) (statecore.Action, error) {
	switch k {
	case statecore.KindClear:
		return statecore.Action{Kind: k}, nil
	case statecore.KindRemove, statecore.KindPut, statecore.KindOverwrite:
	default:
		return statecore.Action{}, statecore.OtherKind(k, c.traits.Kind)
	}
	op, err := c.decode(k, data)
	switch {
	case err != nil:
		return statecore.Action{}, err
	case k == statecore.KindRemove:
		return statecore.Action{Kind: k, Data: op.keys}, nil
	}
	return statecore.Action{Kind: k, Data: op.items}, nil
}

func (c *elementsCodec[K, E]) WriteFromChange(k statecore.Kind, data []byte) (statecore.Action, bool, error) {
	if k == statecore.KindSet {
		k = statecore.KindOverwrite
	}
	a, err := c.DecodeWrite(k, data)
	return a, err == nil, err
}

func (c *elementsCodec[K, E]) ParseInput(data []byte) (statecore.Action, error) {
	items, err := parseElements(c.codec, data)
	if err != nil || len(items) == 0 {
		return statecore.Action{}, err
	}
	if c.addID != nil {
		for i, e := range items {
			items[i] = c.addID(e)
		}
	}
	return statecore.Action{Kind: statecore.KindPut, Data: items}, nil
}

func (c *elementsCodec[K, E]) ParseRemove(data []byte) (statecore.Action, error) {
	return c.DecodeWrite(statecore.KindRemove, data)
}

func (c *elementsCodec[K, E]) Describe(a statecore.Action) (string, []byte, error) {
	k, data, err := c.EncodeWrite(a)
	return k.String(), data, err
}
