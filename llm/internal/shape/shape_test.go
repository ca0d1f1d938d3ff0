package shape_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/llm/internal/shape"
)

type inner struct {
	A int `json:"a" jsonschema:"the first"`
	B string
}

type tree struct {
	Value    int    `json:"value"`
	Children []tree `json:"children,omitempty"`
}

type list []list

type all struct {
	inner
	A      bool             `json:"a"`
	Text   string           `json:"text,omitempty"`
	Float  float64          `json:"float"`
	Count  uint8            `json:"count"`
	At     time.Time        `json:"at"`
	Data   []byte           `json:"data"`
	Any    any              `json:"any"`
	Raw    json.RawMessage  `json:"raw"`
	Map    map[string]inner `json:"map"`
	Two    [2]int           `json:"two"`
	Point  *inner           `json:"point"`
	Addr   netip.Addr       `json:"addr"`
	Big    *big.Int         `json:"big,omitzero"`
	Number json.Number      `json:"number"`
	Skip   chan int         `json:"-"`
	hidden func()
}

func of(t *testing.T, v any) *shape.Shape {
	t.Helper()
	s, err := shape.Of(reflect.TypeOf(v))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type wide struct {
	inner
	left
	right
	Named
}
type left struct {
	Same  int
	Other string `json:"other"`
	deep
}
type right struct {
	Same  string
	Other int
	Depth int `json:"depth"`
}
type deep struct {
	Depth string `json:"depth"`
	Same  bool
}
type Named struct {
	Others bool `json:"Other"`
}

func TestSchema(t *testing.T) {
	t.Parallel()
	_ = all{}.hidden
	tests := []struct {
		name string
		give any
		want string
	}{
		{"a struct", inner{}, `{"additionalProperties":false,"properties":{"B":{"type":"string"},"a":{"description":"the first","type":"integer"}},"required":["a","B"],"type":"object"}`},
		{"a list", []bool{}, `{"items":{"type":"boolean"},"type":"array"}`},
		{"a map", map[string]float32{}, `{"additionalProperties":{"type":"number"},"type":"object"}`},
		{"itself", tree{}, `{"$defs":{"tree":{"additionalProperties":false,"properties":{"children":{"items":{"$ref":"#/$defs/tree"},"type":"array"},"value":{"type":"integer"}},"required":["value"],"type":"object"}},"additionalProperties":false,"properties":{"children":{"items":{"$ref":"#/$defs/tree"},"type":"array"},"value":{"type":"integer"}},"required":["value"],"type":"object"}`},
		{"a list of itself", list{}, `{"$defs":{"list":{"items":{"$ref":"#/$defs/list"},"type":"array"}},"items":{"$ref":"#/$defs/list"},"type":"array"}`},
		// As encoding/json reads it: the field that is least deep counts, then that
		// with a tag, and of two alike none.
		{"embedded", wide{}, `{"additionalProperties":false,"properties":{"B":{"type":"string"},"Other":{"type":"boolean"},"a":{"description":"the first","type":"integer"},"depth":{"type":"integer"},"other":{"type":"string"}},"required":["a","B","other","depth","Other"],"type":"object"}`},
		{"all", all{}, `{"additionalProperties":false,"properties":{"B":{"type":"string"},"a":{"type":"boolean"},"addr":{"type":"string"},"any":{"description":"any JSON value"},"at":{"format":"date-time","type":"string"},"big":{"description":"an integer of any size"},"count":{"minimum":0,"type":"integer"},"data":{"description":"bytes in base64","type":"string"},"float":{"type":"number"},"map":{"additionalProperties":{"additionalProperties":false,"properties":{"B":{"type":"string"},"a":{"description":"the first","type":"integer"}},"required":["a","B"],"type":"object"},"type":"object"},"number":{"type":"number"},"point":{"additionalProperties":false,"properties":{"B":{"type":"string"},"a":{"description":"the first","type":"integer"}},"required":["a","B"],"type":"object"},"raw":{"description":"any JSON value"},"text":{"type":"string"},"two":{"items":{"type":"integer"},"maxItems":2,"minItems":2,"type":"array"}},"required":["a","float","count","at","data","raw","two","addr","number","B"],"type":"object"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := string(of(t, test.give).Schema()); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

type Loop struct{ *Other }

type Other struct{ *Loop }

type pointer *pointer

func TestOfRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give any
		want string
	}{
		{"a channel", struct{ C chan int }{}, "C: a chan can not be read from JSON"},
		{"a function", func() {}, "a func can not be read"},
		{"an interface", struct{ E fmt.Stringer }{}, "E: an interface can not be read"},
		{"a map of numbers", map[int]string{}, "the keys of a map are strings"},
		{"a number in a string", struct {
			N int `json:",string"`
		}{}, `"string" is not supported`},
		{"embedded in itself", Loop{}, "can not be embedded"},
		{"a pointer to itself", pointer(nil), "a pointer type with a name"},
		{"two mistakes", struct {
			C chan int
			D chan int
		}{}, "D: a chan"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := shape.Of(reflect.TypeOf(test.give))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	type part struct {
		N    int            `json:"n"`
		U    uint           `json:"u,omitempty"`
		S    *string        `json:"s"`
		At   time.Time      `json:"at,omitzero"`
		L    []inner        `json:"l,omitempty"`
		M    map[string]int `json:"m"`
		Two  [2]bool        `json:"two,omitzero"`
		F    float64        `json:"f,omitempty"`
		Free any            `json:"free"`
	}
	tests := []struct{ name, give, want string }{
		{"all is well", `{"n":5.0,"s":null,"m":null,"u":1e2,"f":1.5,"l":[{"a":1,"B":"b"}],"free":[1,{}],"two":[true,false],"at":"2026-01-02T03:04:05Z"}`, `{"at":"2026-01-02T03:04:05Z","f":1.5,"free":[1,{}],"l":[{"B":"b","a":1}],"n":5,"two":[true,false],"u":100}`},
		{"the last of two", `{"n":"x","n":1}`, `{"n":1}`},
		{"no JSON", `{"n":`, "not valid JSON: unexpected EOF"},
		{"two values", `{"n":1} {}`, "not valid JSON: more than one value"},
		{"another type", `[]`, "the answer: want an object, got an array"},
		{"nothing", `{}`, "n: is missing; want an integer"},
		{"null", `{"n":null}`, "n: want an integer, got null"},
		{"a fraction", `{"n":1.5}`, "n: want an integer, got 1.5"},
		{"a huge number", `{"n":1e400}`, "n: want an integer, got 1e400"},
		{"below zero", `{"n":1,"u":-1}`, "u: want an integer of at least 0, got -1"},
		{"a string", `{"n":"` + strings.Repeat("é", 50) + `"}`, `n: want an integer, got the string "` + strings.Repeat("é", 40) + `…"`},
		{"an unknown field", `{"n":1,"x":1}`, "x: there is no such field; the fields are n, u, s, at, l, m, two, f, free"},
		{"deep inside", `{"n":1,"l":[{"a":1,"B":"b"},{"a":true,"B":{}}],"m":{"k":"v"}}`, `l[1].a: want an integer, got true|l[1].B: want a string, got an object|m.k: want an integer, got the string "v"`},
		{"no time", `{"n":1,"at":"today"}`, `at: want a time such as 2006-01-02T15:04:05Z, got the string "today"`},
		{"too few", `{"n":1,"two":[true]}`, "two: want 2 elements, got 1"},
		{"very much", `{"n":1,"l":[1,1,1,1,1,1,1,1,1,1,1,1]}`, strings.Join([]string{
			"l[0]: want an object, got 1", "l[1]: want an object, got 1", "l[2]: want an object, got 1", "l[3]: want an object, got 1", "l[4]: want an object, got 1",
			"l[5]: want an object, got 1", "l[6]: want an object, got 1", "l[7]: want an object, got 1", "l[8]: want an object, got 1", "l[9]: want an object, got 1", "and 2 more",
		}, "|")},
	}
	s := of(t, part{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			value, problems := s.Check([]byte(test.give))
			got := string(value) + strings.Join(problems, "|")
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if problems == nil {
				if err := json.Unmarshal(value, new(part)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// FuzzCheck wants what is found to fit to be what the type takes.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"value":1,"children":[{"value":2}]}`, `{"value":1.0,"children":null}`, `{"value":9223372036854775807}`, `{}`, `[1`} {
		f.Add(seed)
	}
	s, err := shape.Of(reflect.TypeFor[tree]())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, problems := s.Check([]byte(text))
		if problems != nil {
			return
		}
		var got tree
		err := json.Unmarshal(value, &got)
		if tooLarge := err != nil && strings.Contains(err.Error(), "cannot unmarshal number"); err != nil && !tooLarge {
			t.Fatalf("%v: %s", err, value)
		}
		again, problems := s.Check(value)
		if problems != nil || string(again) != string(value) {
			t.Fatalf("again: %s, %v", again, problems)
		}
	})
}
