package state_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// lookup returns a function that calls Lookup of a channel and returns the value as an any.
func lookup[V any](c interface {
	Lookup(state.View) (V, bool)
},
) func(state.View) (any, bool) {
	return func(v state.View) (any, bool) { return c.Lookup(v) }
}

func ref[T any](v T) *T { return &v }

// concat is a custom reducer. An update is the number of letters to append.
// A negative update is an error.
func concat(current string, update int) (string, error) {
	if update < 0 {
		return "", errors.New("negative")
	}
	return current + strings.Repeat("x", update), nil
}

// TestChannels proves, for each kind of channel that is stored as long as it is set, that the channel has
// the expected value after each stage of writes, and that each stage stores the expected changes.
func TestChannels(t *testing.T) {
	t.Parallel()
	last := state.Last[int]("c")
	lastDefault := state.Last[int]("c").Default(func() int { return 7 })
	anyOf := state.LastWins[string]("c")
	keep := state.Optional[int]("c")
	keepSlice := state.Optional[[]int]("c")
	sum := state.Sum[int]("c")
	sumDefault := state.Sum[float64]("c").Default(func() float64 { return 0.5 })
	highest := state.Max[int]("c")
	highestDefault := state.Max[int]("c").Default(func() int { return -5 })
	list := state.Append[string]("c")
	listDefault := state.Append[int]("c").Default(func() []int { return []int{1, 2} })
	keyed := state.Keyed("c", byKey{})
	pruned := state.Keyed("c", byKey{}).Prune(func(all []item) []item { return all[max(0, len(all)-2):] })
	set := state.Set[string]("c")
	entries := state.Map[string, int]("c")
	entriesDefault := state.Map[int, string]("c").Default(func() map[int]string { return map[int]string{1: "one"} })
	custom := state.NewChannel("c", concat)
	customDefault := state.NewChannel("c", concat).Default(func() string { return "-" })

	type stage struct {
		writes []state.Write
		want   any
		stored []change
	}
	set1 := func(json string) []change { return []change{{"c", statecore.KindSet, json}} }
	for _, test := range []struct {
		name    string
		channel state.Handle
		read    func(state.View) (any, bool)
		empty   any
		stages  []stage
	}{
		{"last", last, lookup(last), 0, []stage{
			{[]state.Write{last.Put(3)}, 3, set1(`3`)},
			{[]state.Write{last.Put(4, 5)}, 5, set1(`5`)},
			{[]state.Write{last.Put(4), last.Put(0)}, 0, set1(`0`)},
			{[]state.Write{last.Overwrite(9), last.Put(8)}, 8, set1(`8`)},
			{[]state.Write{last.Put()}, 8, nil},
		}},
		{"last with default", lastDefault, lookup(lastDefault), 7, []stage{
			{[]state.Write{lastDefault.Put(0)}, 0, set1(`0`)},
		}},
		{"any", anyOf, lookup(anyOf), "", []stage{
			{[]state.Write{anyOf.Put("a"), anyOf.Put("b")}, "b", set1(`"b"`)},
		}},
		{"keep", keep, lookup(keep), 0, []stage{
			{[]state.Write{keep.Put(nil)}, nil, nil},
			{[]state.Write{keep.Put(ref(3), nil)}, 3, set1(`3`)},
			{[]state.Write{keep.Put(nil), keep.Put(nil, nil)}, 3, nil},
			{[]state.Write{keep.Put(ref(0))}, 0, set1(`0`)},
			{[]state.Write{keep.Overwrite(8), keep.Put(nil)}, 8, set1(`8`)},
		}},
		{"keep of a slice", keepSlice, lookup(keepSlice), []int(nil), []stage{
			{[]state.Write{keepSlice.Put(&[]int{1})}, []int{1}, set1(`[1]`)},
			{[]state.Write{keepSlice.Put(ref([]int(nil)))}, []int(nil), set1(`null`)},
			{[]state.Write{keepSlice.Put(&[]int{})}, []int{}, set1(`[]`)},
		}},
		{"sum", sum, lookup(sum), 0, []stage{
			{[]state.Write{sum.Put(3), sum.Put(4, 5)}, 12, set1(`12`)},
			{[]state.Write{sum.Put(-2)}, 10, set1(`10`)},
			{[]state.Write{sum.Put(1), sum.Overwrite(100), sum.Put(1)}, 101, set1(`101`)},
		}},
		{"sum with default", sumDefault, lookup(sumDefault), 0.5, []stage{
			{[]state.Write{sumDefault.Put(1)}, 1.5, set1(`1.5`)},
		}},
		{"max", highest, lookup(highest), 0, []stage{
			{[]state.Write{highest.Put(-3)}, 0, set1(`0`)},
			{[]state.Write{highest.Put(3, 5, 4)}, 5, set1(`5`)},
			{[]state.Write{highest.Overwrite(1), highest.Put(2)}, 2, set1(`2`)},
		}},
		{"max with default", highestDefault, lookup(highestDefault), -5, []stage{
			{[]state.Write{highestDefault.Put(-3)}, -3, set1(`-3`)},
		}},
		{"append", list, lookup(list), []string(nil), []stage{
			{[]state.Write{list.Put()}, nil, nil},
			{[]state.Write{list.Put("a"), list.Put("b", "c")}, []string{"a", "b", "c"}, []change{{"c", statecore.KindAppend, `["a","b","c"]`}}},
			{[]state.Write{list.Put("d")}, []string{"a", "b", "c", "d"}, []change{{"c", statecore.KindAppend, `["d"]`}}},
			{[]state.Write{list.Put("e"), list.Overwrite([]string{"x"}), list.Put("y")}, []string{"x", "y"}, set1(`["x","y"]`)},
			{[]state.Write{list.Put("z")}, []string{"x", "y", "z"}, []change{{"c", statecore.KindAppend, `["z"]`}}},
			{[]state.Write{list.Overwrite(nil)}, []string{}, set1(`[]`)},
		}},
		{"append with default", listDefault, lookup(listDefault), []int{1, 2}, []stage{
			{[]state.Write{listDefault.Put(3)}, []int{1, 2, 3}, set1(`[1,2,3]`)},
			{[]state.Write{listDefault.Put(4)}, []int{1, 2, 3, 4}, []change{{"c", statecore.KindAppend, `[4]`}}},
		}},
		{"keyed", keyed, lookup(keyed), []item(nil), []stage{
			{[]state.Write{keyed.Put()}, nil, nil},
			{[]state.Write{keyed.Put(item{"a", "1"}, item{"b", "1"}), keyed.Put(item{"a", "2"})}, []item{{"a", "2"}, {"b", "1"}}, []change{{"c", statecore.KindPut, `[{"key":"a","text":"1"},{"key":"b","text":"1"},{"key":"a","text":"2"}]`}}},
			{[]state.Write{keyed.Put(item{"c", "1"}), keyed.Remove("b", "no"), keyed.Put(item{"b", "3"})}, []item{{"a", "2"}, {"c", "1"}, {"b", "3"}}, []change{{"c", statecore.KindPut, `[{"key":"c","text":"1"}]`}, {"c", statecore.KindRemove, `["b","no"]`}, {"c", statecore.KindPut, `[{"key":"b","text":"3"}]`}}},
			{[]state.Write{keyed.Remove("no")}, []item{{"a", "2"}, {"c", "1"}, {"b", "3"}}, []change{{"c", statecore.KindRemove, `["no"]`}}},
			{[]state.Write{keyed.Remove()}, []item{{"a", "2"}, {"c", "1"}, {"b", "3"}}, nil},
			{[]state.Write{keyed.Put(item{"d", "1"}), keyed.Clear(), keyed.Put(item{"e", "1"})}, []item{{"e", "1"}}, []change{{"c", statecore.KindSet, `[]`}, {"c", statecore.KindPut, `[{"key":"e","text":"1"}]`}}},
			{[]state.Write{keyed.Overwrite([]item{{"f", "1"}, {"g", "1"}, {"f", "2"}})}, []item{{"f", "2"}, {"g", "1"}}, set1(`[{"key":"f","text":"1"},{"key":"g","text":"1"},{"key":"f","text":"2"}]`)},
			{[]state.Write{keyed.Clear()}, []item{}, set1(`[]`)},
		}},
		{"keyed with pruner", pruned, lookup(pruned), []item(nil), []stage{
			{[]state.Write{pruned.Put(item{Key: "a"}, item{Key: "b"})}, []item{{Key: "a"}, {Key: "b"}}, []change{{"c", statecore.KindPut, `[{"key":"a"},{"key":"b"}]`}}},
			{[]state.Write{pruned.Put(item{Key: "c"})}, []item{{Key: "b"}, {Key: "c"}}, []change{{"c", statecore.KindPut, `[{"key":"c"}]`}, {"c", statecore.KindRemove, `["a"]`}}},
		}},
		{"set", set, lookup(set), []string(nil), []stage{
			{[]state.Write{set.Put("b", "a", "b")}, []string{"b", "a"}, []change{{"c", statecore.KindPut, `["b","a","b"]`}}},
			{[]state.Write{set.Put("a"), set.Remove("b"), set.Put("c")}, []string{"a", "c"}, []change{{"c", statecore.KindPut, `["a"]`}, {"c", statecore.KindRemove, `["b"]`}, {"c", statecore.KindPut, `["c"]`}}},
			{[]state.Write{set.Overwrite([]string{"z", "z"})}, []string{"z"}, set1(`["z","z"]`)},
			{[]state.Write{set.Clear()}, []string{}, set1(`[]`)},
		}},
		{"map", entries, lookup(entries), map[string]int(nil), []stage{
			{[]state.Write{entries.Put(map[string]int{"a": 1, "b": 2}), entries.Put(map[string]int{"b": 3})}, map[string]int{"a": 1, "b": 3}, []change{{"c", statecore.KindMerge, `{"a":1,"b":3}`}}},
			{[]state.Write{entries.Remove("a", "no"), entries.Put(map[string]int{"c": 4})}, map[string]int{"b": 3, "c": 4}, []change{{"c", statecore.KindRemove, `{"a":{},"no":{}}`}, {"c", statecore.KindMerge, `{"c":4}`}}},
			{[]state.Write{entries.Remove()}, map[string]int{"b": 3, "c": 4}, nil},
			{[]state.Write{entries.Put(map[string]int{"d": 1}), entries.Overwrite(map[string]int{"x": 1}), entries.Put(map[string]int{"y": 2})}, map[string]int{"x": 1, "y": 2}, set1(`{"x":1,"y":2}`)},
			{[]state.Write{entries.Overwrite(nil)}, map[string]int{}, set1(`{}`)},
			{[]state.Write{entries.Put(nil)}, map[string]int{}, []change{{"c", statecore.KindMerge, `{}`}}},
		}},
		{"map with default", entriesDefault, lookup(entriesDefault), map[int]string{1: "one"}, []stage{
			{[]state.Write{entriesDefault.Put(map[int]string{2: "two"})}, map[int]string{1: "one", 2: "two"}, set1(`{"1":"one","2":"two"}`)},
			{[]state.Write{entriesDefault.Remove(1)}, map[int]string{2: "two"}, []change{{"c", statecore.KindRemove, `{"1":{}}`}}},
		}},
		{"custom", custom, lookup(custom), "", []stage{
			{[]state.Write{custom.Put(2), custom.Put(1, 1)}, "xxxx", set1(`"xxxx"`)},
			{[]state.Write{custom.Put(2), custom.Overwrite("y"), custom.Put(1)}, "yx", set1(`"yx"`)},
		}},
		{"custom with default", customDefault, lookup(customDefault), "-", []stage{
			{[]state.Write{customDefault.Put(2)}, "-xx", set1(`"-xx"`)},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			schema := schemaOf(t, test.channel)
			v, all := schema.Empty(), []change(nil)
			before, ok := test.read(v)
			require.False(t, ok)
			require.Equal(t, test.empty, before)
			for i, s := range test.stages {
				next, stored := changes(t, schema, v, s.writes...)
				require.Equal(t, s.stored, stored, "stage %d", i)
				all = append(all, stored...)
				for from, v := range map[string]state.View{
					"live":     next,
					"replayed": replayed(t, schema, nil, all...),
					"snapshot": replayed(t, schema, nil, snapshot(t, schema, next)...),
					"overlay":  statecore.Overlay(schema, v, s.writes),
				} {
					got, ok := test.read(v)
					if s.want == nil {
						assert.False(t, ok, "stage %d, %s", i, from)
						continue
					}
					assert.True(t, ok, "stage %d, %s", i, from)
					assert.Equal(t, s.want, got, "stage %d, %s", i, from)
				}
				v = next
			}
		})
	}
}

