package state_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

func TestNewSchemaReturnsErrorsForInvalidChannels(t *testing.T) {
	t.Parallel()
	var forgotten *state.Channel[int, int]
	var forgottenList *state.ListChannel[int]
	for _, test := range []struct {
		name     string
		channels []state.Handle
		channel  string
		want     error
		text     string
	}{
		{"no name", []state.Handle{state.Last[int]("")}, "", state.ErrName, "name"},
		{"the engine's name", []state.Handle{state.Last[int]("$next")}, "$next", state.ErrName, "$"},
		{"a control character", []state.Handle{state.Last[int]("a\x00b")}, "a\x00b", state.ErrName, "name"},
		{"not UTF-8", []state.Handle{state.Last[int]("a\xff")}, "a\xff", state.ErrName, "name"},
		{"one name twice", []state.Handle{state.Last[int]("a"), state.Append[string]("a")}, "a", state.ErrDuplicate, "last of int and append of []string"},
		{"nil", []state.Handle{state.Last[int]("a"), nil}, "", nil, "channel 2 of 2"},
		{"a nil channel", []state.Handle{forgotten}, "", nil, "channel 1 of 1"},
		{"a nil list", []state.Handle{forgottenList}, "", nil, "constructor"},
		{"a zero list", []state.Handle{&state.ListChannel[int]{}}, "", nil, "constructor"},
		{"a zero keyed list", []state.Handle{&state.KeyedChannel[int]{}}, "", nil, "constructor"},
		{"no reducer", []state.Handle{state.NewChannel[int, int]("a", nil)}, "a", nil, "Reducer"},
		{"no identity", []state.Handle{state.Keyed[item]("a", nil)}, "a", nil, "Identity"},
		{"a type that is not stored", []state.Handle{state.Last[chan int]("a")}, "a", state.ErrRoundTrip, "Untracked"},
		{"an update that is not stored", []state.Handle{state.NewChannel("a", func(n int, _ func()) (int, error) { return n, nil })}, "a", state.ErrRoundTrip, "func()"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := statecore.NewSchema[state.Handle](test.channels...)
			channelErr(t, err, test.channel, test.want)
			assert.Contains(t, err.Error(), test.text)
		})
	}
}

func TestNewSchemaReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := statecore.NewSchema[state.Handle](state.Last[int](""), state.Last[func()]("f"), state.Sum[int]("n"), state.Max[int]("n"))
	for _, want := range []error{state.ErrName, state.ErrRoundTrip, state.ErrDuplicate} {
		assert.ErrorIs(t, err, want)
	}
}

func TestSchemaDescribesAndComparesChannels(t *testing.T) {
	t.Parallel()
	a, b, c := state.Last[int]("a"), state.Append[string]("b"), state.Untracked[func()]("c")
	optional, highest := state.Optional[int]("optional").Default(func() int { return 5 }), state.Max[int]("max")
	custom, failing := state.NewChannel("custom", concat), state.Append[int]("failing").Default(func() []int { panic("no default") })
	s := schemaOf(t, a, b, a, c, optional, highest, custom, failing) // a handle may be given twice
	want := []statecore.Description{
		{Name: "a", Kind: "last", Type: "int", Stored: true, Replaces: true},
		{Name: "b", Kind: "append", Type: "[]string", Stored: true, Initial: []byte("[]")},
		{Name: "c", Kind: "untracked", Type: "func()", Replaces: true},
		{Name: "optional", Kind: "optional", Type: "int", Stored: true, Replaces: true, Initial: []byte("5")},
		{Name: "max", Kind: "max", Type: "int", Stored: true, Initial: []byte("0")},
		{Name: "custom", Kind: "custom", Type: "string", Stored: true},
		{Name: "failing", Kind: "append", Type: "[]int", Stored: true},
	}
	assert.Equal(t, want, s.Describe())
	assert.True(t, s.Has(a))
	assert.True(t, s.Has(c))
	assert.False(t, s.Has(state.Last[int]("a")))
	stranger := state.Sum[int]("b")
	other := schemaOf(t, a, stranger, state.Last[int]("z"))
	assert.True(t, s.Shared("a", other))
	assert.False(t, s.Shared("b", other))
	assert.False(t, s.Shared("z", other))
	assert.False(t, s.Shared("c", other))
	assert.Equal(t, []string{"b"}, s.Conflicts(other))
	assert.Empty(t, s.Conflicts(s))
	assert.Equal(t, "a", a.Name())
	assert.Equal(t, "b", b.Name())
}

