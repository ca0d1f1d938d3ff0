package state_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// TestStoredWritesHaveTheSameEffect proves that a write and its stored copy have the same
// effect on an empty state and on a full state.
func TestStoredWritesHaveTheSameEffect(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	full := commit(t, schema, schema.Empty(), all.fill()...)
	tested := map[string]bool{}
	for _, test := range []struct {
		name  string
		write state.Write
		kind  statecore.Kind
		data  string
	}{
		{"last", all.last.Put(doc{N: 3}), statecore.KindUpdate, `[{"n":3,"tags":null,"more":null}]`},
		{"last over", all.last.Overwrite(doc{N: 3}), statecore.KindOverwrite, `{"n":3,"tags":null,"more":null}`},
		{"any", all.any.Put("a", "b"), statecore.KindUpdate, `["a","b"]`},
		{"keep", all.keep.Put(nil, ref([]int{1}), ref([]int(nil))), statecore.KindUpdate, `[[1],null]`},
		{"sum", all.sum.Put(1, -2), statecore.KindUpdate, `[1,-2]`},
		{"max", all.max.Put(1.5), statecore.KindUpdate, `[1.5]`},
		{"max over", all.max.Overwrite(-1.5), statecore.KindOverwrite, `-1.5`},
		{"ephemeral", all.ephemeral.Put("e"), statecore.KindUpdate, `["e"]`},
		{"append", all.list.Put(doc{N: 1}, doc{N: 2}), statecore.KindUpdate, `[{"n":1,"tags":null,"more":null},{"n":2,"tags":null,"more":null}]`},
		{"append over", all.list.Overwrite(nil), statecore.KindOverwrite, `[]`},
		{"keyed", all.keyed.Put(item{"a", "new"}), statecore.KindPut, `[{"key":"a","text":"new"}]`},
		{"keyed remove", all.keyed.Remove("a"), statecore.KindRemove, `["a"]`},
		{"keyed clear", all.keyed.Clear(), statecore.KindClear, ``},
		{"keyed over", all.keyed.Overwrite([]item{{Key: "z"}}), statecore.KindOverwrite, `[{"key":"z"}]`},
		{"set", all.set.Put("x", "y"), statecore.KindPut, `["x","y"]`},
		{"set remove", all.set.Remove("s"), statecore.KindRemove, `["s"]`},
		{"map", all.entries.Put(map[string][]int{"m": {2}}), statecore.KindMerge, `{"m":[2]}`},
		{"map nil", all.entries.Put(nil), statecore.KindMerge, `null`},
		{"map remove", all.entries.Remove("m"), statecore.KindRemove, `{"m":{}}`},
		{"map over", all.entries.Overwrite(map[string][]int{}), statecore.KindOverwrite, `{}`},
		{"custom", all.custom.Put("u"), statecore.KindUpdate, `["u"]`},
		{"custom over", all.custom.Overwrite([]string{"v"}), statecore.KindOverwrite, `["v"]`},
	} {
		tested[test.write.Channel()] = true
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			k, data, ok, err := schema.EncodeWrite(test.write.Core())
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, test.kind, k)
			require.Equal(t, test.data, string(data))
			back, err := schema.DecodeWrite(test.write.Channel(), k, data)
			require.NoError(t, err)
			assert.Equal(t, test.write.Channel(), back.Channel())
			assert.Equal(t, test.write.String(), back.String())
			for _, v := range []state.View{schema.Empty(), full} {
				want, got := commit(t, schema, v, test.write), commit(t, schema, v, state.Write{Write: back})
				a, b := all.dump(want), all.dump(got)
				assert.Equal(t, b, a)
			}
		})
	}
	hasEachKind(t, "the table of TestStoredWritesHaveTheSameEffect", maps.Keys(tested))
}

func TestWritesFromChangesHaveTheSameEffect(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	full := commit(t, schema, schema.Empty(), all.fill()...)
	for name, writes := range map[string][]state.Write{
		"puts":       all.fill(),
		"overwrites": {all.last.Overwrite(doc{N: 9}), all.any.Overwrite("o"), all.keep.Overwrite(nil), all.list.Overwrite([]doc{{N: 4}}), all.keyed.Overwrite([]item{{Key: "o"}}), all.set.Overwrite([]string{"o"}), all.entries.Overwrite(nil)},
		"removals":   {all.keyed.Remove("a"), all.keyed.Put(item{Key: "q"}), all.set.Remove("s"), all.entries.Remove("m")},
		"clears":     {all.keyed.Clear(), all.set.Clear()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := commit(t, schema, full, writes...)
			got := commit(t, schema, full, fromChanges(t, schema, full, writes)...)
			a, b := all.dump(want), all.dump(got)
			assert.Equal(t, b, a)
		})
	}
}

