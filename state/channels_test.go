package state_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// lookup reads any channel that has Lookup.
func lookup[V any](c interface {
	Lookup(state.View) (V, bool)
},
) func(state.View) (any, bool) {
	return func(v state.View) (any, bool) { return c.Lookup(v) }
}

func ref[T any](v T) *T { return &v }

// concat is a custom reducer.
func concat(current string, update int) (string, error) {
	if update < 0 {
		return "", errors.New("negative")
	}
	return current + strings.Repeat("x", update), nil
}

// TestChannels has, for each kind, the value after each of some steps, and what
// is stored of the step.
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
			if got, ok := test.read(v); ok || !reflect.DeepEqual(got, test.empty) {
				t.Fatalf("absent: got %#v, %v, want %#v, false", got, ok, test.empty)
			}
			for i, s := range test.stages {
				next, stored := changes(t, schema, v, s.writes...)
				if !slices.Equal(stored, s.stored) {
					t.Fatalf("stage %d: stored %v, want %v", i, stored, s.stored)
				}
				all = append(all, stored...)
				for from, v := range map[string]state.View{
					"live":     next,
					"replayed": replayed(t, schema, nil, all...),
					"snapshot": replayed(t, schema, nil, snapshot(t, schema, next)...),
					"overlay":  statecore.Overlay(schema, v, s.writes),
				} {
					got, ok := test.read(v)
					if s.want == nil {
						if ok {
							t.Errorf("stage %d, %s: got %#v, want it to stay absent", i, from, got)
						}
						continue
					}
					if !ok || !reflect.DeepEqual(got, s.want) {
						t.Errorf("stage %d, %s: got %#v, %v, want %#v", i, from, got, ok, s.want)
					}
				}
				v = next
			}
		})
	}
}

