package state

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
)

// elements is what [KeyedChannel] and [SetChannel] share: a list whose elements
// have keys.
type elements[K comparable, E any] struct {
	*traits
	key    func(E) K
	prune  func([]E) []E
	absent func(K) bool // whether a key is none; nil when every key is one
	clone  func(E) E
	codec  *codec[E]
	keys   *codec[K]
}

func newElements[K comparable, E any](name, kind string, key func(E) K) *elements[K, E] {
	c := &elements[K, E]{
		traits: &traits{name: name, kind: kind, goType: reflect.TypeFor[[]E]().String(), echoes: true},
		key:    key,
		clone:  cloner[E](),
		codec:  newCodec[E](),
		keys:   newCodec[K](),
	}
	c.bind(c)
	c.codec.same = func(a, b E) bool { return key(a) == key(b) }
	c.err = c.codec.err
	return c
}

// elementsLog is what a transaction did to it, in order.
type elementsLog[K comparable, E any] struct {
	ops   []elementsOp[K, E]
	first [1]elementsOp[K, E] // backs ops, to save an allocation
}

type elementsOp[K comparable, E any] struct {
	kind  Kind
	items []E
	keys  []K
}

// Get returns the list; nil when it was never written. The slice and its
// elements are the caller's own: to look at some of a long list, Len, Last and
// All are cheaper, and so is looking one up. Get panics like [Channel.Get].
func (c *elements[K, E]) Get(s View) []E {
	items, _ := c.Lookup(s)
	return items
}

// Lookup is Get, and reports whether the list was ever written.
func (c *elements[K, E]) Lookup(s View) ([]E, bool) {
	held := s.slot(c)
	if held.absent() {
		return nil, false
	}
	return held.value.(*index[K, E]).run().copy(c.clone), true
}

func (c *elements[K, E]) run(s View) run[E] {
	if held := s.slot(c); !held.absent() {
		return held.value.(*index[K, E]).run()
	}
	return run[E]{}
}

// find returns the element of a key, without a copy.
func (c *elements[K, E]) find(s View, key K) (e E, ok bool) {
	held := s.slot(c)
	if held.absent() {
		return e, false
	}
	l := held.value.(*index[K, E])
	i, ok := l.find(key)
	if ok {
		e = l.run().at(i)
	}
	return e, ok
}

// Len returns the number of elements.
func (c *elements[K, E]) Len(s View) int { return c.run(s).len() }

// Last returns the newest element, and whether there is one.
func (c *elements[K, E]) Last(s View) (E, bool) { return c.run(s).last(c.clone) }

// All yields the elements with their positions, in order.
func (c *elements[K, E]) All(s View) iter.Seq2[int, E] { return c.run(s).all(c.clone) }

// Remove returns a write that removes the elements of these keys. A key that is
// not in the list changes nothing.
func (c *elements[K, E]) Remove(keys ...K) Write {
	if len(keys) == 0 {
		return Write{}
	}
	return c.write(KindRemove, slices.Clone(keys))
}

func (c *elements[K, E]) put(items []E) Write {
	if len(items) == 0 {
		return Write{}
	}
	return c.write(KindPut, items)
}

// Clear returns a write that removes every element.
func (c *elements[K, E]) Clear() Write { return c.write(KindClear, nil) }

// open returns the transaction's own list.
func (c *elements[K, E]) open(s slot, m *mark) *index[K, E] {
	if m.owned {
		return s.value.(*index[K, E])
	}
	m.owned = true
	if s.absent() {
		return newIndex(c.key)
	}
	l := s.value.(*index[K, E]).fork()
	if m.detach {
		l.detach()
	}
	return l
}

// log returns the transaction's record.
func (c *elements[K, E]) log(m *mark) *elementsLog[K, E] {
	if m.log == nil {
		log := &elementsLog[K, E]{}
		log.ops = log.first[:0]
		m.log = log
	}
	return m.log.(*elementsLog[K, E])
}

func (c *elements[K, E]) fold(s slot, m *mark, w *Write) (slot, error) {
	op := elementsOp[K, E]{kind: w.verb.kind}
	switch w.verb.kind {
	case KindPut, KindOverwrite:
		op.items = w.data.([]E)
	case KindRemove:
		op.keys = w.data.([]K)
	}
	if i := c.keyless(op.items); i >= 0 {
		return slot{}, fmt.Errorf("element %d has no id, also after WithID", i)
	}
	l, log := c.open(s, m), c.log(m)
	if w.verb.kind == KindOverwrite || w.verb.kind == KindClear {
		log.ops = log.ops[:0]
	}
	log.ops = append(log.ops, op)
	c.apply(l, op)
	return slot{value: l}, nil
}

// keyless returns the position of the first element without a key, else -1.
func (c *elements[K, E]) keyless(items []E) int {
	if c.absent == nil {
		return -1
	}
	return slices.IndexFunc(items, func(e E) bool { return c.absent(c.key(e)) })
}

