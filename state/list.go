package state

import (
	"bytes"
	"encoding/json"
	"iter"
	"reflect"

	"github.com/weft-go/weft/internal/jsonform"
	"github.com/weft-go/weft/internal/statecore"
)

// Append returns a channel that holds a growing list.
// The cost of an append does not depend on the length of the list,
// neither in memory nor in storage.
func Append[E any](name string) *ListChannel[E] {
	c := &ListChannel[E]{clone: jsonform.Cloner[E](), codec: jsonform.New[E]()}
	c.traits = &statecore.Traits{
		Name: name, Kind: "append", Value: reflect.TypeFor[[]E](), Update: reflect.TypeFor[E](), List: true,
		Err: c.codec.Err(), Codec: (*listChannelCodec[E])(c), ChangesAreWrites: true, Checked: c.codec.Checked(),
	}
	return c
}

// A ListChannel is a channel that holds a list. Create it with [Append].
type ListChannel[E any] struct {
	handle
	start func() []E // the default; may be nil
	clone func(E) E
	codec *jsonform.Codec[E]
}

// Default sets the elements that the list has before its first write. The first
// Put appends to them. Default returns the channel. Call Default only where the
// channel is declared.
func (c *ListChannel[E]) Default(v func() []E) *ListChannel[E] {
	c.start = v
	c.traits.ChangesAreWrites = false // the first stored change also contains the default
	return c
}

// Internal marks the channel as an implementation detail of nodes. See [Channel.Internal].
func (c *ListChannel[E]) Internal() *ListChannel[E] {
	c.traits.Internal = true
	return c
}

// Upgrade sets a function that converts the stored JSON of an element from an older
// form. See [Channel.Upgrade].
func (c *ListChannel[E]) Upgrade(up func(old json.RawMessage) (json.RawMessage, error)) *ListChannel[E] {
	c.codec.SetUpgrade(up)
	return c
}

// initial returns a copy of the default.
// The user's function may return the same slice each time.
func (c *ListChannel[E]) initial() []E {
	if c.start == nil {
		return nil
	}
	items := c.start()
	if items == nil {
		return nil
	}
	return cloneAll(items, c.clone)
}

// Get returns the list. If the list was never written, Get returns the default or,
// without a default, nil. The caller may change the slice and its elements. To read
// a part of a long list, use Len, Last or All, which cost less. Get panics like
// [Channel.Get].
func (c *ListChannel[E]) Get(s View) []E {
	items, _ := c.Lookup(s)
	return items
}

// Lookup is like [ListChannel.Get], and also reports whether the list was written.
func (c *ListChannel[E]) Lookup(s View) ([]E, bool) {
	slot := s.Slot(c)
	if slot.Absent() {
		return c.initial(), false
	}
	return listIn[E](slot).segments().copy(c.clone), true
}

func (c *ListChannel[E]) segments(s View) segments[E] {
	if slot := s.Slot(c); !slot.Absent() {
		return listIn[E](slot).segments()
	}
	return segments[E]{head: c.initial()}
}

// Len returns the number of elements.
func (c *ListChannel[E]) Len(s View) int { return c.segments(s).len() }

// Last returns the last element, or false if the list is empty.
func (c *ListChannel[E]) Last(s View) (E, bool) { return c.segments(s).last(c.clone) }

// All iterates over the elements and their indexes, oldest first.
func (c *ListChannel[E]) All(s View) iter.Seq2[int, E] { return c.segments(s).all(c.clone) }

// Put returns a write that appends elements to the list.
func (c *ListChannel[E]) Put(elements ...E) Write { return c.write(updateAction(elements, c.clone)) }

// Overwrite returns a write that replaces the list. See [Channel.Overwrite].
func (c *ListChannel[E]) Overwrite(elements []E) Write {
	return c.write(statecore.Action{Kind: statecore.KindOverwrite, Data: cloneAll(elements, c.clone)})
}

// listChannelCodec implements [statecore.Codec] for a [ListChannel].
type listChannelCodec[E any] ListChannel[E]

func (c *listChannelCodec[E]) Initial() statecore.Slot {
	return newList((*ListChannel[E])(c).initial()).slot()
}

func (c *listChannelCodec[E]) Fold(s statecore.Slot, m *statecore.Mark, a statecore.Action) (statecore.Slot, error) {
	l := c.open(s, m)
	if a.Kind == statecore.KindOverwrite {
		m.Whole, m.From = true, 0
		return newList(a.Data.([]E)).slot(), nil
	}
	first, others := firstUpdate[E](a)
	l.push(first, len(others))
	for _, e := range others {
		l.push(e, 0)
	}
	return l.slot(), nil
}

