package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-go/weft/state"
)

type (
	id    string
	level int8
	flags uint16
)

// String has no say in how a level is stored.
func (level) String() string { return "a level" }

// color writes itself as text.
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

// shout is a string that writes itself.
type shout string

func (s shout) MarshalText() ([]byte, error)     { return []byte("!" + string(s)), nil }
func (s *shout) UnmarshalText(text []byte) error { *s = shout(text[1:]); return nil }

// celsius has its hooks on the pointer, and a field that only they can see.
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
	Dash    bool `json:"-,"` //nolint:staticcheck // a field may be called so
}

var (
	zone    = time.FixedZone("", -5*3600-30*60)
	instant = time.Date(2026, 2, 28, 23, 59, 59, 123456789, zone)
)

// trip stores a value in all ways and hands on what was read back.
func trip[T any](tb testing.TB, v T) []T {
	tb.Helper()
	out, err := tryTrip(v)
	if err != nil {
		tb.Fatalf("%#v: %v", v, err)
	}
	return out
}

func tryTrip[T any](v T) ([]T, error) {
	last, list, table := state.Last[T]("c"), state.Append[T]("l"), state.Map[string, T]("m")
	schema, err := state.NewSchema(last, list)
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
		k, data, _, err := schema.EncodeWrite(w)
		if err != nil {
			return nil, err
		}
		if w, err = schema.DecodeWrite("c", k, data); err != nil {
			return nil, err
		}
		if back, err = step(schema, schema.Empty(), true, []state.Write{w}); err != nil {
			return nil, err
		}
		out = append(out, last.Get(back))
	}
	// A map is refused where a value has hooks on its pointer only.
	if schema, err := state.NewSchema(table); err == nil {
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
			if !reflect.DeepEqual(got, v) {
				t.Errorf("way %d: got %#v, want %#v", i, got, v)
			}
		}
	}
}

// floats are compared by their bits, so that -0 is told from 0.
func floatTrip(v float64) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for i, got := range trip(t, v) {
			if math.Float64bits(got) != math.Float64bits(v) {
				t.Errorf("way %d: got %v, want %v", i, got, v)
			}
		}
	}
}

// TestRoundTrip has values that come back as they were.
func TestRoundTrip(t *testing.T) {
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

func TestRoundTripNested(t *testing.T) {
	t.Parallel()
	v := nested{Named: Named{"n", ref(3)}, lower: lower{4}, Text: "<t>", Level: -1, Color: 1, Temp: celsius{-40}, Temps: []celsius{{1}}, Pointed: &celsius{2}, At: instant, For: 5, Quoted: 1<<53 + 1, Plain: 0.1, Dash: true}
	v.Inner.A = []int{}
	v.Inner.M = map[int]*nested{-1: nil, 2: {Text: "inner"}}
	want := v
	v.Skipped = "kept in memory, and not stored"
	for i, got := range trip(t, v) {
		if i == 0 {
			if got.Skipped != v.Skipped {
				t.Errorf("the state lost %q", v.Skipped)
			}
			got.Skipped = ""
		}
		if !got.At.Equal(want.At) {
			t.Errorf("way %d: got time %v, want %v", i, got.At, want.At)
		}
		if got.At = want.At; got.Inner.M[2] == nil {
			t.Fatalf("way %d: got %+v", i, got)
		}
		got.Inner.M[2].At, want.Inner.M[2].At = time.Time{}, time.Time{}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("way %d: got %+v, want %+v", i, got, want)
		}
	}
}

func TestRoundTripTime(t *testing.T) {
	t.Parallel()
	for _, want := range []time.Time{instant, time.Now(), time.Date(0, 1, 1, 0, 0, 0, 0, zone), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)} {
		for i, got := range trip(t, want) {
			_, a := got.Zone()
			_, b := want.Zone()
			if !got.Equal(want) || a != b {
				t.Errorf("way %d: got %v, want %v", i, got, want)
			}
		}
	}
}

