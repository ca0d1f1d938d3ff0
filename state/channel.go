package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// A Reducer folds an update into the value of a channel and returns the new value.
// It must be pure: it must have no side effects, and return the same result for
// the same arguments. It gets copies of its arguments and may change them.
type Reducer[V, U any] func(current V, update U) (V, error)

// A Channel is a typed part of a state. V is the type of its value, and U is the
// type of an update. Declare it once, as a package variable. It is safe for
// concurrent use.
type Channel[V, U any] struct {
	handle
	reduce     Reducer[V, U]
	start      func() V // the default; may be nil
	cloneValue func(V) V
	clone      func(U) U
	values     *jsonform.Codec[V]
	updates    listCodec[U]
	asUpdate   func(V) U    // converts a value to an update that sets it; may be nil
	isNoop     func(U) bool // reports whether Put drops an update, because it does nothing; nil if Put keeps all
	number     *number[V]   // nil unless slots hold the value as a number

	copiesArguments bool // the reducer is a user's function, so it must get copies
}

// listCodec encodes and decodes the updates of a write.
type listCodec[U any] interface {
	EncodeList(updates []U) ([]byte, error)
	DecodeList(text []byte) ([]U, error)
	ParseList(text []byte) ([]U, error)
}

// NewChannel returns a channel with a custom reducer.
// A step that writes to the channel stores the whole value.
// The value is restored without a call of the reducer,
// so a new version of the reducer does not change stored values.
func NewChannel[V, U any](name string, reduce Reducer[V, U]) *Channel[V, U] {
	c := newChannel(name, "custom", reduce)
	c.copiesArguments = true
	if reduce == nil {
		c.traits.Err = errors.New("its Reducer is nil")
	}
	return c
}

func newChannel[V, U any](name, kind string, reduce Reducer[V, U]) *Channel[V, U] {
	updates := jsonform.New[U]()
	c := &Channel[V, U]{
		reduce:     reduce,
		cloneValue: jsonform.Cloner[V](),
		clone:      jsonform.Cloner[U](),
		values:     jsonform.New[V](),
		updates:    updates,
	}
	c.traits = &statecore.Traits{Name: name, Kind: kind, Value: reflect.TypeFor[V](), Update: reflect.TypeFor[U](), Codec: (*channelCodec[V, U])(c), Checked: c.values.Checked()}
	if c.traits.Err = c.values.Err(); c.traits.Err == nil {
		c.traits.Err = updates.Err()
	}
	return c
}

// replacing returns a channel whose updates replace the value.
func replacing[T any](name, kind string) *Channel[T, T] {
	c := newChannel(name, kind, func(_, update T) (T, error) { return update, nil })
	c.asUpdate, c.traits.Replaces, c.traits.ChangesAreWrites = func(v T) T { return v }, true, true
	return c
}

// Default sets the value that the channel has before its first write. The reducer
// receives this value with the first update. The function is called for each use. The
// channel copies the result, unless the channel is [Untracked]. Default returns the
// channel. Call Default only where the channel is declared.
func (c *Channel[V, U]) Default(v func() V) *Channel[V, U] {
	c.start = v
	return c
}

// Internal marks the channel as an implementation detail of nodes, such as the progress of an agent. Only Go
// code can write it: the clients of package server cannot, and Graph.ReadInput returns an error for it. Package
// server leaves it out of results and streams. Snapshots and the states of threads have it. Internal returns
// the channel. Call Internal only where the channel is declared.
func (c *Channel[V, U]) Internal() *Channel[V, U] {
	c.traits.Internal = true
	return c
}

// Upgrade sets a function that converts stored JSON from an older form, so that
// threads can be read after the type of the channel has changed. The function is
// called with the JSON of each value that is read from storage. It must return
// JSON in the current form unchanged. Stored updates that are not applied yet are
// converted too, unless the channel has a custom reducer. Upgrade returns the
// channel. Call Upgrade only where the channel is declared.
func (c *Channel[V, U]) Upgrade(up func(old json.RawMessage) (json.RawMessage, error)) *Channel[V, U] {
	c.values.SetUpgrade(up)
	if updates, ok := any(c.updates).(*jsonform.Codec[V]); ok && !c.copiesArguments {
		updates.SetUpgrade(up)
	}
	return c
}

// Get returns a copy of the value of the channel in s. Before the first write, and
// after the end of an [Ephemeral] value, it returns the default, or the zero value
// without one. The caller may change the result.
//
// Get panics with a [ChannelError] if the graph of s does not have this channel.
// If a node causes this panic, the node fails with the error.
func (c *Channel[V, U]) Get(s View) V {
	v, _ := c.Lookup(s)
	return v
}

