package state_test

import (
	"encoding/json"
	"math"
	"math/big"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// rejected returns a test that v cannot be stored, and that the error contains the texts.
func rejected[T any](v T, text ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for _, values := range [][]T{{v}, {v, v}} {
			last, list := state.Last[T]("c"), state.Append[T]("c")
			schema := schemaOf(t, last)
			_, _, err := tryChanges(schema, schema.Empty(), last.Put(v))
			checkRejection(t, err, text)
			_, _, _, err = schema.EncodeWrite(last.Put(v).Core())
			checkRejection(t, err, text)
			checkRejection(t, schema.Snapshot(commit(t, schema, schema.Empty(), last.Put(v)), 0, func(string, statecore.Kind, []byte) {}), text)
			schema = schemaOf(t, list)
			_, _, err = tryChanges(schema, schema.Empty(), list.Put(values...))
			checkRejection(t, err, text)
			if len(values) > 1 {
				assert.ErrorContains(t, err, "element 0")
			}
		}
	}
}

func checkRejection(t *testing.T, err error, text []string) {
	t.Helper()
	channelErr(t, err, "c", state.ErrRoundTrip)
	for _, text := range text {
		assert.Contains(t, err.Error(), text)
	}
}

const bad = "a\xffb"

type raws struct {
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// TestValuesThatStorageWouldChangeAreErrors proves that a value of a valid type is rejected
// if JSON does not preserve the value.
func TestValuesThatStorageWouldChangeAreErrors(t *testing.T) {
	t.Parallel()
	amsterdam := time.FixedZone("LMT", 19*60+32)
	type open struct {
		A map[string][]any `json:"a"`
	}
	for name, test := range map[string]func(*testing.T){
		"NaN":                       rejected(math.NaN(), "NaN"),
		"Inf in a struct":           rejected(struct{ F float64 }{math.Inf(-1)}, "Inf"),
		"NaN in an any":             rejected(any(math.NaN()), "NaN"),
		"bad UTF-8":                 rejected(bad, "UTF-8"),
		"bad UTF-8, named":          rejected(id(bad), "UTF-8"),
		"a surrogate's bytes":       rejected("\xed\xa0\x80", "UTF-8"),
		"cut short":                 rejected("é"[:1], "UTF-8"),
		"bad UTF-8 in a struct":     rejected(struct{ A string }{bad}, "UTF-8"),
		"bad UTF-8 as a key":        rejected(map[string]int{bad: 1}, "UTF-8"),
		"bad UTF-8 in an any":       rejected(any([]any{bad}), "UTF-8"),
		"bad UTF-8 with raw beside": rejected(raws{bad, json.RawMessage(`"\ufffd"`)}, ".Text", "UTF-8"),
		"bad UTF-8 in raw":          rejected(raws{"", json.RawMessage("\"\xff\"")}, "UTF-8"),
		"bad UTF-8, quoted": rejected(struct {
			A *string `json:",string"`
		}{ref(bad)}, ".A", "UTF-8"),
		"bad UTF-8 with hooks":  rejected(opaqueText{bad}, "UTF-8"),
		"bad raw":               rejected(json.RawMessage(`{`), "JSON"),
		"empty raw":             rejected(json.RawMessage{}, "JSON"),
		"nil raw":               rejected(json.RawMessage(nil), "nil json.RawMessage", "omitempty"),
		"nil raw in a map":      rejected(map[string]json.RawMessage{"k": nil}, "[k]"),
		"empty number":          rejected([]json.Number{"1", ""}, "[1]", "json.Number"),
		"bad number":            rejected(json.Number("x"), "x"),
		"a pointer to nil":      rejected(ref((*int)(nil)), "nil"),
		"a pointer to no slice": rejected(ref([]int(nil)), "nil"),
		"a pointer to null":     rejected(ref(json.RawMessage(" null ")), "nil"),
		"a pointer to no any":   rejected(struct{ P *any }{new(any)}, ".P", "nil"),
		"year 10000":            rejected(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "year"),
		"seconds of offset":     rejected(struct{ At []time.Time }{[]time.Time{time.Date(1900, 1, 1, 0, 0, 0, 0, amsterdam)}}, ".At[0]", "offset"),
		"any of int":            rejected(any(1), "int", "any"),
		"any of int64, deep":    rejected(open{map[string][]any{"k": {"ok", 1.0, int64(1)}}}, ".A[k][2]", "int64"),
		"any of a named string": rejected(any(id("x")), "state_test.id"),
		"any of a struct":       rejected([]any{struct{}{}}, "[0]", "struct"),
		"any of a nil map":      rejected(any(map[string]any(nil)), "map"),
		"any of a nil slice":    rejected(any([]any(nil)), "[]interface"),
		"any of strings":        rejected(map[string]any{"k": []string{"a"}}, "[k]", "[]string"),
		"any of a time":         rejected(any(time.Now()), "time.Time"),
		"any of bytes":          rejected(any([]byte("x")), "uint8"),
		"any of a number":       rejected(any(json.Number("1")), "json.Number"),
		"any of a pointer":      rejected(any(ref("x")), "*string"),
		"a hook's error":        rejected(color(9), "no such color"),
		"a hook's panic":        rejected((&thrower{}).self(), "panicked"),
	} {
		t.Run(name, test)
	}
}

type thrower struct{ N int }

func (t *thrower) self() thrower               { return *t }
func (t thrower) MarshalJSON() ([]byte, error) { panic("thrown") }
func (t *thrower) UnmarshalJSON([]byte) error  { return nil }

// opaqueText has methods for JSON and no exported fields.
type opaqueText struct{ text string }

func (o opaqueText) MarshalJSON() ([]byte, error)     { return json.Marshal(o.text) }
func (o *opaqueText) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.text) }