func TestImportCopiesTheSharedChannels(t *testing.T) {
	t.Parallel()
	shared, keyed := state.Append[int]("shared"), state.Keyed("keyed", byKey{})
	mine, theirs := state.Last[string]("mine"), state.Last[string]("theirs")
	child, parent := schemaOf(t, mine, shared, keyed), schemaOf(t, theirs, keyed, shared)

	outer := commit(t, parent, parent.Empty(), shared.Put(1, 2), theirs.Put("t"), keyed.Put(item{Key: "a"}))
	before := commit(t, child, child.Empty(), mine.Put("m"), shared.Put(9))
	for name, v := range map[string]state.View{"state": outer, "overlay": statecore.Overlay(parent, outer, []state.Write{shared.Put(3), keyed.Put(item{Key: "b"})})} {
		want, extra := []int{1, 2}, 0
		if name == "overlay" {
			want, extra = []int{1, 2, 3}, 1
		}
		onBase, onNothing := child.Import(before, v, nil), child.Import(nil, v, nil)
		r := child.Replay(before)
		r.Import(v, nil)
		for how, in := range map[string]state.View{"base": onBase, "nothing": onNothing, "replay": r.View()} {
			assert.Equal(t, want, shared.Get(in), "%s on %s", name, how)
			assert.Equal(t, 1+extra, keyed.Len(in), "%s on %s", name, how)
			if how == "nothing" {
				assert.Empty(t, mine.Get(in), name)
			} else {
				assert.Equal(t, "m", mine.Get(in), "%s on %s", name, how)
			}
			grown := commit(t, child, in, shared.Put(7), keyed.Put(item{Key: "c"}))
			assert.Equal(t, append(slices.Clone(want), 7), shared.Get(grown), "%s on %s, grown", name, how)
			assert.Equal(t, 2+extra, keyed.Len(grown), "%s on %s, grown", name, how)
		}
	}
	assert.Equal(t, []int{1, 2}, shared.Get(outer))
	assert.Equal(t, 1, keyed.Len(outer))
	// Import removes a value if the channel is absent in the source.
	_, ok := shared.Lookup(child.Import(before, parent.Empty(), nil))
	assert.False(t, ok)
}

func TestOverlayAppliesWritesWithoutChangingTheState(t *testing.T) {
	t.Parallel()
	list, sum, keyed := state.Append[int]("list"), state.Sum[int]("sum"), state.Keyed("keyed", byKey{})
	schema := schemaOf(t, list, sum, keyed)
	base := commit(t, schema, schema.Empty(), list.Put(1), sum.Put(1), keyed.Put(item{Key: "a"}))
	assert.Same(t, base, statecore.Overlay(schema, base, []state.Write(nil)))
	w := []state.Write{list.Put(2), sum.Put(10), list.Put(3), keyed.Put(item{"a", "new"}), keyed.Put(item{Key: "b"}), keyed.Remove("b"), keyed.Put(item{Key: "c"})}
	over := statecore.Overlay(schema, base, w)
	for range 2 { // a read does not change the overlay
		assert.Equal(t, []int{1, 2, 3}, list.Get(over))
		assert.Equal(t, 11, sum.Get(over))
		assert.Equal(t, []item{{"a", "new"}, {Key: "c"}}, keyed.Get(over))
	}
	// An overlay can be the base of another overlay and of new states.
	twice := statecore.Overlay(schema, over, []state.Write{list.Put(4), keyed.Put(item{Key: "d"})})
	made := commit(t, schema, over, list.Put(5), keyed.Put(item{Key: "e"}))
	fork := commit(t, schema, over, list.Put(6), keyed.Put(item{Key: "f"}))
	for name, test := range map[string]struct {
		v    state.View
		list []int
		last string
	}{
		"base":  {base, []int{1}, "a"},
		"over":  {over, []int{1, 2, 3}, "c"},
		"twice": {twice, []int{1, 2, 3, 4}, "d"},
		"made":  {made, []int{1, 2, 3, 5}, "e"},
		"fork":  {fork, []int{1, 2, 3, 6}, "f"},
	} {
		last, _ := keyed.Last(test.v)
		assert.Equal(t, test.list, list.Get(test.v), name)
		assert.Equal(t, test.last, last.Key, name)
	}
}

func TestViewOfAnotherSchemaPanics(t *testing.T) {
	t.Parallel()
	list := state.Append[int]("list")
	one, other := schemaOf(t, list), schemaOf(t, list)
	for name, use := range map[string]func(){
		"Begin":    func() { other.Begin(one.Empty()) },
		"Overlay":  func() { statecore.Overlay(other, one.Empty(), []state.Write{list.Put(1)}) },
		"Replay":   func() { other.Replay(one.Empty()) },
		"Snapshot": func() { _ = other.Snapshot(one.Empty(), 0, nil) },
	} {
		assert.Panics(t, use, name)
	}
}