func TestEphemeralValueEndsAfterOneSuperstep(t *testing.T) {
	t.Parallel()
	c, other := state.Ephemeral[int]("c").Default(func() int { return -1 }), state.Sum[int]("n")
	schema := schemaOf(t, c, other)

	v, stored := changes(t, schema, schema.Empty(), c.Put(4))
	require.Equal(t, 4, c.Get(v))
	require.Len(t, stored, 1)
	edited := commit(t, schema, v, other.Put(1))
	assert.Equal(t, 4, c.Get(edited))
	tx := schema.Begin(v)
	require.NoError(t, statecore.Apply(tx, 0, []state.Write{other.Put(1)}))
	next, err := tx.Finish(true)
	require.NoError(t, err)
	got, ok := c.Lookup(next)
	assert.False(t, ok)
	assert.Equal(t, -1, got)
	stored = nil
	require.NoError(t, tx.Changes(collect(&stored)))
	assert.Equal(t, []change{{"c", statecore.KindClear, ""}, {"n", statecore.KindSet, "1"}}, stored)
	_, ok = c.Lookup(replayed(t, schema, v, stored...))
	assert.False(t, ok)
	again, err := step(schema, v, true, []state.Write{c.Put(5)})
	require.NoError(t, err)
	assert.Equal(t, 5, c.Get(again))
	idle, err := step(schema, next, true)
	require.NoError(t, err)
	_, ok = c.Lookup(idle)
	assert.False(t, ok)
}

