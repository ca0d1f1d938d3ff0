package state_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

type (
	id    string
	level int8
	flags uint16
)

// String has no effect on the stored form.
func (level) String() string { return "a level" }

// color has methods for a text form.
type color uint8

func (c color) MarshalText() ([]byte, error) {
	if int(c) >= len(colors) {
		return nil, errors.New("no such color")
	}
	return []byte(colors[c]), nil
}

func (c *color) UnmarshalText(text []byte) error {
	for i, name := range colors {
		if name == string(text) {
			*c = color(i)
			return nil
		}
	}
	return errors.New("no such color")
}

var colors = []string{"red", "green", "blue"}

// shout is a string that is encoded with a leading exclamation mark.
type shout string

func (s shout) MarshalText() ([]byte, error)     { return []byte("!" + string(s)), nil }
func (s *shout) UnmarshalText(text []byte) error { *s = shout(text[1:]); return nil }

// celsius has an unexported field, and pointer methods for JSON.
type celsius struct{ degrees int }

func (c *celsius) MarshalJSON() ([]byte, error) { return json.Marshal(c.degrees) }
func (c *celsius) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &c.degrees)
}

type Named struct {
	ID   string `json:"id"`
	Rank *int   `json:"rank"`
}

type lower struct {
	Depth int `json:"depth"`
}

type nested struct {
	Named
	lower
	Inner struct {
		A []int           `json:"a"`
		M map[int]*nested `json:"m"`
	} `json:"inner"`
	Text    id            `json:"text"`
	Level   level         `json:"level"`
	Color   color         `json:"color"`
	Temp    celsius       `json:"temp"`
	Temps   []celsius     `json:"temps"`
	Pointed *celsius      `json:"pointed"`
	At      time.Time     `json:"at"`
	For     time.Duration `json:"for"`
	Quoted  int64         `json:"quoted,string"`
	Skipped string        `json:"-"`
	_       struct{}
	Plain   float32
	Dash    bool `json:"-,"` //nolint:staticcheck // a field may have the name "-"
}

var (
	zone    = time.FixedZone("", -5*3600-30*60)
	instant = time.Date(2026, 2, 28, 23, 59, 59, 123456789, zone)
)

// trip stores a value in several ways. It returns the value before storage, and then the
// values that it read back.
func trip[T any](tb testing.TB, v T) []T {
	tb.Helper()
	out, err := tryTrip(v)
	require.NoError(tb, err, "%#v", v)
	return out
}

func tryTrip[T any](v T) ([]T, error) {
	last, list, table := state.Last[T]("c"), state.Append[T]("l"), state.Map[string, T]("m")
	schema, err := statecore.NewSchema[state.Handle](last, list)
	if err != nil {
		return nil, err
	}
	var out []T
	next, stored, err := tryChanges(schema, schema.Empty(), last.Put(v), list.Put(v, v))
	if err != nil {
		return nil, err
	}
	r := schema.Replay(nil)
	for _, c := range stored {
		if err := r.Apply(c.channel, c.kind, []byte(c.data)); err != nil {
			return nil, err
		}
	}
	back := r.View()
	out = append(out, last.Get(next), last.Get(back))
	out = append(out, list.Get(back)...)
	for _, w := range []state.Write{last.Put(v), last.Overwrite(v)} {
		k, data, _, err := schema.EncodeWrite(w.Core())
		if err != nil {
			return nil, err
		}
		stored, err := schema.DecodeWrite("c", k, data)
		if err != nil {
			return nil, err
		}
		if back, err = step(schema, schema.Empty(), true, []state.Write{{Write: stored}}); err != nil {
			return nil, err
		}
		out = append(out, last.Get(back))
	}
	// A map cannot hold values whose JSON methods have pointer receivers.
	if schema, err := statecore.NewSchema[state.Handle](table); err == nil {
		if _, stored, err = tryChanges(schema, schema.Empty(), table.Put(map[string]T{"k": v})); err != nil {
			return nil, err
		}
		r := schema.Replay(nil)
		if err := r.Apply("m", stored[0].kind, []byte(stored[0].data)); err != nil {
			return nil, err
		}
		out = append(out, table.Get(r.View())["k"])
	}
	return out, nil
}

func roundTrip[T any](v T) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for i, got := range trip(t, v) {
			assert.Equal(t, v, got, "way %d", i)
		}
	}
}