func TestEphemeral(t *testing.T) {
	t.Parallel()
	c, other := state.Ephemeral[int]("c").Default(func() int { return -1 }), state.Sum[int]("n")
	schema := schemaOf(t, c, other)

	v, stored := changes(t, schema, schema.Empty(), c.Put(4))
	if got := c.Get(v); got != 4 || len(stored) != 1 {
		t.Fatalf("written: got %d, stored %v", got, stored)
	}
	edited := commit(t, schema, v, other.Put(1))
	if got := c.Get(edited); got != 4 {
		t.Errorf("after an edit: got %d, want it to live on", got)
	}
	tx := schema.Begin(v)
	if err := statecore.Apply(tx, 0, []state.Write{other.Put(1)}); err != nil {
		t.Fatal(err)
	}
	next, err := tx.Finish(true)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Lookup(next); ok || got != -1 {
		t.Errorf("after a superstep: got %d, %v, want it gone", got, ok)
	}
	stored = nil
	if err := tx.Changes(collect(&stored)); err != nil {
		t.Fatal(err)
	}
	if want := []change{{"c", statecore.KindClear, ""}, {"n", statecore.KindSet, "1"}}; !slices.Equal(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
	if _, ok := c.Lookup(replayed(t, schema, v, stored...)); ok {
		t.Error("replayed: still there")
	}
	again, err := step(schema, v, true, []state.Write{c.Put(5)})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Get(again); got != 5 {
		t.Errorf("written in the superstep: got %d, want 5", got)
	}
	idle, err := step(schema, next, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Lookup(idle); ok {
		t.Error("absent stays absent")
	}
}

func TestUntracked(t *testing.T) {
	t.Parallel()
	type handle struct {
		calls chan int
	}
	c := state.Untracked[*handle]("handle")
	n := state.Sum[int]("n")
	schema := schemaOf(t, c, n)
	h := &handle{calls: make(chan int)}
	v, stored := changes(t, schema, schema.Empty(), c.Put(h), n.Put(1))
	if got := c.Get(v); got != h {
		t.Errorf("got %p, want the very handle %p", got, h)
	}
	if want := []change{{"n", statecore.KindSet, "1"}}; !slices.Equal(stored, want) {
		t.Errorf("stored %v, want %v", stored, want)
	}
	if got := snapshot(t, schema, v); !slices.Equal(got, stored) {
		t.Errorf("snapshot holds %v, want %v", got, stored)
	}
	if _, _, ok, err := schema.EncodeWrite(c.Put(h).Core()); ok || err != nil {
		t.Errorf("EncodeWrite: got %v, %v, want it passed over", ok, err)
	}
	for _, d := range schema.Describe() {
		if d.Stored != (d.Name == "n") {
			t.Errorf("Describe: %+v", d)
		}
	}
	// The slot of a nil handle is told apart from none.
	v = commit(t, schema, v, c.Put(nil))
	if got, ok := c.Lookup(v); got != nil || !ok {
		t.Errorf("nil: got %v, %v", got, ok)
	}
}

// TestNilInterface has nil as a value of its own.
func TestNilInterface(t *testing.T) {
	t.Parallel()
	c := state.Last[any]("c").Default(func() any { return "default" })
	schema := schemaOf(t, c)
	if got := c.Get(schema.Empty()); got != "default" {
		t.Errorf("absent: got %v", got)
	}
	v, stored := changes(t, schema, schema.Empty(), c.Put(nil))
	for _, v := range []state.View{v, replayed(t, schema, nil, stored...)} {
		if got, ok := c.Lookup(v); got != nil || !ok {
			t.Errorf("got %v, %v, want nil, true", got, ok)
		}
	}
	v = commit(t, schema, v, c.Put("x"))
	if got := c.Get(v); got != "x" {
		t.Errorf("got %v", got)
	}
}

func TestListReading(t *testing.T) {
	t.Parallel()
	list := state.Append[string]("list")
	fallback := state.Append[string]("fallback").Default(func() []string { return []string{"d"} })
	keyed := state.Keyed("keyed", byKey{})
	set := state.Set[int]("set")
	entries := state.Map[string, int]("entries").Default(func() map[string]int { return map[string]int{"d": 4} })
	schema := schemaOf(t, list, fallback, keyed, set, entries)
	empty := schema.Empty()

	if _, ok := list.Last(empty); ok || list.Len(empty) != 0 {
		t.Error("an absent list has elements")
	}
	if e, ok := fallback.Last(empty); !ok || e != "d" || fallback.Len(empty) != 1 {
		t.Errorf("default: got %q, %v", e, ok)
	}
	if v, ok := entries.Find(empty, "d"); !ok || v != 4 {
		t.Errorf("default entry: got %d, %v", v, ok)
	}
	if _, ok := keyed.Find(empty, "a"); ok || set.Has(empty, 1) || keyed.Len(empty) != 0 {
		t.Error("an absent list has elements")
	}

	var items []item
	var numbers []int
	for i := range 50 { // past what is looked through without a table
		items = append(items, item{Key: strings.Repeat("k", i+1), Text: "t"})
		numbers = append(numbers, i)
	}
	base := commit(t, schema, empty, list.Put("a", "b"), keyed.Put(items...), set.Put(numbers...), entries.Put(map[string]int{"a": 1}))
	writes := []state.Write{list.Put("c"), keyed.Put(item{Key: "new"}), keyed.Put(item{Key: "new", Text: "2"}), set.Put(77)}
	for name, v := range map[string]state.View{"state": commit(t, schema, base, writes...), "overlay": statecore.Overlay(schema, base, writes)} {
		var got []string
		for i, e := range list.All(v) {
			if i != len(got) {
				t.Errorf("%s: All yields position %d for element %d", name, i, len(got))
			}
			got = append(got, e)
		}
		if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
			t.Errorf("%s: All yields %v, want %v", name, got, want)
		}
		for range list.All(v) {
			break
		}
		if e, ok := list.Last(v); !ok || e != "c" || list.Len(v) != 3 {
			t.Errorf("%s: Last is %q, %v", name, e, ok)
		}
		if e, ok := keyed.Last(v); !ok || e != (item{"new", "2"}) || keyed.Len(v) != 51 {
			t.Errorf("%s: last keyed is %v, %v of %d", name, e, ok, keyed.Len(v))
		}
		if e, ok := keyed.Find(v, "kkk"); !ok || e.Text != "t" {
			t.Errorf("%s: Find: got %v, %v", name, e, ok)
		}
		if e, ok := keyed.Find(v, "new"); !ok || e.Text != "2" {
			t.Errorf("%s: Find: got %v, %v", name, e, ok)
		}
		if _, ok := keyed.Find(v, "none"); ok {
			t.Errorf("%s: Find finds what is not there", name)
		}
		if !set.Has(v, 77) || !set.Has(v, 3) || set.Has(v, 78) {
			t.Errorf("%s: Has is wrong", name)
		}
		if got := slices.Collect(maps.Values(maps.Collect(keyed.All(v)))); len(got) != 51 {
			t.Errorf("%s: All yields %d elements", name, len(got))
		}
	}
	if _, ok := keyed.Find(base, "new"); ok || set.Has(base, 77) || keyed.Len(base) != 50 {
		t.Error("the older view sees what came later")
	}
	if _, ok := entries.Find(base, "none"); ok {
		t.Error("Find finds an entry that is not there")
	}
}

func TestStamping(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", byKey{})
	schema := schemaOf(t, keyed)
	w := keyed.Put(item{Text: "a"}, item{Text: "b"}, item{Key: "own"})
	v, stored := changes(t, schema, schema.Empty(), w)
	got := keyed.Get(v)
	if len(got) != 3 || len(got[0].Key) != 36 || got[0].Key == got[1].Key || got[2].Key != "own" {
		t.Fatalf("got %v", got)
	}
	if again := keyed.Get(replayed(t, schema, nil, stored...)); !slices.Equal(again, got) {
		t.Errorf("replayed %v, want %v", again, got)
	}
	if again := keyed.Get(commit(t, schema, v, w)); !slices.Equal(again, got) {
		t.Errorf("the same write again made %v", again)
	}
	if over := keyed.Get(commit(t, schema, v, keyed.Overwrite([]item{{Text: "c"}}))); len(over) != 1 || over[0].Key == "" {
		t.Errorf("Overwrite: got %v", over)
	}
}

// deaf does not set the id that it is told to.
type deaf struct{ byKey }

func (deaf) WithID(e item, _ string) item { return e }

func TestIdentityThatDoesNotStamp(t *testing.T) {
	t.Parallel()
	keyed := state.Keyed("keyed", deaf{})
	schema := schemaOf(t, keyed)
	_, err := step(schema, schema.Empty(), true, []state.Write{keyed.Put(item{Text: "a"})})
	channelErr(t, err, "keyed", nil)
}

func TestPruner(t *testing.T) {
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
				if !strings.Contains(err.Error(), test.wantErr) {
					t.Errorf("got %v, want %q in it", err, test.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, e := range keyed.Get(v) {
				if got = append(got, e.Key); e.Text != "" {
					t.Errorf("the pruner changed %v", e)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// TestDefaultIsNotHistory has code change its default: what is stored stands.
func TestDefaultIsNotHistory(t *testing.T) {
	t.Parallel()
	list, entries := state.Append[int]("list"), state.Map[string, int]("entries")
	old := schemaOf(t, list, entries)
	_, stored := changes(t, old, old.Empty(), list.Put(1), entries.Put(map[string]int{"a": 1}))

	list2 := state.Append[int]("list").Default(func() []int { return []int{100} })
	entries2 := state.Map[string, int]("entries").Default(func() map[string]int { return map[string]int{"d": 100} })
	v := replayed(t, schemaOf(t, list2, entries2), nil, stored...)
	if got := list2.Get(v); !slices.Equal(got, []int{1}) {
		t.Errorf("list: got %v, want [1]", got)
	}
	if got := entries2.Get(v); !maps.Equal(got, map[string]int{"a": 1}) {
		t.Errorf("map: got %v", got)
	}
}

func TestMapOfNothing(t *testing.T) {
	t.Parallel()
	seen := state.Map[string, struct{}]("seen")
	schema := schemaOf(t, seen)
	v := commit(t, schema, schema.Empty(), seen.Put(map[string]struct{}{"a": {}, "b": {}}), seen.Remove("a"))
	if got := seen.Get(v); len(got) != 1 || !maps.Equal(got, map[string]struct{}{"b": {}}) {
		t.Errorf("got %v", got)
	}
}

func TestManyChannels(t *testing.T) {
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
		if got := c.Get(v); got != i {
			t.Errorf("channel %s: got %d, want %d", c.Name(), got, i)
		}
	}
	if !schema.Has(sums[19]) || schema.Has(state.Sum[int]("a")) {
		t.Error("Has goes by name")
	}
}