func TestUntrackedChannelIsNeitherStoredNorCopied(t *testing.T) {
	t.Parallel()
	type handle struct {
		calls chan int
	}
	c := state.Untracked[*handle]("handle")
	n := state.Sum[int]("n")
	schema := schemaOf(t, c, n)
	h := &handle{calls: make(chan int)}
	v, stored := changes(t, schema, schema.Empty(), c.Put(h), n.Put(1))
	assert.Same(t, h, c.Get(v))
	assert.Equal(t, []change{{"n", statecore.KindSet, "1"}}, stored)
	assert.Equal(t, stored, snapshot(t, schema, v))
	_, _, ok, err := schema.EncodeWrite(c.Put(h).Core())
	assert.False(t, ok)
	assert.NoError(t, err)
	for _, d := range schema.Describe() {
		assert.Equal(t, d.Name == "n", d.Stored)
	}
	// A nil value is different from an absent channel.
	v = commit(t, schema, v, c.Put(nil))
	got, ok := c.Lookup(v)
	assert.Nil(t, got)
	assert.True(t, ok)
}

func TestNilIsAValueOfAnInterfaceChannel(t *testing.T) {
	t.Parallel()
	c := state.Last[any]("c").Default(func() any { return "default" })
	schema := schemaOf(t, c)
	assert.Equal(t, "default", c.Get(schema.Empty()))
	v, stored := changes(t, schema, schema.Empty(), c.Put(nil))
	for _, v := range []state.View{v, replayed(t, schema, nil, stored...)} {
		got, ok := c.Lookup(v)
		assert.Nil(t, got)
		assert.True(t, ok)
	}
	v = commit(t, schema, v, c.Put("x"))
	assert.Equal(t, "x", c.Get(v))
}