// open returns the list that the transaction appends to. The first call of a
// transaction records the length of the list before the transaction.
func (c *listChannelCodec[E]) open(s statecore.Slot, m *statecore.Mark) (l list[E]) {
	if !s.Absent() {
		l = listIn[E](s)
	}
	if m.Owned {
		return l
	}
	m.Owned, m.From = true, l.n
	if s.Absent() {
		if items := (*ListChannel[E])(c).initial(); len(items) > 0 {
			l = newList(items)
			m.Whole = true // the first stored change also contains the default
		}
	}
	if m.Detach {
		l.detach()
	}
	return l
}

func (c *listChannelCodec[E]) Changes(s statecore.Slot, m *statecore.Mark, to *statecore.ChangeWriter) error {
	kind, from := statecore.KindAppend, m.From
	if m.Whole {
		kind, from = statecore.KindSet, 0
	}
	return emitList(to, kind, c.codec, listIn[E](s).segments().from(from))
}

func (c *listChannelCodec[E]) Snapshot(s statecore.Slot, to *statecore.ChangeWriter) error {
	return emitList(to, statecore.KindSet, c.codec, listIn[E](s).segments().from(0))
}

func (c *listChannelCodec[E]) Replay(s statecore.Slot, _ *statecore.Mark, k statecore.Kind, data []byte) (statecore.Slot, error) {
	if k != statecore.KindSet && k != statecore.KindAppend {
		return statecore.Slot{}, statecore.OtherKind(k, c.traits.Kind)
	}
	items, err := c.codec.DecodeList(data)
	if err != nil {
		return statecore.Slot{}, err
	}
	if k == statecore.KindSet {
		return newList(items).slot(), nil
	}
	var l list[E]
	if !s.Absent() {
		l = listIn[E](s)
	}
	for i, e := range items {
		l.push(e, len(items)-i-1)
	}
	return l.slot(), nil
}

func (c *listChannelCodec[E]) EncodeWrite(a statecore.Action) (statecore.Kind, []byte, error) {
	var items []E
	if a.Kind == statecore.KindOverwrite {
		items = a.Data.([]E)
	} else {
		items = allUpdates[E](a)
	}
	data, err := c.codec.EncodeList(items)
	return a.Kind, data, err
}

func (c *listChannelCodec[E]) DecodeWrite(k statecore.Kind, data []byte) (statecore.Action, error) {
	if k != statecore.KindOverwrite && k != statecore.KindUpdate {
		return statecore.Action{}, statecore.OtherKind(k, c.traits.Kind)
	}
	items, err := c.codec.DecodeList(data)
	if err == nil && k == statecore.KindOverwrite {
		return statecore.Action{Kind: k, Data: items}, nil
	}
	return updateAction(items, nil), err
}

func (c *listChannelCodec[E]) WriteFromChange(k statecore.Kind, data []byte) (statecore.Action, bool, error) {
	switch k {
	case statecore.KindAppend:
		k = statecore.KindUpdate
	case statecore.KindSet:
		k = statecore.KindOverwrite
	default:
		return statecore.Action{}, false, nil
	}
	a, err := c.DecodeWrite(k, data)
	return a, true, err
}

func (c *listChannelCodec[E]) ParseInput(data []byte) (statecore.Action, error) {
	items, err := parseElements(c.codec, data)
	return updateAction(items, nil), err
}

func (c *listChannelCodec[E]) ParseRemove(data []byte) (statecore.Action, error) {
	return c.DecodeWrite(statecore.KindRemove, data)
}

func (c *listChannelCodec[E]) Describe(a statecore.Action) (string, []byte, error) {
	k, data, err := c.EncodeWrite(a)
	if k == statecore.KindUpdate {
		k = statecore.KindAppend
	}
	return k.String(), data, err
}

// parseElements decodes a JSON array of elements, or the JSON of one element.
func parseElements[E any](codec *jsonform.Codec[E], data []byte) ([]E, error) {
	items, err := codec.ParseList(data)
	if err == nil {
		return items, nil
	}
	item, itemErr := codec.Parse(data)
	switch {
	case itemErr == nil:
		return []E{item}, nil
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")):
		return nil, err
	}
	return nil, itemErr
}