// Lookup is like [Channel.Get], and also reports whether the channel has a written
// value, in place of the default.
func (c *Channel[V, U]) Lookup(s View) (V, bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		return c.initial(), false
	}
	return cloned(c.value(slot), c.cloneValue), true
}

// initial returns a copy of the default.
// The user's function may return the same map or slice each time.
func (c *Channel[V, U]) initial() V {
	if c.start == nil {
		var zero V
		return zero
	}
	return cloned(c.start(), c.cloneValue)
}

// Put returns a write that passes the updates to the reducer, in order.
// A write without updates does nothing.
func (c *Channel[V, U]) Put(updates ...U) Write {
	if c.isNoop != nil {
		updates = slices.DeleteFunc(slices.Clone(updates), c.isNoop)
	}
	return c.write(updateAction(updates, c.clone))
}

// Overwrite returns a write that replaces the value without a call of the reducer.
// Later writes of the same superstep, in task order, fold into the new value.
// Two tasks of a superstep must not overwrite the same channel.
func (c *Channel[V, U]) Overwrite(v V) Write {
	return c.write(statecore.Action{Kind: statecore.KindOverwrite, Data: box(cloned(v, c.cloneValue))})
}

// slot returns a slot that holds v.
func (c *Channel[V, U]) slot(v V) statecore.Slot {
	if c.number != nil {
		return statecore.Slot{Value: isNumber{}, N: c.number.pack(v)}
	}
	return statecore.Slot{Value: box(v)}
}

// value returns the value in a slot that is not absent.
func (c *Channel[V, U]) value(s statecore.Slot) V {
	if c.number != nil {
		return c.number.unpack(s.N)
	}
	return unbox[V](s.Value)
}

// A number converts a value to the integer in a slot and back. An integer in a
// slot needs no allocation.
type number[V any] struct {
	pack   func(V) int64
	unpack func(int64) V
}

// isNumber marks a slot whose value is the integer in its field N.
type isNumber struct{}

// null represents a nil interface value in a slot. A slot whose Value is nil means
// that the channel is absent.
type null struct{}

func box[V any](v V) any {
	if b := any(v); b != nil {
		return b
	}
	return null{}
}

func unbox[V any](boxed any) V {
	v, _ := boxed.(V)
	if _, isNull := boxed.(null); isNull {
		var zero V
		return zero
	}
	return v
}

// many is the Data of an action with several updates. To save memory, the Data of
// an action with one update is that update.
type many[U any] []U

// updateAction returns the action of a Put with the updates. The function clone copies each
// update, unless clone is nil. Without updates, updateAction returns the zero Action.
func updateAction[U any](updates []U, clone func(U) U) statecore.Action {
	switch len(updates) {
	case 0:
		return statecore.Action{}
	case 1:
		return statecore.Action{Kind: statecore.KindUpdate, Data: box(cloned(updates[0], clone))}
	}
	return statecore.Action{Kind: statecore.KindUpdate, Data: many[U](cloneAll(updates, clone))}
}

// firstUpdate returns the first update of an action, and the other updates.
func firstUpdate[U any](a statecore.Action) (first U, others []U) {
	if all, ok := a.Data.(many[U]); ok {
		return all[0], all[1:]
	}
	return unbox[U](a.Data), nil
}

func allUpdates[U any](a statecore.Action) []U {
	if all, ok := a.Data.(many[U]); ok {
		return all
	}
	return []U{unbox[U](a.Data)}
}

// channelCodec implements [statecore.Codec] for a [Channel].
type channelCodec[V, U any] Channel[V, U]

func (c *channelCodec[V, U]) user() *Channel[V, U] { return (*Channel[V, U])(c) }

func (c *channelCodec[V, U]) Initial() statecore.Slot {
	if c.start == nil {
		return statecore.Slot{}
	}
	return c.user().slot(c.user().initial())
}

func (c *channelCodec[V, U]) Fold(s statecore.Slot, m *statecore.Mark, a statecore.Action) (statecore.Slot, error) {
	if a.Kind == statecore.KindOverwrite {
		m.Owned = false // the write also refers to the value
		return c.user().slot(unbox[V](a.Data)), nil
	}
	first, others := firstUpdate[U](a)
	v, err := c.reduce(c.current(s, m), c.argument(first))
	for _, u := range others {
		if err != nil {
			break
		}
		v, err = c.reduce(v, c.argument(u))
	}
	return c.user().slot(v), err
}