func TestReadingPartsOfListsAndMaps(t *testing.T) {
	t.Parallel()
	list := state.Append[string]("list")
	fallback := state.Append[string]("fallback").Default(func() []string { return []string{"d"} })
	keyed := state.Keyed("keyed", byKey{})
	set := state.Set[int]("set")
	entries := state.Map[string, int]("entries").Default(func() map[string]int { return map[string]int{"d": 4} })
	schema := schemaOf(t, list, fallback, keyed, set, entries)
	empty := schema.Empty()

	_, ok := list.Last(empty)
	assert.False(t, ok)
	assert.Equal(t, 0, list.Len(empty))
	fromDefault, ok := fallback.Last(empty)
	assert.True(t, ok)
	assert.Equal(t, "d", fromDefault)
	assert.Equal(t, 1, fallback.Len(empty))
	entry, ok := entries.Find(empty, "d")
	assert.True(t, ok)
	assert.Equal(t, 4, entry)
	_, ok = keyed.Find(empty, "a")
	assert.False(t, ok)
	assert.False(t, set.Has(empty, 1))
	assert.Equal(t, 0, keyed.Len(empty))

	var items []item
	var numbers []int
	for i := range 50 { // enough for a table of positions
		items = append(items, item{Key: strings.Repeat("k", i+1), Text: "t"})
		numbers = append(numbers, i)
	}
	base := commit(t, schema, empty, list.Put("a", "b"), keyed.Put(items...), set.Put(numbers...), entries.Put(map[string]int{"a": 1}))
	writes := []state.Write{list.Put("c"), keyed.Put(item{Key: "new"}), keyed.Put(item{Key: "new", Text: "2"}), set.Put(77)}
	for name, v := range map[string]state.View{"state": commit(t, schema, base, writes...), "overlay": statecore.Overlay(schema, base, writes)} {
		var got []string
		for i, e := range list.All(v) {
			assert.Equal(t, len(got), i, name)
			got = append(got, e)
		}
		assert.Equal(t, []string{"a", "b", "c"}, got, name)
		for range list.All(v) {
			break
		}
		lastElement, ok := list.Last(v)
		assert.True(t, ok, name)
		assert.Equal(t, "c", lastElement, name)
		assert.Equal(t, 3, list.Len(v), name)
		lastKeyed, ok := keyed.Last(v)
		assert.True(t, ok, name)
		assert.Equal(t, (item{"new", "2"}), lastKeyed, name)
		assert.Equal(t, 51, keyed.Len(v), name)
		found, ok := keyed.Find(v, "kkk")
		assert.True(t, ok, name)
		assert.Equal(t, "t", found.Text, name)
		replaced, ok := keyed.Find(v, "new")
		assert.True(t, ok, name)
		assert.Equal(t, "2", replaced.Text, name)
		_, ok = keyed.Find(v, "none")
		assert.False(t, ok, name)
		assert.True(t, set.Has(v, 77), name)
		assert.True(t, set.Has(v, 3), name)
		assert.False(t, set.Has(v, 78), name)
		assert.Len(t, slices.Collect(maps.Values(maps.Collect(keyed.All(v)))), 51, name)
	}
	_, ok = keyed.Find(base, "new")
	assert.False(t, ok)
	assert.False(t, set.Has(base, 77))
	assert.Equal(t, 50, keyed.Len(base))
	_, ok = entries.Find(base, "none")
	assert.False(t, ok)
}