// TestStoredText has values whose text is known.
func TestStoredText(t *testing.T) {
	t.Parallel()
	text := func(v any, err error) func(want string) func(*testing.T) {
		return func(want string) func(*testing.T) {
			return func(t *testing.T) {
				t.Parallel()
				if err != nil || v != want {
					t.Errorf("got %v, %v, want %s", v, err, want)
				}
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
	schema, err := state.NewSchema(c)
	if err != nil {
		return nil, err
	}
	_, stored, err := tryChanges(schema, schema.Empty(), c.Put(v))
	if err != nil {
		return nil, err
	}
	return stored[0].data, nil
}

// refused is a value that is not stored, and says why.
func refused[T any](v T, text ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for _, values := range [][]T{{v}, {v, v}} {
			last, list := state.Last[T]("c"), state.Append[T]("c")
			schema := schemaOf(t, last)
			_, _, err := tryChanges(schema, schema.Empty(), last.Put(v))
			refusal(t, err, text)
			_, _, _, err = schema.EncodeWrite(last.Put(v))
			refusal(t, err, text)
			refusal(t, schema.Snapshot(commit(t, schema, schema.Empty(), last.Put(v)), func(string, state.Kind, []byte) {}), text)
			schema = schemaOf(t, list)
			_, _, err = tryChanges(schema, schema.Empty(), list.Put(values...))
			refusal(t, err, text)
			if len(values) > 1 && !strings.Contains(err.Error(), "element 0") {
				t.Errorf("got %q, want to be told which element", err)
			}
		}
	}
}

func refusal(t *testing.T, err error, text []string) {
	t.Helper()
	channelErr(t, err, "c", state.ErrRoundTrip)
	for _, text := range text {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want %q in it", err, text)
		}
	}
}

const bad = "a\xffb"

type raws struct {
	Text string          `json:"text"`
	Raw  json.RawMessage `json:"raw,omitempty"`
}

// TestRefusedValues has values of good types that would not come back.
func TestRefusedValues(t *testing.T) {
	t.Parallel()
	amsterdam := time.FixedZone("LMT", 19*60+32)
	type open struct {
		A map[string][]any `json:"a"`
	}
	for name, test := range map[string]func(*testing.T){
		"NaN":                       refused(math.NaN(), "NaN"),
		"Inf in a struct":           refused(struct{ F float64 }{math.Inf(-1)}, "Inf"),
		"NaN in an any":             refused(any(math.NaN()), "NaN"),
		"bad UTF-8":                 refused(bad, "UTF-8"),
		"bad UTF-8, named":          refused(id(bad), "UTF-8"),
		"a surrogate's bytes":       refused("\xed\xa0\x80", "UTF-8"),
		"cut short":                 refused("é"[:1], "UTF-8"),
		"bad UTF-8 in a struct":     refused(struct{ A string }{bad}, "UTF-8"),
		"bad UTF-8 as a key":        refused(map[string]int{bad: 1}, "UTF-8"),
		"bad UTF-8 in an any":       refused(any([]any{bad}), "UTF-8"),
		"bad UTF-8 with raw beside": refused(raws{bad, json.RawMessage(`"\ufffd"`)}, ".Text", "UTF-8"),
		"bad UTF-8 in raw":          refused(raws{"", json.RawMessage("\"\xff\"")}, "UTF-8"),
		"bad UTF-8, quoted": refused(struct {
			A *string `json:",string"`
		}{ref(bad)}, ".A", "UTF-8"),
		"bad UTF-8 behind hooks": refused(opaqueText{bad}, "UTF-8"),
		"bad raw":                refused(json.RawMessage(`{`), "JSON"),
		"empty raw":              refused(json.RawMessage{}, "JSON"),
		"nil raw":                refused(json.RawMessage(nil), "nil json.RawMessage", "omitempty"),
		"nil raw in a map":       refused(map[string]json.RawMessage{"k": nil}, "[k]"),
		"empty number":           refused([]json.Number{"1", ""}, "[1]", "json.Number"),
		"bad number":             refused(json.Number("x"), "x"),
		"a pointer to nil":       refused(ref((*int)(nil)), "nil"),
		"a pointer to no slice":  refused(ref([]int(nil)), "nil"),
		"a pointer to null":      refused(ref(json.RawMessage(" null ")), "nil"),
		"a pointer to no any":    refused(struct{ P *any }{new(any)}, ".P", "nil"),
		"year 10000":             refused(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), "year"),
		"seconds of offset":      refused(struct{ At []time.Time }{[]time.Time{time.Date(1900, 1, 1, 0, 0, 0, 0, amsterdam)}}, ".At[0]", "offset"),
		"any of int":             refused(any(1), "int", "any"),
		"any of int64, deep":     refused(open{map[string][]any{"k": {"ok", 1.0, int64(1)}}}, ".A[k][2]", "int64"),
		"any of a named string":  refused(any(id("x")), "state_test.id"),
		"any of a struct":        refused([]any{struct{}{}}, "[0]", "struct"),
		"any of a nil map":       refused(any(map[string]any(nil)), "map"),
		"any of a nil slice":     refused(any([]any(nil)), "[]interface"),
		"any of strings":         refused(map[string]any{"k": []string{"a"}}, "[k]", "[]string"),
		"any of a time":          refused(any(time.Now()), "time.Time"),
		"any of bytes":           refused(any([]byte("x")), "uint8"),
		"any of a number":        refused(any(json.Number("1")), "json.Number"),
		"any of a pointer":       refused(any(ref("x")), "*string"),
		"a hook's error":         refused(color(9), "no such color"),
		"a hook's panic":         refused((&thrower{}).self(), "panicked"),
	} {
		t.Run(name, test)
	}
}