func (c *elements[K, E]) apply(l *index[K, E], op elementsOp[K, E]) {
	switch op.kind {
	case KindOverwrite, KindSet, KindClear:
		l.reset()
		fallthrough
	case KindPut:
		for _, e := range op.items {
			l.put(e)
		}
	case KindRemove:
		l.remove(op.keys)
	}
}

func (c *elements[K, E]) finish(s slot, m *mark) (slot, error) {
	l := c.open(s, m)
	kept := c.prune(l.run().copy(c.clone))
	dropped, err := c.dropped(l.run(), kept)
	if err != nil || len(dropped) == 0 {
		return slot{value: l}, err
	}
	op := elementsOp[K, E]{kind: KindRemove, keys: dropped}
	log := c.log(m)
	log.ops = append(log.ops, op)
	c.apply(l, op)
	return slot{value: l}, nil
}

// dropped returns the keys in all that kept lacks; kept must be in order.
func (c *elements[K, E]) dropped(all run[E], kept []E) ([]K, error) {
	var out []K
	next := 0
	for _, e := range all.all(nil) {
		k := c.key(e)
		if next < len(kept) && c.key(kept[next]) == k {
			next++
			continue
		}
		out = append(out, k)
	}
	if next < len(kept) {
		return nil, errors.New("the pruner returned an element that is new or out of order")
	}
	return out, nil
}

func (c *elements[K, E]) encode(_ slot, m *mark, to *sink) error {
	ops := c.log(m).ops
	for len(ops) > 0 {
		op, n := joined(ops)
		if err := c.encodeOp(op, to); err != nil {
			return err
		}
		ops = ops[n:]
	}
	return nil
}

// joined returns the first of ops with the n-1 that are stored as one with it:
// neighbouring puts.
func joined[K comparable, E any](ops []elementsOp[K, E]) (op elementsOp[K, E], n int) {
	op = ops[0]
	for n = 1; n < len(ops) && op.kind == KindPut && ops[n].kind == KindPut; n++ {
		op.items = append(slices.Clip(op.items), ops[n].items...)
	}
	return op, n
}

func (c *elements[K, E]) encodeOp(op elementsOp[K, E], to *sink) error {
	switch op.kind {
	case KindRemove:
		return c.keys.sendList(to, c.name, KindRemove, op.keys)
	case KindPut:
		return c.codec.sendList(to, c.name, KindPut, op.items)
	}
	return c.codec.sendList(to, c.name, KindSet, op.items)
}

func (c *elements[K, E]) snapshot(s slot, to *sink) error {
	return c.codec.sendList(to, c.name, KindSet, s.value.(*index[K, E]).run().from(0))
}

func (c *elements[K, E]) replay(s slot, m *mark, k Kind, data []byte) (slot, error) {
	if k != KindSet && k != KindPut && k != KindRemove {
		return slot{}, fmt.Errorf("%w: kind %s for a %s", ErrStored, k, c.kind)
	}
	op, err := c.decodeOp(k, data)
	if err != nil {
		return slot{}, err
	}
	l := c.open(s, m)
	c.apply(l, op)
	return slot{value: l}, nil
}

func (c *elements[K, E]) decodeOp(k Kind, data []byte) (op elementsOp[K, E], err error) {
	op.kind = k
	if k == KindRemove {
		op.keys, err = c.keys.decodeList(data)
		return op, err
	}
	op.items, err = c.codec.decodeList(data)
	if err != nil {
		return op, err
	}
	if i := c.keyless(op.items); i >= 0 {
		err = fmt.Errorf("%w: element %d has no id", ErrStored, i)
	}
	return op, err
}

func (c *elements[K, E]) encodeWrite(w Write) (Kind, []byte, error) {
	switch w.verb.kind {
	case KindClear:
		return KindClear, nil, nil
	case KindRemove:
		data, err := c.keys.encodeList(w.data.([]K))
		return KindRemove, data, err
	}
	data, err := c.codec.encodeList(w.data.([]E))
	return w.verb.kind, data, err
}

func (c *elements[K, E]) decodeWrite(k Kind, data []byte) (Write, error) {
	switch k {
	case KindClear:
		return c.Clear(), nil
	case KindRemove, KindPut, KindOverwrite:
	default:
		return Write{}, fmt.Errorf("%w: kind %s for a write to a %s", ErrStored, k, c.kind)
	}
	op, err := c.decodeOp(k, data)
	switch {
	case err != nil:
		return Write{}, err
	case k == KindRemove:
		return c.write(k, op.keys), nil
	}
	return c.write(k, op.items), nil
}

func (c *elements[K, E]) echo(k Kind, data []byte) (Write, bool, error) {
	if k == KindSet {
		k = KindOverwrite
	}
	w, err := c.decodeWrite(k, data)
	return w, err == nil, err
}