func TestPutGivesIDsToElementsWithoutOne(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", byKey{})
	schema := schemaOf(t, keyed)
	w := keyed.Put(item{Text: "a"}, item{Text: "b"}, item{Key: "own"})
	v, stored := changes(t, schema, schema.Empty(), w)
	got := keyed.Get(v)
	require.Len(t, got, 3)
	require.Len(t, got[0].Key, 36)
	require.NotEqual(t, got[1].Key, got[0].Key)
	require.Equal(t, "own", got[2].Key)
	assert.Equal(t, got, keyed.Get(replayed(t, schema, nil, stored...)))
	assert.Equal(t, got, keyed.Get(commit(t, schema, v, w)))
	over := keyed.Get(commit(t, schema, v, keyed.Overwrite([]item{{Text: "c"}})))
	assert.Len(t, over, 1)
	assert.NotEmpty(t, over[0].Key)
}

// deaf is an Identity. Its WithID method does not set the id.
type deaf struct{ byKey }

func (deaf) WithID(e item, _ string) item { return e }

func TestIdentityThatSetsNoIDIsAnError(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", deaf{})
	schema := schemaOf(t, keyed)
	_, err := step(schema, schema.Empty(), true, []state.Write{keyed.Put(item{Text: "a"})})
	channelErr(t, err, "keyed", nil)
}