// fromChanges converts the changes that the writes store to writes. For a channel without ChangesAreWrites, it returns the
// original writes.
func fromChanges(t *testing.T, schema *statecore.Schema, v state.View, writes []state.Write) []state.Write {
	t.Helper()
	var again []state.Write
	for _, w := range writes {
		if !schema.ChangesAreWrites(w.Channel()) {
			again = append(again, w)
		}
	}
	_, stored := changes(t, schema, v, writes...)
	for _, c := range stored {
		w, err := schema.WriteFromChange(c.channel, c.kind, []byte(c.data))
		if !schema.ChangesAreWrites(c.channel) {
			channelErr(t, err, c.channel, state.ErrStored)
			continue
		}
		require.NoError(t, err)
		again = append(again, state.Write{Write: w})
	}
	return again
}

// Subgraphs that run at the same time pass their changes to the parent graph as writes of two tasks. If the changes of a kind
// merge differently from its writes, the kind must not have ChangesAreWrites.
func TestChangesOfTwoTasksHaveTheEffectOfTheirWrites(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	full := commit(t, schema, schema.Empty(), all.fill()...)
	first := []state.Write{
		all.sum.Put(3), all.max.Put(4), all.custom.Put("d"), all.any.Put("first"), all.list.Put(doc{N: 3}, doc{N: 4}, doc{N: 5}),
		all.keyed.Put(item{"c", "3"}), all.keyed.Remove("a"), all.set.Put("u"), all.set.Remove("s"), all.entries.Put(map[string][]int{"o": {2}}),
	}
	second := []state.Write{
		all.sum.Put(5), all.max.Put(3), all.custom.Put("e"), all.any.Put("second"), all.list.Put(doc{N: 6}, doc{N: 7}, doc{N: 8}),
		all.keyed.Put(item{"d", "4"}), all.keyed.Remove("b"), all.set.Put("v"), all.set.Remove("t"), all.entries.Put(map[string][]int{"p": {3}}),
	}
	written := map[string]bool{"last": true, "keep": true, "ephemeral": true, "untracked": true} // two tasks cannot write these
	for _, w := range first {
		written[w.Channel()] = true
	}
	hasEachKind(t, "TestChangesOfTwoTasksHaveTheEffectOfTheirWrites", maps.Keys(written))
	want, err := step(schema, full, true, first, second)
	require.NoError(t, err)
	got, err := step(schema, full, true, fromChanges(t, schema, full, first), fromChanges(t, schema, full, second))
	require.NoError(t, err)
	a, b := all.dump(want), all.dump(got)
	assert.Equal(t, a, b)
}

func TestChangesAreWritesByKindOfChannel(t *testing.T) {
	t.Parallel()
	list := state.Append[int]("list").Default(func() []int { return []int{1} })
	entries := state.Map[string, int]("entries").Default(func() map[string]int { return nil })
	all := newKinds()
	tested := map[string]bool{}
	for name, c := range map[bool][]state.Handle{
		true:  {all.last, all.any, all.keep, all.ephemeral, all.list, all.keyed, all.set, all.entries},
		false: {all.sum, all.max, all.custom, all.untracked, list, entries},
	} {
		schema := schemaOf(t, c...)
		for _, c := range c {
			tested[c.Name()] = true
			assert.Equal(t, name, schema.ChangesAreWrites(c.Name()), "%s", c.Name())
		}
	}
	hasEachKind(t, "TestChangesAreWritesByKindOfChannel", maps.Keys(tested))
	// The change that ends an ephemeral value becomes the zero Write.
	schema := schemaOf(t, all.ephemeral)
	w, err := schema.WriteFromChange("ephemeral", statecore.KindClear, nil)
	assert.NoError(t, err)
	assert.Empty(t, w.Channel())
}

