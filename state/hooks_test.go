package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/weft-go/weft/state"
)

// embedsTime has the promoted method MarshalJSON of time.Time. The method does not
// write the field Name.
type embedsTime struct {
	time.Time
	Name string
}

// forgetful has methods for JSON that ignore the field Lost.
type forgetful struct{ Kept, Lost string }

func (f forgetful) MarshalJSON() ([]byte, error)     { return json.Marshal(f.Kept) }
func (f *forgetful) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &f.Kept) }

// preset has an UnmarshalJSON method that sets a missing count to 10.
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

// drifting has an UnmarshalJSON method that increments the number.
type drifting struct{ n int }

func (d drifting) MarshalJSON() ([]byte, error) { return json.Marshal(d.n) }
func (d *drifting) UnmarshalJSON(data []byte) error {
	err := json.Unmarshal(data, &d.n)
	d.n++
	return err
}

// picky has an UnmarshalText method that rejects the empty text.
type picky string

func (p picky) MarshalText() ([]byte, error) { return []byte(p), nil }
func (p *picky) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("empty")
	}
	*p = picky(text)
	return nil
}

// gone has a wrong method IsZero. It reports true for values that are not zero.
type gone struct{ N int }

func (g gone) IsZero() bool { return g.N < 10 }

// TestLossInMethodsOfATypeIsDetected proves that a value is rejected if the JSON or text
// methods of its type lose a part of it, and that other values of the type are stored.
func TestLossInMethodsOfATypeIsDetected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ good, bad func(*testing.T) }{
		"a promoted method": {roundTrip(embedsTime{Time: instant.UTC()}), rejected(embedsTime{instant, "lost"}, ".Name")},
		"a forgotten field": {roundTrip(forgetful{Kept: "k"}), rejected(forgetful{"k", "l"}, ".Lost", "read back")},
		"a preset":          {roundTrip(preset{Count: 3}), rejected(preset{}, ".Count")},
		"a preset, nested":  {roundTrip([]map[string]*preset{{"a": {Count: 3}}}), rejected([]map[string]*preset{{"a": {}}}, "[0][a].Count")},
		"IsZero": {roundTrip(struct {
			G gone `json:",omitzero"`
		}{gone{10}}), rejected(struct {
			G gone `json:",omitzero"`
		}{gone{9}}, ".G.N")},
		"text with a demand": {
			roundTrip(picky("x")), rejected(picky(""), "cannot be read back"),
		},
		"a map by text": {roundTrip(map[picky]int{"x": 1}), rejected(map[picky]int{"": 1}, "empty")},
	} {
		t.Run(name+"/good", test.good)
		t.Run(name+"/bad", test.bad)
	}
	t.Run("drifting", rejected(drifting{1}, "different"))
}

// album has a field for each way in which a decoded copy can differ.
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

// tamper holds functions that change a decoded album.
// The keys are the paths that the error must contain.
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
	"its JSON is different":  func(a *album) { a.Opaque.text += "." },
}

// Clone returns the album itself. A deep copy of a cyclic album is impossible.
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

func TestEachDifferenceOfTheStoredCopyIsDetected(t *testing.T) {
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
			_, _, _, err := schema.EncodeWrite(c.Put(a).Core())
			switch path {
			case "nothing that is stored":
				assert.NoError(t, err, "got %v", err)
			case "its JSON is different":
				checkRejection(t, err, []string{"JSON is different"})
			default:
				checkRejection(t, err, []string{"value" + path + " is different after it is read back"})
			}
		})
	}
}

func TestBadValueIsDetectedAfterManyGoodValues(t *testing.T) {
	t.Parallel()
	c := state.Append[forgetful]("c")
	schema := schemaOf(t, c)
	v := schema.Empty()
	for range 50 {
		v, _ = changes(t, schema, v, c.Put(forgetful{Kept: "k"}))
	}
	_, _, err := tryChanges(schema, v, c.Put(forgetful{"k", "l"}))
	channelErr(t, err, "c", state.ErrRoundTrip)
	assert.NotContains(t, err.Error(), `"l"`, "got %q", err)
}

// bag has a MarshalJSON method that encodes its elements in random order.
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

func TestJSONWithARandomOrderIsNoLoss(t *testing.T) {
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
		assert.Equal(t, v, got, "way %d", i)
	}
}
