package state_test

import (
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// hidden is an embedded type that is not exported.
type hidden struct {
	Shared []string `json:"shared"`
}

// byValue has a Clone method, whose receiver and result are values.
type byValue struct{ secret *[]int }

func (b byValue) Clone() byValue {
	if b.secret == nil {
		return b
	}
	return byValue{ref(slices.Clone(*b.secret))}
}
func (b byValue) MarshalJSON() ([]byte, error)  { return []byte(`"v"`), nil }
func (b *byValue) UnmarshalJSON(_ []byte) error { return nil }

// byPointer has a Clone method, whose receiver and result are pointers.
type byPointer struct{ secret []int }

func (b *byPointer) Clone() *byPointer            { return &byPointer{slices.Clone(b.secret)} }
func (b byPointer) MarshalJSON() ([]byte, error)  { return []byte(`"p"`), nil }
func (b *byPointer) UnmarshalJSON(_ []byte) error { return nil }

// sharp has a Clone method, whose receiver is a pointer and whose result is a value.
type sharp struct{ secret *int }

func (s *sharp) Clone() sharp                 { return sharp{ref(*s.secret)} }
func (s sharp) MarshalJSON() ([]byte, error)  { return []byte(`"s"`), nil }
func (s *sharp) UnmarshalJSON(_ []byte) error { return nil }

// empty has a Clone method that always returns nil.
type empty struct{ N int }

func (*empty) Clone() *empty { return nil }

// labels is a map type that has a Clone method.
type labels map[string]string

func (l labels) Clone() labels { return maps.Clone(l) }

// everything has a field for each kind of reference.
type everything struct {
	hidden
	Slice   []int               `json:"slice"`
	Nested  [][]string          `json:"nested"`
	Map     map[string][]int    `json:"map"`
	Pointer *everything         `json:"pointer"`
	Array   [2][]int            `json:"array"`
	Any     any                 `json:"any"`
	Bytes   []byte              `json:"bytes"`
	Time    *time.Time          `json:"time"`
	Addr    netip.Addr          `json:"addr"`
	Big     *big.Int            `json:"big"`
	Value   byValue             `json:"value"`
	Ptr     byPointer           `json:"ptr"`
	PtrPtr  *byPointer          `json:"ptrptr"`
	Sharp   []sharp             `json:"sharp"`
	Empty   empty               `json:"empty"`
	Labels  labels              `json:"labels"`
	Structs []struct{ A []int } `json:"structs"`
	Cache   map[string]int      `json:"-"`
}

func newEverything() everything {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	return everything{
		hidden: hidden{[]string{"h"}},
		Slice:  []int{1}, Nested: [][]string{{"a"}, nil}, Map: map[string][]int{"m": {1}},
		Pointer: &everything{Slice: []int{2}}, Array: [2][]int{{1}, nil},
		Any:   map[string]any{"l": []any{"x", map[string]any{"y": 1.0}}},
		Bytes: []byte("b"), Time: &at, Addr: netip.MustParseAddr("::1"), Big: big.NewInt(1 << 40),
		Value: byValue{&[]int{1}}, Ptr: byPointer{[]int{1}}, PtrPtr: &byPointer{[]int{1}},
		Sharp: []sharp{{ref(1)}}, Empty: empty{3},
		Labels: labels{"a": "b"}, Structs: []struct{ A []int }{{[]int{1}}}, Cache: map[string]int{"c": 1},
	}
}

// spoil changes everything that e refers to.
func spoil(e everything) {
	e.Shared[0] = "spoilt"
	e.Slice[0], e.Nested[0][0], e.Map["m"][0] = -1, "spoilt", -1
	e.Map["new"], e.Pointer.Slice[0], e.Array[0][0] = nil, -1, -1
	e.Any.(map[string]any)["l"].([]any)[1].(map[string]any)["y"] = "spoilt"
	e.Any.(map[string]any)["new"] = 1.0
	e.Bytes[0], *e.Time = 'x', time.Time{}
	e.Big.Bits()[0] = 7
	(*e.Value.secret)[0], e.Ptr.secret[0], e.PtrPtr.secret[0] = -1, -1, -1
	*e.Sharp[0].secret = -1
	e.Labels["a"], e.Structs[0].A[0], e.Cache["c"] = "spoilt", -1, -1
}

// TestChangesOfValuesOutsideDoNotAffectAState proves that a state does not change if a
// program changes a value that it has passed to Put or received from Get.
func TestChangesOfValuesOutsideDoNotAffectAState(t *testing.T) {
	t.Parallel()
	type element = everything
	last, keep := state.Last[element]("last"), state.Optional[*element]("keep")
	list, keyed, entries := state.Append[element]("list"), state.Keyed("keyed", byHidden{}), state.Map[string, element]("entries")
	custom := state.NewChannel("custom", func(current, update []element) ([]element, error) {
		for _, e := range slices.Concat(current, update) {
			spoil(e) // even such a reducer must not affect other states
		}
		return append(current[:0], update...), nil
	})
	shared := newEverything()
	fallback := state.Last[element]("fallback").Default(func() element { return shared })
	fallbackList := state.Append[element]("fallbackList").Default(func() []element { return []element{shared} })
	fallbackMap := state.Map[string, element]("fallbackMap").Default(func() map[string]element { return map[string]element{"a": shared} })
	schema := schemaOf(t, last, keep, list, keyed, entries, custom, fallback, fallbackList, fallbackMap)

	given := newEverything()
	slice, table, pointer := []element{newEverything()}, map[string]element{"a": newEverything()}, ref(ref(newEverything()))
	writes := []state.Write{
		last.Put(given), keep.Put(pointer), list.Put(slice...), keyed.Put(slice...), entries.Put(table), custom.Put(slice),
	}
	overwrites := []state.Write{
		last.Overwrite(given), keep.Overwrite(*pointer), list.Overwrite(slice), keyed.Overwrite(slice), entries.Overwrite(table), custom.Overwrite(slice),
	}
	spoil(given)
	spoil(slice[0])
	spoil(table["a"])
	spoil(**pointer)
	slice[0], *pointer = element{}, nil
	delete(table, "a")

	want := newEverything()
	check := func(t *testing.T, when string, v state.View, got ...element) {
		t.Helper()
		for _, e := range got {
			require.Equal(t, want, e, when)
		}
	}
	read := func(v state.View) []element {
		_, fromAll := first(list.All(v))
		_, fromKeyed := first(keyed.All(v))
		lastOf, _ := list.Last(v)
		lastKeyed, _ := keyed.Last(v)
		found, _ := keyed.Find(v, "h")
		entry, _ := entries.Find(v, "a")
		defaultLast, _ := fallbackList.Last(v)
		defaultEntry, _ := fallbackMap.Find(v, "a")
		return []element{
			last.Get(v), *keep.Get(v), list.Get(v)[0], keyed.Get(v)[0], entries.Get(v)["a"],
			fromAll, fromKeyed, lastOf, lastKeyed, found, entry,
			fallback.Get(v), fallbackList.Get(v)[0], fallbackMap.Get(v)["a"], defaultLast, defaultEntry,
		}
	}
	for name, writes := range map[string][]state.Write{"put": writes, "overwritten": overwrites} {
		t.Run(name, func(t *testing.T) {
			v := commit(t, schema, schema.Empty(), writes...)
			sibling := commit(t, schema, v, list.Put(), custom.Put(nil))
			over := statecore.Overlay(schema, schema.Empty(), writes)
			for _, v := range []state.View{v, over, sibling} {
				for range 2 {
					got := read(v)
					check(t, "read", v, got...)
					for _, e := range got {
						spoil(e)
					}
				}
			}
			again := commit(t, schema, v, writes...)
			check(t, "written again", again, read(again)...)
			check(t, "the first state, after the later writes", v, read(v)...)
		})
	}
	assert.Equal(t, []element{want}, custom.Get(commit(t, schema, schema.Empty(), overwrites[5])))
	v := commit(t, schema, schema.Empty(), overwrites[5])
	commit(t, schema, v, overwrites[5], custom.Put([]element{newEverything()}))
	assert.Equal(t, []element{want}, custom.Get(commit(t, schema, schema.Empty(), overwrites[5])))
	commit(t, schema, v, custom.Put([]element{newEverything()}))
	assert.Equal(t, []element{want}, custom.Get(v))
}

// byHidden is an Identity. It reads the id of an element from an embedded struct.
type byHidden struct{}

func (byHidden) ID(e everything) string                    { return e.Shared[0] }
func (byHidden) WithID(e everything, id string) everything { e.Shared = []string{id}; return e }

func first[E any](all func(func(int, E) bool)) (i int, e E) {
	for i, e = range all {
		break
	}
	return i, e
}

func TestStatesAreIndependentIfAReducerAppendsInPlace(t *testing.T) {
	t.Parallel()
	c := state.NewChannel("c", func(current []int, update int) ([]int, error) {
		if current == nil {
			current = make([]int, 0, 100)
		}
		return append(current, update), nil
	})
	schema := schemaOf(t, c)
	v := commit(t, schema, schema.Empty(), c.Put(1, 2))
	a, b := commit(t, schema, v, c.Put(3)), commit(t, schema, v, c.Put(4))
	assert.Equal(t, []int{1, 2, 3}, c.Get(a))
	assert.Equal(t, []int{1, 2, 4}, c.Get(b))
}

// client is a type whose values are neither stored nor copied.
type client struct{ calls map[string]int }

type session struct {
	Name   string  `json:"name"`
	Client *client `json:"-"`
	Done   func()  `json:"-"`
}

func TestPointersInUnstoredFieldsAreShared(t *testing.T) {
	t.Parallel()
	c := state.Last[session]("c")
	schema := schemaOf(t, c)
	given := session{"n", &client{map[string]int{}}, func() {}}
	v, stored := changes(t, schema, schema.Empty(), c.Put(given))
	shared := c.Get(v)
	assert.Same(t, given.Client, shared.Client)
	assert.NotNil(t, shared.Done)
	got := c.Get(replayed(t, schema, nil, stored...))
	assert.Equal(t, "n", got.Name)
	assert.Nil(t, got.Client)
}

type ring struct {
	Next *ring          `json:"next"`
	Any  map[string]any `json:"any"`
}

func TestPutPanicsForAValueThatRefersToItself(t *testing.T) {
	t.Parallel()
	c := state.Last[*ring]("c")
	schemaOf(t, c)
	pointer := &ring{}
	pointer.Next = pointer
	table := &ring{Any: map[string]any{}}
	table.Any["self"] = []any{table.Any}
	for name, r := range map[string]*ring{"pointer": pointer, "map": table} {
		assert.PanicsWithError(t, "state: a value refers to itself, or has more than 10000 levels of references", func() { c.Put(r) }, name)
	}
}

// TestTooDeeplyNestedValueIsAnError proves that a value is rejected if it is nested too
// deeply for encoding/json to read it back.
func TestTooDeeplyNestedValueIsAnError(t *testing.T) {
	t.Parallel()
	type tree struct {
		Kids []tree `json:"kids,omitempty"`
	}
	c := state.Last[tree]("c")
	schema := schemaOf(t, c)
	grow := func(levels int) (root tree) {
		for range levels {
			root = tree{Kids: []tree{root}}
		}
		return root
	}
	_, _, err := tryChanges(schema, schema.Empty(), c.Put(grow(6_000)))
	channelErr(t, err, "c", state.ErrRoundTrip)
	_, stored := changes(t, schema, schema.Empty(), c.Put(grow(4_000)))
	replayed(t, schema, nil, stored...)
}

func TestPanicInCloneIsAnErrorOfTheChannel(t *testing.T) {
	t.Parallel()
	c := state.NewChannel("c", func(current, update panicky) (panicky, error) { return update, nil })
	schema := schemaOf(t, c)
	w, err := schema.DecodeWrite("c", statecore.KindUpdate, []byte(`[{"n":1}]`))
	require.NoError(t, err)
	_, err = step(schema, schema.Empty(), true, []state.Write{{Write: w}})
	channelErr(t, err, "c", nil)
	assert.NotErrorIs(t, err, state.ErrStored)
}

type panicky struct {
	N int `json:"n"`
}

func (panicky) Clone() panicky { panic("no copies") }
