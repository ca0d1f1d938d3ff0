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
	key           func(E) K
	missing       K // the key of an element that has none
	refuseMissing bool
	prune         func([]E) []E
	clone         func(E) E
	codec         *codec[E]
	keys          *codec[K]
}

func newElements[K comparable, E any](name, kind string, key func(E) K) *elements[K, E] {
	c := &elements[K, E]{
		traits: &traits{name: name, kind: kind, goType: reflect.TypeFor[[]E]().String(), echoes: true},
		key:    key,
		clone:  cloner[E](),
		codec:  newCodec[E](),
		keys:   newCodec[K](),
	}
	c.err = c.codec.err
	return c
}

// elementsLog is what a transaction did to it, in order.
type elementsLog[K comparable, E any] struct{ ops []elementsOp[K, E] }

type elementsOp[K comparable, E any] struct {
	kind  Kind
	items []E
	keys  []K
}

// Get returns the list; nil when it was never written. The slice and its
// elements are the caller's own: to look at some of a long list, Len, Last, Find
// and All are cheaper. Get panics like [Channel.Get].
func (c *elements[K, E]) Get(s View) []E {
	items, _ := c.Lookup(s)
	return items
}

// Lookup is Get, and reports whether the list was ever written.
func (c *elements[K, E]) Lookup(s View) ([]E, bool) {
	slot := s.slot(c)
	if slot == nil {
		return nil, false
	}
	return cloneSlice(slot.(*index[K, E]).items(), c.clone), true
}

func (c *elements[K, E]) view(s View) []E {
	if slot := s.slot(c); slot != nil {
		return slot.(*index[K, E]).items()
	}
	return nil
}

// Len returns the number of elements.
func (c *elements[K, E]) Len(s View) int { return len(c.view(s)) }

// Last returns the newest element, and whether there is one.
func (c *elements[K, E]) Last(s View) (E, bool) { return lastOf(c.view(s), c.clone) }

// All yields the elements with their positions, in order.
func (c *elements[K, E]) All(s View) iter.Seq2[int, E] { return allOf(c.view(s), c.clone) }

// Remove returns a write that removes the elements of these keys. A key that is
// not in the list changes nothing.
func (c *elements[K, E]) Remove(keys ...K) Write {
	if len(keys) == 0 {
		return Write{}
	}
	return Write{ch: c, op: KindRemove, data: slices.Clone(keys)}
}

func (c *elements[K, E]) put(items []E) Write {
	if len(items) == 0 {
		return Write{}
	}
	return Write{ch: c, op: KindPut, data: items}
}

// Clear returns a write that removes every element.
func (c *elements[K, E]) Clear() Write { return Write{ch: c, op: KindClear} }

func (c *elements[K, E]) open(slot any, m *mark) (*index[K, E], *elementsLog[K, E]) {
	if m.owned {
		return slot.(*index[K, E]), m.log.(*elementsLog[K, E])
	}
	l := &index[K, E]{key: c.key}
	if slot != nil {
		*l = *slot.(*index[K, E])
		l.own = false
	}
	if m.detach {
		l.detach()
	}
	log := &elementsLog[K, E]{}
	m.owned, m.log = true, log
	return l, log
}