func TestInvalidStoredDataIsAnError(t *testing.T) {
	t.Parallel()
	all := newKinds()
	schema := schemaOf(t, all.handles()...)
	kinds := []statecore.Kind{0, statecore.KindSet, statecore.KindAppend, statecore.KindPut, statecore.KindRemove, statecore.KindMerge, statecore.KindClear, statecore.KindUpdate, statecore.KindOverwrite, 9, 255}
	replays := map[string][]statecore.Kind{
		"append": {statecore.KindSet, statecore.KindAppend},
		"keyed":  {statecore.KindSet, statecore.KindPut, statecore.KindRemove},
		"set":    {statecore.KindSet, statecore.KindPut, statecore.KindRemove},
		"map":    {statecore.KindSet, statecore.KindMerge, statecore.KindRemove},
	}
	writes := map[string][]statecore.Kind{
		"keyed": {statecore.KindPut, statecore.KindRemove, statecore.KindClear, statecore.KindOverwrite},
		"set":   {statecore.KindPut, statecore.KindRemove, statecore.KindClear, statecore.KindOverwrite},
		"map":   {statecore.KindMerge, statecore.KindRemove, statecore.KindOverwrite},
	}
	for _, d := range schema.Describe() {
		if replays[d.Kind] == nil {
			replays[d.Kind] = []statecore.Kind{statecore.KindSet}
		}
		if writes[d.Kind] == nil {
			writes[d.Kind] = []statecore.Kind{statecore.KindUpdate, statecore.KindOverwrite}
		}
		for _, k := range kinds {
			err := schema.Replay(nil).Apply(d.Name, k, []byte(`null`))
			if want := k == statecore.KindClear || slices.Contains(replays[d.Kind], k); want {
				assert.NoError(t, err, "%s: replay of a %v", d.Name, k)
			} else {
				refused(t, err, "replay", &d, k, "replays")
			}
			_, err = schema.DecodeWrite(d.Name, k, []byte(`null`))
			if slices.Contains(writes[d.Kind], k) {
				assert.NoError(t, err, "%s: a write of kind %v", d.Name, k)
			} else {
				refused(t, err, "write", &d, k, "writes")
			}
			for _, text := range []string{"", "x", `"a`, `[`, `[{]`, `{"a":}`, `[1,2] 3`, "\"\xff\"", "[\"\xff\"]"} {
				err := schema.Replay(nil).Apply(d.Name, k, []byte(text))
				if k == statecore.KindClear {
					continue // a clear has no data
				}
				assert.ErrorIs(t, err, state.ErrStored, "%s: replay of a %v of %q", d.Name, k, text)
				_, err = schema.DecodeWrite(d.Name, k, []byte(text))
				assert.ErrorIs(t, err, state.ErrStored, "%s: a write of kind %v of %q", d.Name, k, text)
			}
		}
	}
	channelErr(t, schema.Replay(nil).Apply("keyed", statecore.KindPut, []byte(`[{"key":"a"},{"text":"no key"}]`)), "keyed", state.ErrStored)
	_, err := schema.DecodeWrite("keyed", statecore.KindPut, []byte(`[{}]`))
	channelErr(t, err, "keyed", state.ErrStored)
}

// refused fails the test unless err is the error of a channel about a stored change or write of kind k. The argument list
// names the variable of the test that has the kinds without an error.
func refused(t *testing.T, err error, what string, d *statecore.Description, k statecore.Kind, list string) {
	t.Helper()
	if assert.Error(t, err, "channel %q accepts a %s of kind %v; if its kind stores such ones, add it to the variable %s, under %q", d.Name, what, k, list, d.Kind) {
		channelErr(t, err, d.Name, state.ErrStored)
	}
}

// fragile is an Identity. Its methods panic for an element that is nil.
type fragile struct{}

func (fragile) ID(e *item) string               { return e.Key }
func (fragile) WithID(e *item, id string) *item { return &item{Key: id, Text: e.Text} }

func TestPanicWhileStoredDataIsReadIsAnError(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", fragile{})
	schema := schemaOf(t, keyed)
	channelErr(t, schema.Replay(nil).Apply("keyed", statecore.KindPut, []byte(`[null]`)), "keyed", state.ErrStored)
	_, err := schema.DecodeWrite("keyed", statecore.KindPut, []byte(`[null]`))
	channelErr(t, err, "keyed", state.ErrStored)
	_, err = schema.WriteFromChange("keyed", statecore.KindPut, []byte(`[null]`))
	channelErr(t, err, "keyed", state.ErrStored)
}