type thrower struct{ N int }

func (t *thrower) self() thrower               { return *t }
func (t thrower) MarshalJSON() ([]byte, error) { panic("thrown") }
func (t *thrower) UnmarshalJSON([]byte) error  { return nil }

// opaqueText shows nothing of itself but what it writes.
type opaqueText struct{ text string }

func (o opaqueText) MarshalJSON() ([]byte, error)     { return json.Marshal(o.text) }
func (o *opaqueText) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &o.text) }

// embedsTime is the trap of a promoted method: its JSON is only the time's.
type embedsTime struct {
	time.Time
	Name string
}

// forgetful leaves a field out.
type forgetful struct{ Kept, Lost string }

func (f forgetful) MarshalJSON() ([]byte, error)     { return json.Marshal(f.Kept) }
func (f *forgetful) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &f.Kept) }

// preset fills in what omitempty left out.
type preset struct {
	Count int `json:"count,omitempty"`
}

func (p *preset) UnmarshalJSON(data []byte) error {
	type alias preset
	a := alias{Count: 10}
	err := json.Unmarshal(data, &a)
	*p = preset(a)
	return err
}

// drifting is written as something else each time around.
type drifting struct{ n int }

func (d drifting) MarshalJSON() ([]byte, error) { return json.Marshal(d.n) }
func (d *drifting) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &d.n)
	d.n++
	return err
}

// picky does not read all that it writes.
type picky string

func (p picky) MarshalText() ([]byte, error) { return []byte(p), nil }
func (p *picky) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty")
	}
	*p = picky(text)
	return nil
}

// gone says that it is zero when it is not.
type gone struct{ N int }

func (g gone) IsZero() bool { return g.N < 10 }

// TestRefusedByReadingBack has types whose own code loses something: each value
// is read back, so the first good one does not vouch for the rest.
func TestRefusedByReadingBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ good, bad func(*testing.T) }{
		"a promoted method": {roundTrip(embedsTime{Time: instant.UTC()}), refused(embedsTime{instant, "lost"}, ".Name")},
		"a forgotten field": {roundTrip(forgetful{Kept: "k"}), refused(forgetful{"k", "l"}, ".Lost", "read back")},
		"a preset":          {roundTrip(preset{Count: 3}), refused(preset{}, ".Count")},
		"a preset, nested":  {roundTrip([]map[string]*preset{{"a": {Count: 3}}}), refused([]map[string]*preset{{"a": {}}}, "[0][a].Count")},
		"IsZero": {roundTrip(struct {
			G gone `json:",omitzero"`
		}{gone{10}}), refused(struct {
			G gone `json:",omitzero"`
		}{gone{9}}, ".G.N")},
		"text with a demand": {
			roundTrip(picky("x")), refused(picky(""), "not read back"),
		},
		"a map by text": {roundTrip(map[picky]int{"x": 1}), refused(map[picky]int{"": 1}, "empty")},
	} {
		t.Run(name+"/good", test.good)
		t.Run(name+"/bad", test.bad)
	}
	t.Run("drifting", refused(drifting{1}, "another"))
}