// floatTrip is like roundTrip, but compares the bits of floats, since -0 equals 0.
func floatTrip(v float64) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for i, got := range trip(t, v) {
			assert.Equal(t, math.Float64bits(v), math.Float64bits(got), "way %d", i)
		}
	}
}

func TestStorageRestoresValuesUnchanged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"int64 2^53+1":        roundTrip(int64(1<<53 + 1)),
		"int64 min":           roundTrip(int64(math.MinInt64)),
		"int64 max":           roundTrip(int64(math.MaxInt64)),
		"uint64 max":          roundTrip(uint64(math.MaxUint64)),
		"int8 min":            roundTrip(int8(-128)),
		"uint8":               roundTrip(uint8(255)),
		"uintptr":             roundTrip(uintptr(9)),
		"int with String":     roundTrip(level(-3)),
		"uint kind":           roundTrip(flags(65535)),
		"int with text":       roundTrip(color(2)),
		"duration":            roundTrip(time.Duration(1<<62 + 1)),
		"bool":                roundTrip(true),
		"float smallest":      floatTrip(math.SmallestNonzeroFloat64),
		"float max":           floatTrip(-math.MaxFloat64),
		"float -0":            floatTrip(math.Copysign(0, -1)),
		"float 0.1":           floatTrip(0.1),
		"float 2^53":          floatTrip(1 << 53),
		"float 1e21":          floatTrip(1e21),
		"float32":             roundTrip(float32(math.MaxFloat32)),
		"empty string":        roundTrip(""),
		"NUL":                 roundTrip("a\x00b"),
		"every control":       roundTrip("\x01\x02\x07\b\t\n\v\f\r\x1f\x7f"),
		"escapes":             roundTrip(`"\/` + "\u2028\u2029"),
		"HTML":                roundTrip("<a href='x'>&amp;</a>"),
		"U+FFFD itself":       roundTrip("\ufffd"),
		"the escape of it":    roundTrip(`\ufffd \\ufffd`),
		"a surrogate as text": roundTrip(`\ud800`),
		"beyond the BMP":      roundTrip("𝄞 é 漢"),
		"named string":        roundTrip(id("\"a\n<é>\"")),
		"named string, plain": roundTrip(id("plain é")),
		"named strings":       roundTrip([]id{"a", "", "\x00"}),
		"string with text":    roundTrip(shout("hey")),
		"text in a struct":    roundTrip(struct{ A, B string }{"<\ufffd>\u2028", "\x00"}),
		"bytes":               roundTrip([]byte{0, 255, '"'}),
		"bytes nil":           roundTrip([]byte(nil)),
		"bytes empty":         roundTrip([]byte{}),
		"raw":                 roundTrip(json.RawMessage(`{"b":[1.0,"<\ufffd\ud800>"],"a":12345678901234567890}`)),
		"raw null":            roundTrip(json.RawMessage(`null`)),
		"number":              roundTrip(json.Number("12345678901234567890.10")),
		"array":               roundTrip([3]int{1, 2, 3}),
		"slice nil":           roundTrip([]int(nil)),
		"slice empty":         roundTrip([]int{}),
		"map nil":             roundTrip(map[string]int(nil)),
		"map empty":           roundTrip(map[string]int{}),
		"map of ints":         roundTrip(map[int64]string{math.MinInt64: "a", 1<<53 + 1: "b"}),
		"map of uints":        roundTrip(map[flags]bool{0: true}),
		"map of named":        roundTrip(map[id]id{"<\x00>": "v", "": "e"}),
		"map by text":         roundTrip(map[color]int{1: 1, 2: 2}),
		"map of maps":         roundTrip(map[string]map[string][]int{"a": nil, "b": {"c": nil, "d": {}}}),
		"pointer nil":         roundTrip((*int)(nil)),
		"pointer":             roundTrip(ref(7)),
		"pointer to pointer":  roundTrip(ref(ref(7))),
		"pointers":            roundTrip([]*string{nil, ref(""), ref("a")}),
		"empty struct":        roundTrip(struct{}{}),
		"addr":                roundTrip(netip.MustParseAddr("fe80::1%eth0")),
		"addr zero":           roundTrip(netip.Addr{}),
		"ip":                  roundTrip(net.ParseIP("10.0.0.1")),
		"big":                 roundTrip(new(big.Int).Lsh(big.NewInt(1), 200)),
		"time UTC":            roundTrip(time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)),
		"time zero":           roundTrip(time.Time{}),
		"any nil":             roundTrip(any(nil)),
		"any": roundTrip(any(map[string]any{
			"s": "x", "f": 1.5, "b": true, "n": nil, "l": []any{}, "m": map[string]any{}, "deep": []any{[]any{"\x00"}},
		})),
		"anys":              roundTrip([]any{nil, 1.0, "a"}),
		"hooks on pointers": roundTrip(celsius{21}),
		"pointers to them":  roundTrip([]*celsius{{3}, nil}),
		"them in a map":     roundTrip(map[string]*celsius{"a": {3}}),
		"them in an array":  roundTrip([]([1]celsius){{{3}}}),
		"omitted":           roundTrip(omitting{}),
		"not omitted":       roundTrip(omitting{A: ref(0), B: ref(""), C: []int{0}, D: map[string]int{"": 0}, E: json.RawMessage("0"), F: "0"}),
	} {
		t.Run(name, test)
	}
}