// blind has a method that writes JSON, but no method that reads it.
type blind struct{ N int }

func (blind) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type blindText struct{ N int }

func (blindText) MarshalText() ([]byte, error) { return []byte("1"), nil }

type secretive struct {
	Open   int `json:"open"`
	secret int //nolint:unused // the test is about unexported fields
}

type withCache struct {
	N     int            `json:"n"`
	cache map[string]int `json:"-"` //nolint:unused // the test is about unexported fields
}

type withScratch struct {
	N       int    `json:"n"`
	scratch [4]int `json:"-"` //nolint:unused // the test is about unexported fields
}

// Selfish embeds its own type.
type Selfish struct {
	*Selfish
	N int
}

// Mutual embeds its own type through Other.
type Mutual struct {
	*Other
	N int
}

type Other struct{ *Mutual }

type stringer interface{ String() string }

// rejectedType returns a test that NewSchema rejects the type T, and that the error contains
// the texts.
func rejectedType[T any](text ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for _, c := range []state.Handle{state.Last[T]("c"), state.Append[T]("c"), state.Map[string, T]("c"), state.NewChannel("c", func(n int, _ T) (int, error) { return n, nil })} {
			_, err := statecore.NewSchema[state.Handle](c)
			checkRejection(t, err, text)
		}
		schemaOf(t, state.Untracked[T]("c"))
	}
}

func TestTypesThatCannotBeStoredAreErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"chan":             rejectedType[chan int]("chan int", "Untracked"),
		"func in a slice":  rejectedType[[]func()]("[]func()[]"),
		"complex":          rejectedType[struct{ C complex128 }](".C"),
		"interface":        rejectedType[stringer]("interface"),
		"error":            rejectedType[struct{ Err error }](".Err", "interface"),
		"unexported":       rejectedType[secretive](".secret", "not exported"),
		"unexported, deep": rejectedType[map[string][]*struct{ In secretive }]("[][].In.secret"),
		"writes only":      rejectedType[blind]("not the method that reads it back"),
		"writes text only": rejectedType[[]blindText]("not the method that reads it back"),
		"keys of struct":   rejectedType[map[struct{ A int }]int]("keys"),
		"keys of float":    rejectedType[map[float64]int]("keys"),
		"keys of any":      rejectedType[map[any]int]("keys"),
		"keys of time":     rejectedType[map[time.Time]int]("keys", ".loc"),
		"keys write only":  rejectedType[map[blindText]int]("keys"),
		"pointer hooks":    rejectedType[map[string]celsius]("map of pointers"),
		"pointer hooks in": rejectedType[map[string][2]struct{ C celsius }]("[].C", "map of pointers"),
		"one name twice": rejectedType[struct {
			A int `json:"B"`
			B int
		}](".A", ".B", `"B"`),
		"hidden by embed": rejectedType[struct {
			Named
			ID int `json:"id"`
		}](".Named.ID", "lost"),
		"ambiguous": rejectedType[struct {
			Named
			Other struct{ A int }
			*lowerNamed
		}]("lowerNamed"),
		"embedded pointer":  rejectedType[struct{ *lower }](".lower", "not exported"),
		"embedded type":     rejectedType[struct{ id }](".id", "not exported"),
		"embeds itself":     rejectedType[Selfish](".Selfish", "embeds its own type"),
		"embeds each other": rejectedType[Mutual](".Other", "embeds its own type"),
		"embeds hooks": rejectedType[struct {
			time.Time
			big.Int
		}](".Time", "give the field a name"),
		"uncopyable":       rejectedType[withCache]("Clone", "withCache"),
		"a recursive chan": rejectedType[*loop](".C"),
	} {
		t.Run(name, test)
	}
	schemaOf(t, state.Last[withScratch]("c"))
}