func (c *elements[K, E]) fold(slot any, m *mark, w *Write) (any, error) {
	l, log := c.open(slot, m)
	op := elementsOp[K, E]{kind: w.op}
	switch w.op {
	case KindPut:
		op.items = w.data.([]E)
	case KindRemove:
		op.keys = w.data.([]K)
	case KindOverwrite:
		op.items, log.ops = w.data.([]E), nil
	case KindClear:
		log.ops = nil
	default:
		return nil, fmt.Errorf("%w: kind %s for a keyed list", ErrStored, w.op)
	}
	log.ops = append(log.ops, op)
	c.apply(l, op)
	return l, nil
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

func (c *elements[K, E]) finish(slot any, m *mark) (any, error) {
	if c.prune == nil {
		return slot, nil
	}
	l, log := c.open(slot, m)
	kept := c.prune(cloneSlice(l.items(), c.clone))
	dropped, err := c.dropped(l.items(), kept)
	if err != nil || len(dropped) == 0 {
		return l, err
	}
	op := elementsOp[K, E]{kind: KindRemove, keys: dropped}
	log.ops = append(log.ops, op)
	c.apply(l, op)
	return l, nil
}

// dropped returns the keys in all that kept lacks; kept must be in order.
func (c *elements[K, E]) dropped(all, kept []E) ([]K, error) {
	var out []K
	next := 0
	for _, e := range all {
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

func (c *elements[K, E]) encode(slot any, m *mark, emit Emit) error {
	log := m.log.(*elementsLog[K, E])
	var run []E // neighbouring puts are stored as one change
	flush := func() error {
		if len(run) == 0 {
			return nil
		}
		err := c.emit(KindPut, run, emit)
		run = nil
		return err
	}
	for _, op := range log.ops {
		if op.kind == KindPut {
			run = append(run, op.items...)
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if err := c.encodeOp(op, emit); err != nil {
			return err
		}
	}
	return flush()
}

func (c *elements[K, E]) encodeOp(op elementsOp[K, E], emit Emit) error {
	switch op.kind {
	case KindRemove:
		data, err := c.keys.appendList(nil, op.keys)
		if err == nil {
			emit(c.name, KindRemove, data)
		}
		return err
	case KindClear:
		return c.emit(KindSet, nil, emit)
	}
	return c.emit(KindSet, op.items, emit)
}

func (c *elements[K, E]) emit(k Kind, items []E, emit Emit) error {
	data, err := c.codec.appendList(nil, items)
	if err == nil {
		emit(c.name, k, data)
	}
	return err
}

func (c *elements[K, E]) snapshot(slot any, emit Emit) error {
	return c.emit(KindSet, slot.(*index[K, E]).items(), emit)
}

func (c *elements[K, E]) replay(slot any, m *mark, k Kind, data []byte) (any, error) {
	op, err := c.decodeOp(k, data)
	if err != nil {
		return nil, err
	}
	l, _ := c.open(slot, m)
	c.apply(l, op)
	return l, nil
}

func (c *elements[K, E]) decodeOp(k Kind, data []byte) (op elementsOp[K, E], err error) {
	op.kind = k
	switch k {
	case KindPut, KindSet, KindOverwrite:
		op.items, err = c.codec.decodeList(data)
		if i := slices.IndexFunc(op.items, func(e E) bool { return c.refuseMissing && c.key(e) == c.missing }); err == nil && i >= 0 {
			err = fmt.Errorf("%w: element %d has no id", ErrStored, i)
		}
	case KindRemove:
		op.keys, err = c.keys.decodeList(data)
	case KindClear:
	default:
		err = fmt.Errorf("%w: kind %s for a keyed list", ErrStored, k)
	}
	return op, err
}

func (c *elements[K, E]) encodeWrite(w *Write) (Kind, []byte, error) {
	switch w.op {
	case KindClear:
		return KindClear, nil, nil
	case KindRemove:
		data, err := c.keys.appendList(nil, w.data.([]K))
		return KindRemove, data, err
	}
	data, err := c.codec.appendList(nil, w.data.([]E))
	return w.op, data, err
}

func (c *elements[K, E]) decodeWrite(k Kind, data []byte) (Write, error) {
	op, err := c.decodeOp(k, data)
	if err != nil {
		return Write{}, err
	}
	switch k {
	case KindClear:
		return c.Clear(), nil
	case KindRemove:
		return Write{ch: c, op: k, data: op.keys}, nil
	case KindPut, KindOverwrite:
		return Write{ch: c, op: k, data: op.items}, nil
	}
	return Write{}, fmt.Errorf("%w: kind %s for a write", ErrStored, k)
}

func (c *elements[K, E]) echo(k Kind, data []byte) (Write, bool, error) {
	if k == KindSet {
		k = KindOverwrite
	}
	w, err := c.decodeWrite(k, data)
	return w, true, err
}
