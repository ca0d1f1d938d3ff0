package state

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// A Reducer folds an update into the value of a channel and returns the new
// value. It is pure: it returns the same for the same arguments, and does
// nothing else. Its arguments are copies of its own.
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
	codecU lister[U]
	asU    func(V) U    // a stored value as an update, where that is the same
	void   func(U) bool // an update that does nothing; nil: there is none
	number *number[V]   // nil for most
	wary   bool         // the reducer gets copies, as it is not one of ours
}

// lister writes and reads the updates of a write.
type lister[U any] interface {
	encodeList(updates []U) ([]byte, error)
	decodeList(text []byte) ([]U, error)
}

// NewChannel returns a channel with a reducer of its own. The value is stored
// whole whenever it is written, and rebuilt without the reducer, so that new
// code never changes old history.
func NewChannel[V, U any](name string, reduce Reducer[V, U]) *Channel[V, U] {
	c := newChannel(name, "custom", reduce)
	c.wary = true
	if reduce == nil {
		c.err = errors.New("its Reducer is nil")
	}
	return c
}

func newChannel[V, U any](name, kind string, reduce Reducer[V, U]) *Channel[V, U] {
	c := &Channel[V, U]{
		traits: &traits{name: name, kind: kind, goType: reflect.TypeFor[V]().String()},
		reduce: reduce,
		cloneV: cloner[V](),
		cloneU: cloner[U](),
		codecV: newCodec[V](),
	}
	c.bind(c)
	updates := newCodec[U]()
	c.codecU = updates
	if c.err = c.codecV.err; c.err == nil {
		c.err = updates.err
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
	held := s.slot(c)
	if held.absent() {
		return c.initial(), false
	}
	return cloned(c.value(held), c.cloneV), true
}

// initial returns a copy of the default, so that one that is always the same
// map or slice can do no harm.
func (c *Channel[V, U]) initial() V {
	if c.start == nil {
		var zero V
		return zero
	}
	return cloned(c.start(), c.cloneV)
}

// Put returns a write that passes updates to the reducer, in order. Without
// updates it does nothing.
func (c *Channel[V, U]) Put(updates ...U) Write {
	if c.void != nil {
		updates = slices.DeleteFunc(slices.Clone(updates), c.void)
	}
	if len(updates) == 0 {
		return Write{}
	}
	return putting(&c.verbs, updates, c.cloneU)
}

// Overwrite returns a write that replaces the value, past the reducer. Writes
// that follow it in the order of the superstep's tasks fold into the new value.
// Two tasks of a superstep may not overwrite one channel.
func (c *Channel[V, U]) Overwrite(v V) Write {
	return c.write(KindOverwrite, box(cloned(v, c.cloneV)))
}

func (c *Channel[V, U]) fold(s slot, m *mark, w *Write) (slot, error) {
	if w.verb.kind == KindOverwrite {
		m.owned = false
		if c.number != nil {
			return c.slot(unbox[V](w.data)), nil
		}
		return slot{value: w.data}, nil
	}
	first, rest := put[U](w)
	v, err := c.reduce(c.current(s, m), c.update(first))
	for _, u := range rest {
		if err != nil {
			break
		}
		v, err = c.reduce(v, c.update(u))
	}
	return c.slot(v), err
}

// current is what the reducer starts from. A reducer of the user's gets a copy
// of what a view holds, so that one that is not pure, or appends in place, does
// not change history.
func (c *Channel[V, U]) current(s slot, m *mark) V {
	mine := m.owned
	m.owned = true
	switch {
	case s.absent():
		return c.initial()
	case c.wary && !mine:
		return cloned(c.value(s), c.cloneV)
	}
	return c.value(s)
}

// slot returns the one that holds v.
func (c *Channel[V, U]) slot(v V) slot {
	if c.number != nil {
		return slot{isNumber{}, c.number.pack(v)}
	}
	return slot{value: box(v)}
}

// value returns what a slot holds that is not absent.
func (c *Channel[V, U]) value(s slot) V {
	if c.number != nil {
		return c.number.unpack(s.n)
	}
	return unbox[V](s.value)
}

// A number says how the values of a channel are numbers, which slots hold without a
// box.
type number[V any] struct {
	pack   func(V) int64
	unpack func(int64) V
}

// isNumber is the value of a slot with a number.
type isNumber struct{}

func (c *Channel[V, U]) update(u U) U {
	if c.wary {
		return cloned(u, c.cloneU)
	}
	return u
}

// box keeps a nil interface value apart from an absent slot.
func box[V any](v V) any {
	if b := any(v); b != nil {
		return b
	}
	return none{}
}

func unbox[V any](boxed any) V {
	v, _ := boxed.(V)
	if _, null := boxed.(none); null {
		var zero V
		return zero
	}
	return v
}

// none stands for a nil value in a channel of an interface type.
type none struct{}

func (c *Channel[V, U]) encode(s slot, _ *mark, to *sink) error { return c.snapshot(s, to) }

func (c *Channel[V, U]) snapshot(s slot, to *sink) error {
	return c.codecV.sendValue(to, c.name, KindSet, c.value(s))
}

func (c *Channel[V, U]) replay(_ slot, _ *mark, k Kind, data []byte) (slot, error) {
	if k != KindSet {
		return slot{}, fmt.Errorf("%w: kind %s for a %s channel", ErrStored, k, c.kind)
	}
	v, err := c.codecV.decode(data)
	return c.slot(v), err
}

func (c *Channel[V, U]) encodeWrite(w Write) (Kind, []byte, error) {
	if w.verb.kind == KindOverwrite {
		data, err := c.codecV.encode(unbox[V](w.data))
		return KindOverwrite, data, err
	}
	data, err := c.codecU.encodeList(puts[U](&w))
	return KindUpdate, data, err
}

func (c *Channel[V, U]) decodeWrite(k Kind, data []byte) (Write, error) {
	switch k {
	case KindOverwrite:
		v, err := c.codecV.decode(data)
		if err != nil {
			return Write{}, err
		}
		return c.write(KindOverwrite, box(v)), nil
	case KindUpdate:
		updates, err := c.codecU.decodeList(data)
		if err != nil || len(updates) == 0 {
			return Write{}, err
		}
		return putting(&c.verbs, updates, nil), nil
	}
	return Write{}, fmt.Errorf("%w: kind %s for a write to a %s channel", ErrStored, k, c.kind)
}

func (c *Channel[V, U]) echo(k Kind, data []byte) (Write, bool, error) {
	switch {
	case c.asU == nil:
		return Write{}, false, nil
	case k == KindClear:
		return Write{}, true, nil // the end of an ephemeral value, which is nobody's write
	case k != KindSet:
		return Write{}, false, nil
	}
	v, err := c.codecV.decode(data)
	if err != nil {
		return Write{}, false, err
	}
	return putting(&c.verbs, []U{c.asU(v)}, nil), true, nil
}