func TestPruneRemovesElementsAndRejectsOtherChanges(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		prune   func([]item) []item
		want    []string
		wantErr string
	}{
		{"nothing", func(all []item) []item { return all }, []string{"a", "b", "c"}, ""},
		{"everything", func([]item) []item { return nil }, []string{}, ""},
		{"the middle", func(all []item) []item { return slices.Delete(all, 1, 2) }, []string{"a", "c"}, ""},
		{"a change of its copy", func(all []item) []item { all[0].Text = "changed"; return all }, []string{"a", "b", "c"}, ""},
		{"out of order", func(all []item) []item { slices.Reverse(all); return all }, nil, "out of order"},
		{"something new", func(all []item) []item { return append(all, item{Key: "new"}) }, nil, "new"},
		{"a panic", func([]item) []item { panic("oh") }, nil, "panicked: oh"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			keyed := state.Keyed("keyed", byKey{}).Prune(test.prune)
			schema := schemaOf(t, keyed)
			v, err := step(schema, schema.Empty(), true, []state.Write{keyed.Put(item{Key: "a"}, item{Key: "b"}, item{Key: "c"})})
			if test.wantErr != "" {
				channelErr(t, err, "keyed", nil)
				assert.Contains(t, err.Error(), test.wantErr)
				return
			}
			require.NoError(t, err)
			got := []string{}
			for _, e := range keyed.Get(v) {
				got = append(got, e.Key)
				assert.Empty(t, e.Text)
			}
			assert.Equal(t, test.want, got)
		})
	}
}

func TestNewDefaultDoesNotChangeStoredValues(t *testing.T) {
	t.Parallel()
	list, entries := state.Append[int]("list"), state.Map[string, int]("entries")
	old := schemaOf(t, list, entries)
	_, stored := changes(t, old, old.Empty(), list.Put(1), entries.Put(map[string]int{"a": 1}))

	list2 := state.Append[int]("list").Default(func() []int { return []int{100} })
	entries2 := state.Map[string, int]("entries").Default(func() map[string]int { return map[string]int{"d": 100} })
	v := replayed(t, schemaOf(t, list2, entries2), nil, stored...)
	assert.Equal(t, []int{1}, list2.Get(v))
	assert.Equal(t, map[string]int{"a": 1}, entries2.Get(v))
}

func TestMapOfEmptyStructs(t *testing.T) {
	t.Parallel()
	seen := state.Map[string, struct{}]("seen")
	schema := schemaOf(t, seen)
	v := commit(t, schema, schema.Empty(), seen.Put(map[string]struct{}{"a": {}, "b": {}}), seen.Remove("a"))
	got := seen.Get(v)
	assert.Len(t, got, 1)
	assert.Equal(t, map[string]struct{}{"b": {}}, got)
}

func TestSchemaWithManyChannels(t *testing.T) {
	t.Parallel()
	var handles []state.Handle
	var sums []*state.Channel[int, int]
	for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
		c := state.Sum[int](name)
		sums, handles = append(sums, c), append(handles, c)
	}
	schema := schemaOf(t, handles...)
	v := schema.Empty()
	for i, c := range sums {
		v = commit(t, schema, v, c.Put(i))
	}
	for i, c := range sums {
		assert.Equal(t, i, c.Get(v), "channel %s", c.Name())
	}
	assert.True(t, schema.Has(sums[19]))
	assert.False(t, schema.Has(state.Sum[int]("a")))
}