// album has all that can be read back as something else.
type album struct {
	Text   string
	Texts  [2]string
	Table  map[string]*album
	Any    any
	Raw    json.RawMessage
	At     time.Time
	IP     net.IP
	Pair   *[2]int8
	Opaque opaqueText
	Done   func()
	Self   *album
	Same   bool `json:"-"`
	hidden int
}

// tamper has what goes wrong when an album is read back, by what is to be found.
var tamper = map[string]func(*album){
	".Text":                  func(a *album) { a.Text += "!" },
	".Texts[1]":              func(a *album) { a.Texts[1] = "" },
	".Table[k].Text":         func(a *album) { a.Table["k"].Text = "" },
	".Table[k]":              func(a *album) { a.Table["k"] = nil },
	".Table":                 func(a *album) { a.Table["l"] = nil },
	".Table[z]":              func(a *album) { a.Table["y"] = a.Table["z"]; delete(a.Table, "z") },
	".Any":                   func(a *album) { a.Any = nil },
	".Any[1]":                func(a *album) { a.Any = []any{"x", 2.0} },
	".Raw":                   func(a *album) { a.Raw = json.RawMessage("[ 2 ]") },
	".At":                    func(a *album) { a.At = a.At.UTC() },
	".IP":                    func(a *album) { a.IP = nil },
	".Pair":                  func(a *album) { a.Pair = nil },
	".Pair[0]":               func(a *album) { a.Pair[0]++ },
	"nothing that is stored": func(a *album) { a.Same, a.hidden, a.Done = true, 1, func() {}; a.Raw = json.RawMessage("[1]") },
	"its JSON another":       func(a *album) { a.Opaque.text += "." },
}

// Clone leaves the album as it is, as one that holds itself cannot be followed.
func (a album) Clone() album { return a }

func (a album) MarshalJSON() ([]byte, error) {
	type plain album
	p := plain(a)
	p.Done, p.Self = nil, nil
	return json.Marshal(struct {
		plain
		Done, Self bool
	}{plain: p})
}

func (a *album) UnmarshalJSON(data []byte) error {
	type plain album
	var p struct {
		plain
		Done, Self bool
	}
	err := json.Unmarshal(data, &p)
	*a = album(p.plain)
	if change, ok := tamper[a.Texts[0]]; ok {
		change(a)
	}
	a.Self = a
	return err
}

// TestEveryDifferenceIsFound reads a value back with one thing changed.
func TestEveryDifferenceIsFound(t *testing.T) {
	t.Parallel()
	c := state.Last[album]("c")
	schema := schemaOf(t, c)
	for path := range tamper {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			a := album{
				Text: "t", Texts: [2]string{path, "x"}, Any: []any{"x", 1.0}, Raw: json.RawMessage("[ 1 ]"), At: instant, IP: net.IPv4(1, 2, 3, 4).To4(), Pair: &[2]int8{1, 2},
				Table: map[string]*album{"k": {Text: "in", Raw: json.RawMessage("null")}, "z": nil}, Opaque: opaqueText{"o"},
			}
			for _, kid := range a.Table {
				if kid != nil {
					kid.Self = kid
				}
			}
			a.Self = &a
			_, _, _, err := schema.EncodeWrite(c.Put(a))
			switch path {
			case "nothing that is stored":
				if err != nil {
					t.Errorf("got %v: only what is not stored differs", err)
				}
			case "its JSON another":
				refusal(t, err, []string{"JSON is another"})
			default:
				refusal(t, err, []string{"value" + path + " is not read back as it is written"})
			}
		})
	}
}

