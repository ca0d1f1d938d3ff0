package state

import (
	"fmt"
	"reflect"
)

// A Reducer folds an update into the value of a channel and returns the new
// value. It is pure: it never changes current, and returns the same for the
// same arguments.
type Reducer[V, U any] func(current V, update U) (V, error)

// A Channel is a typed part of a state: V is its value, U what a write adds.
// Declare it once, as a package variable; it is safe for concurrent use.
type Channel[V, U any] struct {
	*traits
	reduce Reducer[V, U]
	start  func() V
	cloneV func(V) V
	cloneU func(U) U
	codecV *codec[V]
	codecU *codec[U]
	asU    func(V) U // a stored value as an update, where that is the same
}

// NewChannel returns a channel with a reducer of its own. The value is stored
// whole whenever it is written, and rebuilt without the reducer, so that new
// code never changes old history.
func NewChannel[V, U any](name string, reduce Reducer[V, U]) *Channel[V, U] {
	return newChannel(name, "custom", reduce)
}

func newChannel[V, U any](name, kind string, reduce Reducer[V, U]) *Channel[V, U] {
	c := &Channel[V, U]{
		traits: &traits{name: name, kind: kind, goType: reflect.TypeFor[V]().String()},
		reduce: reduce,
		cloneV: cloner[V](),
		cloneU: cloner[U](),
		codecV: newCodec[V](),
		codecU: newCodec[U](),
	}
	if c.err = c.codecV.err; c.err == nil {
		c.err = c.codecU.err
	}
	return c
}

// replacing makes a channel whose stored value can be read as an update.
func replacing[T any](name, kind string) *Channel[T, T] {
	c := newChannel(name, kind, func(_, update T) (T, error) { return update, nil })
	c.asU, c.echoes = func(v T) T { return v }, true
	return c
}

// Default sets the value that an absent channel has, and starts from. It is
// called for each use, so it may return a fresh map or slice. Default returns
// the channel, and is meant for its declaration.
func (c *Channel[V, U]) Default(v func() V) *Channel[V, U] {
	c.start = v
	return c
}

// Get returns the channel's value in s; the default, else the zero value, when
// it was never written. The result is the caller's own.
//
// Get panics with a [ChannelError] when the graph of s does not have this
// channel; inside a node the engine makes that the node's error.
func (c *Channel[V, U]) Get(s View) V {
	v, _ := c.Lookup(s)
	return v
}

// Lookup is Get, and reports whether the channel was ever written.
func (c *Channel[V, U]) Lookup(s View) (V, bool) {
	slot := s.slot(c)
	if slot == nil {
		return c.initial(), false
	}
	v := unbox[V](slot)
	if c.cloneV != nil {
		v = c.cloneV(v)
	}
	return v, true
}

func (c *Channel[V, U]) initial() V {
	var zero V
	if c.start != nil {
		return c.start()
	}
	return zero
}

// Put returns a write that passes updates to the reducer, in order.
func (c *Channel[V, U]) Put(updates ...U) Write {
	if len(updates) == 0 {
		return Write{}
	}
	return Write{ch: c, op: KindUpdate, data: newBatch(updates, c.cloneU)}
}

// Overwrite returns a write that replaces the value, past the reducer. Writes
// that follow it in the order of the superstep's tasks fold into the new value.
// Two tasks of a superstep may not overwrite one channel.
func (c *Channel[V, U]) Overwrite(v V) Write {
	if c.cloneV != nil {
		v = c.cloneV(v)
	}
	return Write{ch: c, op: KindOverwrite, data: box(v)}
}

func (c *Channel[V, U]) fold(slot any, _ *mark, w *Write) (any, error) {
	if w.op == KindOverwrite {
		return w.data, nil
	}
	var v V
	if slot != nil {
		v = unbox[V](slot)
	} else {
		v = c.initial()
	}
	err := w.data.(*batch[U]).each(func(u U) (err error) {
		v, err = c.reduce(v, u)
		return err
	})
	return box(v), err
}

// box keeps a nil interface value apart from an absent slot.
func box[V any](v V) any {
	if b := any(v); b != nil {
		return b
	}
	return none{}
}

func unbox[V any](slot any) V {
	v, _ := slot.(V)
	if _, null := slot.(none); null {
		var zero V
		return zero
	}
	return v
}

// none stands for a nil value in a channel of an interface type.
type none struct{}

func (c *Channel[V, U]) finish(slot any, _ *mark) (any, error) { return slot, nil }

func (c *Channel[V, U]) encode(slot any, _ *mark, emit Emit) error { return c.snapshot(slot, emit) }

func (c *Channel[V, U]) snapshot(slot any, emit Emit) error {
	data, err := c.codecV.append(nil, unbox[V](slot))
	if err == nil {
		emit(c.name, KindSet, data)
	}
	return err
}

func (c *Channel[V, U]) replay(_ any, _ *mark, k Kind, data []byte) (any, error) {
	if k != KindSet {
		return nil, fmt.Errorf("%w: kind %s for a %s channel", ErrStored, k, c.kind)
	}
	v, err := c.codecV.decode(data)
	return box(v), err
}

func (c *Channel[V, U]) encodeWrite(w *Write) (Kind, []byte, error) {
	if w.op == KindOverwrite {
		data, err := c.codecV.append(nil, unbox[V](w.data))
		return KindOverwrite, data, err
	}
	data, err := c.codecU.appendList(nil, w.data.(*batch[U]).slice())
	return KindUpdate, data, err
}

func (c *Channel[V, U]) decodeWrite(k Kind, data []byte) (Write, error) {
	switch k {
	case KindOverwrite:
		v, err := c.codecV.decode(data)
		return Write{ch: c, op: KindOverwrite, data: box(v)}, err
	case KindUpdate:
		updates, err := c.codecU.decodeList(data)
		if err != nil || len(updates) == 0 {
			return Write{}, err
		}
		return Write{ch: c, op: KindUpdate, data: newBatch(updates, nil)}, nil
	}
	return Write{}, fmt.Errorf("%w: kind %s for a write", ErrStored, k)
}

func (c *Channel[V, U]) echo(k Kind, data []byte) (Write, bool, error) {
	if c.asU == nil || k != KindSet {
		return Write{}, false, nil
	}
	v, err := c.codecV.decode(data)
	return Write{ch: c, op: KindUpdate, data: &batch[U]{first: c.asU(v)}}, true, err
}