// current returns the value for the first argument of the reducer.
// It copies a value that views share if the reducer is a user's function.
func (c *channelCodec[V, U]) current(s statecore.Slot, m *statecore.Mark) V {
	owned := m.Owned
	m.Owned = true
	if s.Absent() {
		return c.user().initial()
	}
	v := c.user().value(s)
	if c.copiesArguments && !owned {
		return cloned(v, c.cloneValue)
	}
	return v
}

func (c *channelCodec[V, U]) argument(u U) U {
	if c.copiesArguments {
		return cloned(u, c.clone)
	}
	return u
}

func (c *channelCodec[V, U]) Changes(s statecore.Slot, _ *statecore.Mark, to *statecore.ChangeWriter) error {
	return c.Snapshot(s, to)
}

func (c *channelCodec[V, U]) Snapshot(s statecore.Slot, to *statecore.ChangeWriter) error {
	return emitValue(to, statecore.KindSet, c.values, c.user().value(s))
}

func (c *channelCodec[V, U]) Replay(_ statecore.Slot, _ *statecore.Mark, k statecore.Kind, data []byte) (statecore.Slot, error) {
	if k != statecore.KindSet {
		return statecore.Slot{}, statecore.OtherKind(k, c.traits.Kind)
	}
	v, err := c.values.Decode(data)
	return c.user().slot(v), err
}

func (c *channelCodec[V, U]) EncodeWrite(a statecore.Action) (statecore.Kind, []byte, error) {
	if a.Kind == statecore.KindOverwrite {
		data, err := c.values.Encode(unbox[V](a.Data))
		return a.Kind, data, err
	}
	data, err := c.updates.EncodeList(allUpdates[U](a))
	return a.Kind, data, err
}

func (c *channelCodec[V, U]) DecodeWrite(k statecore.Kind, data []byte) (statecore.Action, error) {
	switch k {
	case statecore.KindOverwrite:
		v, err := c.values.Decode(data)
		return statecore.Action{Kind: k, Data: box(v)}, err
	case statecore.KindUpdate:
		updates, err := c.updates.DecodeList(data)
		return updateAction(updates, nil), err
	}
	return statecore.Action{}, statecore.OtherKind(k, c.traits.Kind)
}

func (c *channelCodec[V, U]) WriteFromChange(k statecore.Kind, data []byte) (statecore.Action, bool, error) {
	switch {
	case c.asUpdate == nil:
		return statecore.Action{}, false, nil
	case k == statecore.KindClear:
		return statecore.Action{}, true, nil // an ephemeral value ended; no write caused this change
	case k != statecore.KindSet:
		return statecore.Action{}, false, nil
	}
	v, err := c.values.Decode(data)
	if err != nil {
		return statecore.Action{}, false, err
	}
	return updateAction([]U{c.asUpdate(v)}, nil), true, nil
}

func (c *channelCodec[V, U]) ParseInput(data []byte) (statecore.Action, error) {
	if c.isNoop != nil && string(bytes.TrimSpace(data)) == "null" {
		return statecore.Action{}, nil
	}
	updates, err := c.updates.ParseList(slices.Concat([]byte("["), data, []byte("]")))
	if err == nil && len(updates) != 1 {
		err = errors.New("it is not one JSON value")
	}
	return updateAction(updates, nil), err
}

func (c *channelCodec[V, U]) ParseRemove(data []byte) (statecore.Action, error) {
	return c.DecodeWrite(statecore.KindRemove, data)
}

func (c *channelCodec[V, U]) Describe(a statecore.Action) (string, []byte, error) {
	k, data, err := c.EncodeWrite(a)
	if _, several := a.Data.(many[U]); err == nil && k == statecore.KindUpdate && !several {
		data = data[1 : len(data)-1] // the array has one element; remove the brackets
	}
	return k.String(), data, err
}

// emitValue emits a change with the JSON of v as its data.
func emitValue[T any](to *statecore.ChangeWriter, k statecore.Kind, codec *jsonform.Codec[T], v T) error {
	buf, err := codec.Append(to.Buffer(), v)
	if err == nil {
		to.Emit(k, buf)
	}
	return err
}

// emitList emits a change with the JSON array of items as its data.
func emitList[T any](to *statecore.ChangeWriter, k statecore.Kind, codec *jsonform.Codec[T], items []T) error {
	buf, err := codec.AppendList(to.Buffer(), items)
	if err == nil {
		to.Emit(k, buf)
	}
	return err
}