// TestLateLoss has one channel take good values for long before a bad one.
func TestLateLoss(t *testing.T) {
	t.Parallel()
	c := state.Append[forgetful]("c")
	schema := schemaOf(t, c)
	v := schema.Empty()
	for range 50 {
		v, _ = changes(t, schema, v, c.Put(forgetful{Kept: "k"}))
	}
	_, _, err := tryChanges(schema, v, c.Put(forgetful{"k", "l"}))
	channelErr(t, err, "c", state.ErrRoundTrip)
	if strings.Contains(err.Error(), `"l"`) {
		t.Errorf("got %q: an error must not tell the value", err)
	}
}

// bag writes its elements as they come.
type bag struct{ set map[string]bool }

func (b bag) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	for k := range b.set {
		out.WriteString(",\"" + k + "\"")
	}
	return append(append([]byte("["), bytes.TrimPrefix(out.Bytes(), []byte(","))...), ']'), nil
}

func (b *bag) UnmarshalJSON(data []byte) error {
	var keys []string
	err := json.Unmarshal(data, &keys)
	b.set = map[string]bool{}
	for _, k := range keys {
		b.set[k] = true
	}
	return err
}

func TestOrderOfABagIsNoLoss(t *testing.T) {
	t.Parallel()
	v := bag{map[string]bool{}}
	for _, k := range "abcdefghijklmnop" {
		v.set[string(k)] = true
	}
	for range 20 {
		roundTripNow(t, v)
	}
}

func roundTripNow[T any](t *testing.T, v T) {
	t.Helper()
	for i, got := range trip(t, v) {
		if !reflect.DeepEqual(got, v) {
			t.Errorf("way %d: got %#v, want %#v", i, got, v)
		}
	}
}

// blind does not read what it writes; mute does not write what it reads.
type blind struct{ N int }

func (blind) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type blindText struct{ N int }

func (blindText) MarshalText() ([]byte, error) { return []byte("1"), nil }

type secretive struct {
	Open   int `json:"open"`
	secret int //nolint:unused // what it is for
}

type withCache struct {
	N     int            `json:"n"`
	cache map[string]int `json:"-"` //nolint:unused // what it is for: an unexported field with a reference
}

type withScratch struct {
	N       int    `json:"n"`
	scratch [4]int `json:"-"` //nolint:unused // plain assignment copies it
}

// Selfish embeds itself, and so does Mutual.
type Selfish struct {
	*Selfish
	N int
}

type Mutual struct {
	*Other
	N int
}

type Other struct{ *Mutual }

type stringer interface{ String() string }

// refusedType is a type that NewSchema refuses, with a path.
func refusedType[T any](text ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for _, c := range []state.Handle{state.Last[T]("c"), state.Append[T]("c"), state.Map[string, T]("c"), state.NewChannel("c", func(n int, _ T) (int, error) { return n, nil })} {
			_, err := state.NewSchema(c)
			refusal(t, err, text)
		}
		schemaOf(t, state.Untracked[T]("c"))
	}
}