type omitting struct {
	A *int            `json:"a,omitempty"`
	B *string         `json:"b,omitzero"`
	C []int           `json:"c,omitempty"`
	D map[string]int  `json:"d,omitempty"`
	E json.RawMessage `json:"e,omitempty"`
	F json.Number     `json:"f,omitempty"`
	G time.Time       `json:"g,omitzero"`
}

func TestStorageRestoresNestedValuesUnchanged(t *testing.T) {
	t.Parallel()
	v := nested{Named: Named{"n", ref(3)}, lower: lower{4}, Text: "<t>", Level: -1, Color: 1, Temp: celsius{-40}, Temps: []celsius{{1}}, Pointed: &celsius{2}, At: instant, For: 5, Quoted: 1<<53 + 1, Plain: 0.1, Dash: true}
	v.Inner.A = []int{}
	v.Inner.M = map[int]*nested{-1: nil, 2: {Text: "inner"}}
	want := v
	v.Skipped = "kept in memory, and not stored"
	for i, got := range trip(t, v) {
		if i == 0 {
			assert.Equal(t, v.Skipped, got.Skipped)
			got.Skipped = ""
		}
		assert.True(t, got.At.Equal(want.At), "way %d", i)
		got.At = want.At
		require.NotNil(t, got.Inner.M[2], "way %d", i)
		got.Inner.M[2].At, want.Inner.M[2].At = time.Time{}, time.Time{}
		assert.Equal(t, want, got, "way %d", i)
	}
}

func TestStorageKeepsInstantAndOffsetOfTimes(t *testing.T) {
	t.Parallel()
	for _, want := range []time.Time{instant, time.Now(), time.Date(0, 1, 1, 0, 0, 0, 0, zone), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)} {
		for i, got := range trip(t, want) {
			_, a := got.Zone()
			_, b := want.Zone()
			assert.True(t, got.Equal(want), "way %d", i)
			assert.Equal(t, b, a, "way %d", i)
		}
	}
}

func TestStoredJSONOfValues(t *testing.T) {
	t.Parallel()
	text := func(v any, err error) func(want string) func(*testing.T) {
		return func(want string) func(*testing.T) {
			return func(t *testing.T) {
				t.Parallel()
				assert.NoError(t, err)
				assert.Equal(t, want, v)
			}
		}
	}
	for name, test := range map[string]func(*testing.T){
		"HTML":      text(textOf("<&>"))(`"<&>"`),
		"in struct": text(textOf(struct{ A string }{"<&>"}))(`{"A":"<&>"}`),
		"level":     text(textOf(level(3)))(`3`),
		"color":     text(textOf(color(1)))(`"green"`),
		"shout":     text(textOf(shout("x")))(`"!x"`),
		"celsius":   text(textOf(celsius{3}))(`3`),
		"controls":  text(textOf("\x00\b\f\n\r\t\x1f\x7f\"\\/\u2028\u2029"))(`"\u0000\b\f\n\r\t\u001f` + "\x7f" + `\"\\/\u2028\u2029"`),
		"raw":       text(textOf(json.RawMessage(`{ "a" : "\ufffd" }`)))(`{"a":"\ufffd"}`),
	} {
		t.Run(name, test)
	}
}

func textOf[T any](v T) (any, error) {
	c := state.Last[T]("c")
	schema, err := statecore.NewSchema[state.Handle](c)
	if err != nil {
		return nil, err
	}
	_, stored, err := tryChanges(schema, schema.Empty(), c.Put(v))
	if err != nil {
		return nil, err
	}
	return stored[0].data, nil
}