type lowerNamed struct{ ID string }

type loop struct {
	Next *loop
	C    chan int
}

// TestKeysComparedByAddressAreErrors proves that a graph rejects a type of keys or elements
// if a value and its stored copy would not be equal under ==.
func TestKeysComparedByAddressAreErrors(t *testing.T) {
	t.Parallel()
	type partly struct {
		A int
		B int `json:"-"`
	}
	for name, c := range map[string]state.Handle{
		"pointer":          state.Set[*int]("c"),
		"time":             state.Set[time.Time]("c"),
		"a field":          state.Set[struct{ P [1]*int }]("c"),
		"not stored":       state.Set[[1]partly]("c"),
		"keys of pointers": state.Map[keyed, int]("c"),
	} {
		_, err := statecore.NewSchema[state.Handle](c)
		if err == nil {
			assert.Fail(t, "accepted", name)
			continue
		}
		channelErr(t, err, "c", state.ErrRoundTrip)
	}
	schemaOf(t, state.Set[netip.Addr]("a"), state.Set[any]("b"), state.Set[struct{ A string }]("c"), state.Map[netip.Addr, int]("d"))
}

// keyed has methods for a text form. Go's == compares its values by address.
type keyed struct {
	p *int //nolint:unused // the test is about unexported fields
}

func (k keyed) MarshalText() ([]byte, error)  { return []byte("k"), nil }
func (k *keyed) UnmarshalText(_ []byte) error { return nil }

func TestSetOfAnyChecksEachElement(t *testing.T) {
	t.Parallel()
	c := state.Set[any]("c")
	schema := schemaOf(t, c)
	v, stored := changes(t, schema, schema.Empty(), c.Put("a", 1.0, true, nil, "a"))
	for _, v := range []state.View{v, replayed(t, schema, nil, stored...)} {
		assert.Equal(t, []any{"a", 1.0, true, nil}, c.Get(v))
		assert.True(t, c.Has(v, 1.0))
	}
	_, _, err := tryChanges(schema, v, c.Put(1))
	channelErr(t, err, "c", state.ErrRoundTrip)
	_, err = step(schema, v, true, []state.Write{c.Put([]any{}, []any{})})
	channelErr(t, err, "c", nil) // == panics for slices
}

// secretKey holds its id in a field that is not stored.
type secretKey struct {
	Key  string `json:"-"`
	Text string `json:"text"`
}

type bySecret struct{}

func (bySecret) ID(e secretKey) string                   { return e.Key }
func (bySecret) WithID(e secretKey, id string) secretKey { e.Key = id; return e }

func TestKeyThatIsNotStoredIsAnErrorOfTheWrite(t *testing.T) {
	t.Parallel()
	c := state.Keyed("c", bySecret{})
	schema := schemaOf(t, c)
	_, _, err := tryChanges(schema, schema.Empty(), c.Put(secretKey{Text: "a"}))
	channelErr(t, err, "c", state.ErrRoundTrip)
}

// TestRawJSONWithEscapesIsStored proves that raw JSON may contain the escape \ufffd. In other
// JSON, the escape shows invalid UTF-8.
func TestRawJSONWithEscapesIsStored(t *testing.T) {
	t.Parallel()
	for _, v := range []raws{
		{"fine \ufffd", json.RawMessage(`"\ufffd"`)},
		{`\ufffd`, json.RawMessage(`{"a":"\ud800 \ufffd"}`)},
	} {
		roundTripNow(t, v)
	}
	got := trip(t, json.RawMessage(" { \"a\" :\n1 } "))
	assert.Equal(t, `{"a":1}`, string(got[1]))
	roundTripNow(t, opaqueRaw{raws{"x", json.RawMessage(`"\ufffd"`)}})
}

// opaqueRaw has methods for JSON. The output of its MarshalJSON contains raw JSON.
type opaqueRaw struct{ Raws raws }

func (o opaqueRaw) MarshalJSON() ([]byte, error)     { return json.Marshal([]any{o.Raws}) }
func (o *opaqueRaw) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &[]any{&o.Raws}) }