func TestRefusedTypes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"chan":             refusedType[chan int]("chan int", "Untracked"),
		"func in a slice":  refusedType[[]func()]("[]func()[]"),
		"complex":          refusedType[struct{ C complex128 }](".C"),
		"interface":        refusedType[stringer]("interface"),
		"error":            refusedType[struct{ Err error }](".Err", "interface"),
		"unexported":       refusedType[secretive](".secret", "not exported"),
		"unexported, deep": refusedType[map[string][]*struct{ In secretive }]("[][].In.secret"),
		"writes only":      refusedType[blind]("none to read itself back"),
		"writes text only": refusedType[[]blindText]("none to read itself back"),
		"keys of struct":   refusedType[map[struct{ A int }]int]("keys"),
		"keys of float":    refusedType[map[float64]int]("keys"),
		"keys of any":      refusedType[map[any]int]("keys"),
		"keys of time":     refusedType[map[time.Time]int]("keys", ".loc"),
		"keys write only":  refusedType[map[blindText]int]("keys"),
		"pointer hooks":    refusedType[map[string]celsius]("pointers in the map"),
		"pointer hooks in": refusedType[map[string][2]struct{ C celsius }]("[].C", "pointers in the map"),
		"one name twice": refusedType[struct {
			A int `json:"B"`
			B int
		}](".A", ".B", `"B"`),
		"hidden by embed": refusedType[struct {
			Named
			ID int `json:"id"`
		}](".Named.ID", "lost"),
		"ambiguous": refusedType[struct {
			Named
			Other struct{ A int }
			*lowerNamed
		}]("lowerNamed"),
		"embedded pointer":  refusedType[struct{ *lower }](".lower", "not exported"),
		"embedded type":     refusedType[struct{ id }](".id", "not exported"),
		"embeds itself":     refusedType[Selfish](".Selfish", "embeds its own type"),
		"embeds each other": refusedType[Mutual](".Other", "embeds its own type"),
		"embeds hooks": refusedType[struct {
			time.Time
			big.Int
		}](".Time", "give it a name"),
		"uncopyable":       refusedType[withCache]("Clone", "withCache"),
		"a recursive chan": refusedType[*loop](".C"),
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

// TestSetsOfAddresses has what == does not tell apart in the same way
// once it was stored.
func TestSetsOfAddresses(t *testing.T) {
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
		_, err := state.NewSchema(c)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		channelErr(t, err, "c", state.ErrRoundTrip)
	}
	schemaOf(t, state.Set[netip.Addr]("a"), state.Set[any]("b"), state.Set[struct{ A string }]("c"), state.Map[netip.Addr, int]("d"))
}

// keyed writes itself, and is compared by an address.
type keyed struct {
	p *int //nolint:unused // what it is for
}

func (k keyed) MarshalText() ([]byte, error)  { return []byte("k"), nil }
func (k *keyed) UnmarshalText(_ []byte) error { return nil }

func TestSetOfAny(t *testing.T) {
	t.Parallel()
	c := state.Set[any]("c")
	schema := schemaOf(t, c)
	v, stored := changes(t, schema, schema.Empty(), c.Put("a", 1.0, true, nil, "a"))
	for _, v := range []state.View{v, replayed(t, schema, nil, stored...)} {
		if got := c.Get(v); !reflect.DeepEqual(got, []any{"a", 1.0, true, nil}) || !c.Has(v, 1.0) {
			t.Errorf("got %v", got)
		}
	}
	_, _, err := tryChanges(schema, v, c.Put(1))
	channelErr(t, err, "c", state.ErrRoundTrip)
	_, err = step(schema, v, true, []state.Write{c.Put([]any{}, []any{})})
	channelErr(t, err, "c", nil) // == panics
}

// secretKey keeps the id of an element where JSON does not see it.
type secretKey struct {
	Key  string `json:"-"`
	Text string `json:"text"`
}

type bySecret struct{}

func (bySecret) ID(e secretKey) string                   { return e.Key }
func (bySecret) WithID(e secretKey, id string) secretKey { e.Key = id; return e }

// TestKeyThatIsNotStored fails when it is written, not when it is read.
func TestKeyThatIsNotStored(t *testing.T) {
	t.Parallel()
	c := state.Keyed("c", bySecret{})
	schema := schemaOf(t, c)
	_, _, err := tryChanges(schema, schema.Empty(), c.Put(secretKey{Text: "a"}))
	channelErr(t, err, "c", state.ErrRoundTrip)
}

// TestRawText has others' JSON with what would be a sign of loss in ours.
func TestRawText(t *testing.T) {
	t.Parallel()
	for _, v := range []raws{
		{"fine \ufffd", json.RawMessage(`"\ufffd"`)},
		{`\ufffd`, json.RawMessage(`{"a":"\ud800 \ufffd"}`)},
	} {
		roundTripNow(t, v)
	}
	got := trip(t, json.RawMessage(" { \"a\" :\n1 } "))
	if string(got[1]) != `{"a":1}` {
		t.Errorf("got %s", got[1])
	}
	roundTripNow(t, opaqueRaw{raws{"x", json.RawMessage(`"\ufffd"`)}})
}

// opaqueRaw writes itself, others' JSON included.
type opaqueRaw struct{ Raws raws }

func (o opaqueRaw) MarshalJSON() ([]byte, error)     { return json.Marshal([]any{o.Raws}) }
func (o *opaqueRaw) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &[]any{&o.Raws}) }

// TestEmptyIsNilWhereOmitted is the one difference that a tag asks for.
func TestEmptyIsNilWhereOmitted(t *testing.T) {
	t.Parallel()
	for i, got := range trip(t, omitting{C: []int{}, D: map[string]int{}}) {
		if i > 0 && (got.C != nil || got.D != nil) || i == 0 && (got.C == nil || got.D == nil) {
			t.Errorf("way %d: got %#v", i, got)
		}
	}
}

// TestWhereTextIsBad looks for a bad string wherever one can be, with others'
// JSON beside it that has the sign of one on purpose.
func TestWhereTextIsBad(t *testing.T) {
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
		".Slice[1][0]": refused(places{Raw: raw, Slice: [][1]string{{"ok"}, {bad}}}, ".Slice[1][0]", "UTF-8"),
		".Map[k][l]":   refused(places{Raw: raw, Map: map[string]map[string]string{"k": {"l": bad}}}, ".Map[k][l]", "UTF-8"),
		"a key":        refused(places{Raw: raw, Map: map[string]map[string]string{bad: nil}}, ".Map["+bad+"]", "UTF-8"),
		".Pointer":     refused(places{Raw: raw, Pointer: &text}, ".Pointer", "UTF-8"),
		".Any[0]":      refused(places{Raw: raw, Any: []any{bad}}, ".Any[0]", "UTF-8"),
		".Self.Self":   refused(places{Raw: raw, Self: &places{Raw: raw, Self: &places{Raw: raw, Any: bad}}}, ".Self.Self.Any", "UTF-8"),
		"nowhere":      roundTrip(places{Raw: raw, Bytes: []byte(bad), Map: map[string]map[string]string{"k": {"l": "v"}}, Slice: [][1]string{{"\ufffd"}}}),
	} {
		t.Run(name, test)
	}
	c := state.Last[places]("c")
	schema := schemaOf(t, c)
	if _, _, err := tryChanges(schema, schema.Empty(), c.Put(places{Raw: raw, Skipped: bad})); err != nil {
		t.Errorf("got %v for what is not stored", err)
	}
}

func TestBadKeys(t *testing.T) {
	t.Parallel()
	entries, set := state.Map[string, int]("c"), state.Set[string]("s")
	schema := schemaOf(t, entries, set)
	for _, w := range []state.Write{entries.Put(map[string]int{bad: 1}), entries.Remove(bad), set.Put(bad), set.Remove(bad)} {
		_, _, _, err := schema.EncodeWrite(w)
		channelErr(t, err, w.Channel(), state.ErrRoundTrip)
		_, _, err = tryChanges(schema, schema.Empty(), w)
		channelErr(t, err, w.Channel(), state.ErrRoundTrip)
	}
}

// TestLocks has types that Go forbids to copy.
func TestLocks(t *testing.T) {
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
		_, err := state.NewSchema(c)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		refusal(t, err, []string{"lock", "Clone"})
	}
	c := state.Last[guarded]("c")
	schema := schemaOf(t, c)
	mu := &sync.Mutex{}
	if got := c.Get(commit(t, schema, schema.Empty(), c.Put(guarded{1, mu}))); got.Mu != mu {
		t.Error("a pointer to a lock is not handed on as it is")
	}
}

type lockedUp struct {
	N  int
	mu sync.RWMutex `json:"-"` //nolint:unused // what it is for
}

type lockedArray struct {
	N  int
	mu [1]struct{ v atomic.Int64 } `json:"-"` //nolint:unused // what it is for
}