func TestOmitemptyMakesEmptyValuesNil(t *testing.T) {
	t.Parallel()
	for i, got := range trip(t, omitting{C: []int{}, D: map[string]int{}}) {
		stored := i > 0 // the first result is the value before storage
		assert.Equal(t, stored, got.C == nil, "way %d", i)
		assert.Equal(t, stored, got.D == nil, "way %d", i)
	}
}

// TestInvalidUTF8IsReportedWithItsPath proves that the error has the path of the invalid
// string, even if valid raw JSON in the same value contains the escape \ufffd.
func TestInvalidUTF8IsReportedWithItsPath(t *testing.T) {
	t.Parallel()
	type places struct {
		Raw     json.RawMessage
		Slice   [][1]string
		Map     map[string]map[string]string
		Pointer **string
		Any     any
		Bytes   []byte
		Skipped string `json:"-"`
		Self    *places
	}
	raw := json.RawMessage(`"\ufffd"`)
	text := ref(bad)
	for name, test := range map[string]func(*testing.T){
		".Slice[1][0]": rejected(places{Raw: raw, Slice: [][1]string{{"ok"}, {bad}}}, ".Slice[1][0]", "UTF-8"),
		".Map[k][l]":   rejected(places{Raw: raw, Map: map[string]map[string]string{"k": {"l": bad}}}, ".Map[k][l]", "UTF-8"),
		"a key":        rejected(places{Raw: raw, Map: map[string]map[string]string{bad: nil}}, ".Map["+bad+"]", "UTF-8"),
		".Pointer":     rejected(places{Raw: raw, Pointer: &text}, ".Pointer", "UTF-8"),
		".Any[0]":      rejected(places{Raw: raw, Any: []any{bad}}, ".Any[0]", "UTF-8"),
		".Self.Self":   rejected(places{Raw: raw, Self: &places{Raw: raw, Self: &places{Raw: raw, Any: bad}}}, ".Self.Self.Any", "UTF-8"),
		"nowhere":      roundTrip(places{Raw: raw, Bytes: []byte(bad), Map: map[string]map[string]string{"k": {"l": "v"}}, Slice: [][1]string{{"\ufffd"}}}),
	} {
		t.Run(name, test)
	}
	c := state.Last[places]("c")
	schema := schemaOf(t, c)
	_, _, err := tryChanges(schema, schema.Empty(), c.Put(places{Raw: raw, Skipped: bad}))
	assert.NoError(t, err)
}

func TestInvalidUTF8InKeysIsAnError(t *testing.T) {
	t.Parallel()
	entries, set := state.Map[string, int]("c"), state.Set[string]("s")
	schema := schemaOf(t, entries, set)
	for _, w := range []state.Write{entries.Put(map[string]int{bad: 1}), entries.Remove(bad), set.Put(bad), set.Remove(bad)} {
		_, _, _, err := schema.EncodeWrite(w.Core())
		channelErr(t, err, w.Channel(), state.ErrRoundTrip)
		_, _, err = tryChanges(schema, schema.Empty(), w)
		channelErr(t, err, w.Channel(), state.ErrRoundTrip)
	}
}

func TestTypesThatContainLocksAreErrors(t *testing.T) {
	t.Parallel()
	type guarded struct {
		N  int         `json:"n"`
		Mu *sync.Mutex `json:"-"`
	}
	for name, c := range map[string]state.Handle{
		"exported": state.Last[struct {
			N  int
			Mu sync.Mutex `json:"-"`
		}]("c"),
		"not exported": state.Last[lockedUp]("c"),
		"embedded": state.Last[struct {
			sync.Mutex `json:"-"`
		}]("c"),
		"in an array": state.Last[lockedArray]("c"),
	} {
		_, err := statecore.NewSchema[state.Handle](c)
		if err == nil {
			assert.Fail(t, "accepted", name)
			continue
		}
		checkRejection(t, err, []string{"lock", "Clone"})
	}
	c := state.Last[guarded]("c")
	schema := schemaOf(t, c)
	mu := &sync.Mutex{}
	assert.Same(t, mu, c.Get(commit(t, schema, schema.Empty(), c.Put(guarded{1, mu}))).Mu)
}

type lockedUp struct {
	N  int
	mu sync.RWMutex `json:"-"` //nolint:unused // the test is about unexported fields
}

type lockedArray struct {
	N  int
	mu [1]struct{ v atomic.Int64 } `json:"-"` //nolint:unused // the test is about unexported fields
}
