package schema_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/schema"
)

type oneOf struct{}

func infer(t testing.TB, v any) *schema.Schema {
	t.Helper()
	s, err := tryInfer(v)
	require.NoError(t, err)
	return s
}

func tryInfer(v any) (*schema.Schema, error) {
	return schema.Infer(reflect.TypeOf(v), schema.Options{Subject: "the value", OneOf: reflect.TypeFor[oneOf]()})
}

type (
	inner struct {
		A int `json:"a" jsonschema:"the first"`
		B string
	}
	wide struct {
		inner
		left
		right
		Named
	}
	left struct {
		Same  int `json:"same"`
		Other string
		deep
	}
	right struct {
		Same  string
		Depth int `json:"depth"`
	}
	deep struct {
		Depth string `json:"depth"`
	}
	Named    struct{ C bool }
	Nickname string
	octets   []byte
	all      struct {
		Text     string                `json:"text,omitempty"`
		Enum     Nickname              `json:"enum" enum:"a, b" jsonschema:"one letter"`
		Days     []int                 `json:"days" enum:"1,7"`
		Sold     *int                  `json:"sold" minimum:"1" maximum:"99"`
		Shares   []float64             `json:"shares,omitempty" maximum:"0.5"`
		Below    uint8                 `json:"below,omitempty" minimum:"-3" maximum:"7"`
		Float    float64               `json:"float,omitzero"`
		Count    uint8                 `json:"count"`
		At       time.Time             `json:"at"`
		Wait     time.Duration         `json:"wait" jsonschema:"how long"`
		Data     octets                `json:"data"`
		Any      any                   `json:"any"`
		Raw      json.RawMessage       `json:"raw"`
		Map      map[netip.Addr]string `json:"map"`
		Two      [2]int                `json:"two"`
		Point    *inner                `json:"point"`
		Addr     netip.Addr            `json:"addr"`
		Big      *big.Int              `json:"big"`
		Number   json.Number           `json:"number"`
		Skip     chan int              `json:"-"`
		hidden   func()                `json:"-"`
		Nickname                       // a field, since it is not a struct
	}
)

func TestSchemasOfTypes(t *testing.T) {
	t.Parallel()
	_ = all{}.hidden
	const innerText = `{"type":"object","properties":{"a":{"type":"integer","description":"the first"},"B":{"type":"string"}},"required":["a","B"],"additionalProperties":false}`
	tests := []struct {
		name string
		give any
		want string
	}{
		{"a struct", &inner{}, innerText},
		{"a list", []bool{}, `{"type":"array","items":{"type":"boolean"}}`},
		{"a map", map[string]float32{}, `{"type":"object","properties":{},"additionalProperties":{"type":"number"}}`},
		{"embedded structs, as encoding/json reads them", wide{}, `{"type":"object","properties":{"a":{"type":"integer","description":"the first"},"B":{"type":"string"},
			"same":{"type":"integer"},"Other":{"type":"string"},"Same":{"type":"string"},"depth":{"type":"integer"},"C":{"type":"boolean"}},
			"required":["a","B","same","Other","Same","depth","C"],"additionalProperties":false}`},
		{"all kinds", all{}, `{"type":"object","properties":{"text":{"type":"string"},"enum":{"type":"string","enum":["a","b"],"description":"one letter"},
			"days":{"type":"array","items":{"type":"integer","enum":[1,7]}},"sold":{"type":"integer","minimum":1,"maximum":99},
			"shares":{"type":"array","items":{"type":"number","maximum":0.5}},"below":{"type":"integer","minimum":0,"maximum":7},"float":{"type":"number"},"count":{"type":"integer","minimum":0,"maximum":255},
			"at":{"type":"string","format":"date-time"},"wait":{"type":"integer","description":"how long (a duration in nanoseconds)"},
			"data":{"type":"string","description":"bytes in base64"},"any":{"description":"any JSON value"},"raw":{"description":"any JSON value"},
			"map":{"type":"object","properties":{},"additionalProperties":{"type":"string"}},"two":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2},
			"point":` + innerText + `,"addr":{"type":"string"},"big":{"description":"an integer of any size"},"number":{"type":"number"},"Nickname":{"type":"string"}},
			"required":["enum","days","count","at","wait","data","any","raw","map","two","addr","number","Nickname"],"additionalProperties":false}`},
		{"a union", step{}, `{"type":"object","description":"exactly one of the fields search, report","properties":{
			"search":{"type":"object","description":"look it up","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false},
			"report":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}},
			"minProperties":1,"maxProperties":1,"additionalProperties":false}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			assert.JSONEq(t, tt.want, string(infer(t, tt.give).Text()))
		})
	}
}

type (
	Loop    struct{ *Back }
	Back    struct{ *Loop }
	pointer *pointer
)

func TestUnsupportedTypesAreNamedWithTheirPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		give any
		want string
	}{
		{"a channel", struct{ C []chan int }{}, "C[]: a value of type chan int is unsupported"},
		{"a function", func() {}, "func(): a value of type func() is unsupported"},
		{"an interface", struct{ R io.Reader }{}, "R: an interface with methods is unsupported"},
		{"a map of numbers", map[int]string{}, "the keys of a map must be strings"},
		{"a number in a string", struct {
			N int `json:",string"`
		}{}, `N: the JSON option "string" is unsupported`},
		{"embedded in itself", Loop{}, "Loop.Back.Loop: a struct cannot be embedded in itself"},
		{"a pointer to itself", pointer(nil), "a pointer type with a name"},
		{"an enum of flags", struct {
			On bool `enum:"true"`
		}{}, `On: enum tag: "true": the field is neither a string nor a number`},
		{"a minimum of a text", struct {
			Name string `minimum:"1"`
		}{}, "Name: minimum tag: the field is no number"},
		{"a maximum that is no number", struct {
			N int `maximum:"1.5"`
		}{}, `N: maximum tag: strconv.ParseInt: parsing "1.5"`},
		{"an enum of no numbers", struct {
			F float64 `enum:"1,NaN"`
		}{}, "F: enum tag: NaN is no number of JSON"},
		{"an empty range", struct {
			N int `minimum:"3" maximum:"2"`
		}{}, "N: the minimum is greater than the maximum"},
		{"a description like a keyword", struct {
			N int `jsonschema:"minimum=3"`
		}{}, `N: the jsonschema tag "minimum=3" is a description`},
		{"a union of values", struct {
			_ oneOf
			A inner
			B *inner
		}{}, "A: a field of a union must be a pointer"},
		{"a union of one type", struct {
			_ oneOf
			A *inner
		}{}, "a union must have at least two fields"},
		{"the second mistake", struct {
			C chan int
			D chan int
		}{}, "D: a value of type chan int"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := tryInfer(tt.give)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

type (
	node struct {
		Name  string `json:"name"`
		Left  *node  `json:"left,omitempty"`
		Right *node  `json:"right,omitempty"`
	}
	list  []list
	index map[string]index
	ping  struct {
		Pong *pong `json:"pong"`
	}
	pong struct {
		Ping ping `json:"ping,omitzero"`
	}
	// forest has recursive types in every place in which a type can be.
	forest struct {
		Root  *node           `json:"root"`
		Value node            `json:"value"`
		Nodes []node          `json:"nodes"`
		Named map[string]node `json:"named"`
		List  list            `json:"list"`
		Index index           `json:"index"`
		Pong  pong            `json:"pong"`
	}
)

// TestTypesThatContainThemselves proves that a recursive type is checked to any depth, and
// that a model sees it without references.
func TestTypesThatContainThemselves(t *testing.T) {
	t.Parallel()
	for _, v := range []any{node{}, &node{}, list{}, index{}, ping{}, pong{}, forest{}, []node{}, struct{ Kids []list }{}} {
		s := infer(t, v)
		assert.NotContains(t, string(s.Text()), "$", "%T", v)
	}
	deep := strings.Repeat(`{"name":"x","left":`, 50) + `{"name":"y"}` + strings.Repeat(`}`, 50)
	s := infer(t, forest{})
	text := func(root string) json.RawMessage {
		return json.RawMessage(`{"root":` + root + `,"value":{"name":"v"},"nodes":[{"name":"n"}],"named":{"a":{"name":"m"}},"list":[[],[[]]],"index":{"a":{"b":{}}},"pong":{"ping":{"pong":{}}}}`)
	}
	checked, err := s.Check(text(deep))
	require.NoError(t, err)
	var got forest
	require.NoError(t, s.Decode(checked, &got))
	assert.Equal(t, "x", got.Root.Left.Left.Name)
	_, err = s.Check(text(strings.Replace(deep, `"y"`, `7`, 1)))
	require.ErrorContains(t, err, "root."+strings.Repeat("left.", 50)+"name: want a string, got 7; for example: ")
}

type (
	search struct {
		Query string `json:"query"`
	}
	report struct {
		Text string `json:"text"`
	}
	step struct {
		_      oneOf
		Search *search `json:"search" jsonschema:"look it up"`
		Report *report `json:"report"`
	}
)

// TestUnionsHaveExactlyOneField proves that an unknown, a missing and an ambiguous
// alternative are errors that name the alternatives.
func TestUnionsHaveExactlyOneField(t *testing.T) {
	t.Parallel()
	s := infer(t, struct {
		Steps []step `json:"steps"`
	}{})
	const wanted = "steps[0]: want an object with exactly one of the fields search, report, got "
	tests := []struct{ name, give, want string }{
		{"one", `{"search":{"query":"tides"}}`, ""},
		{"the other is null", `{"report":{"text":"done"},"search":null}`, ""},
		{"none", `{}`, wanted + "no field"},
		{"null", `{"search":null}`, wanted + "no field"},
		{"both", `{"search":{"query":"tides"},"report":{"text":"done"}}`, wanted + "the fields report, search"},
		{"unknown", `{"ask":{}}`, "steps[0].ask: there is no such field; the fields are search, report"},
		{"one alternative as it is", `{"query":"tides"}`, "steps[0].query: there is no such field; the fields are search, report"},
		{"another type", `"search"`, wanted + `the string "search"`},
		{"a wrong alternative", `{"search":{"query":7}}`, "steps[0].search.query: want a string, got 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checked, err := s.Check(json.RawMessage(`{"steps":[` + tt.give + `]}`))
			if tt.want != "" {
				var e *schema.Error
				require.ErrorAs(t, err, &e)
				assert.Equal(t, tt.want, strings.Join(e.Problems, "; "))
				return
			}
			require.NoError(t, err)
			var got struct{ Steps []step }
			require.NoError(t, s.Decode(checked, &got))
			assert.NotEqual(t, got.Steps[0].Search == nil, got.Steps[0].Report == nil, "got %+v", got.Steps[0])
		})
	}
	assert.Equal(t, `{"search":{"query":"<query>"}}`, infer(t, step{}).Example())
}

func TestCheckExplainsProblems(t *testing.T) {
	t.Parallel()
	type part struct {
		N    int            `json:"n"`
		U    uint           `json:"u,omitempty"`
		S    *string        `json:"s"`
		At   time.Time      `json:"at,omitzero"`
		L    []inner        `json:"l,omitempty"`
		M    map[string]int `json:"m,omitempty"`
		Two  [2]bool        `json:"two,omitzero"`
		F    float64        `json:"f,omitempty"`
		Free any            `json:"free,omitempty"`
		Unit string         `json:"unit,omitempty" enum:"c,f"`
		Num  json.Number    `json:"num,omitempty"`
		Sold int            `json:"sold,omitzero" minimum:"1" maximum:"9"`
	}
	tests := []struct{ name, give, want string }{
		{"a fitting value", `{"n":5.0,"s":null,"m":null,"u":1e2,"f":1.5,"l":[{"a":1,"B":"b"}],"free":[1,{}],"two":[true,false],"at":"2026-01-02T03:04:05Z","unit":"c","num":7}`, `{"at":"2026-01-02T03:04:05Z","f":1.5,"free":[1,{}],"l":[{"B":"b","a":1}],"n":5,"num":7,"two":[true,false],"u":100,"unit":"c"}`},
		{"the last of two", `{"n":"x","n":1}`, `{"n":1}`},
		{"no JSON", `{"n":`, `not valid JSON: unexpected EOF; want JSON, got the string "{\"n\":"`},
		{"a sentence", "I cannot read this.", `not valid JSON: invalid character 'I' looking for beginning of value; want JSON, got the string "I cannot read this."`},
		{"two values", `{"n":1} {}`, "not valid JSON: more than one value"},
		{"another type", `[]`, "the value: want an object, got an array"},
		{"nothing", `{}`, "n: is missing; want an integer"},
		{"null", `{"n":null}`, "n: want an integer, got null"},
		{"a fraction", `{"n":1.5}`, "n: want an integer, got 1.5"},
		{"a huge number", `{"n":1e400}`, "n: want an integer, got 1e400"},
		{"below zero", `{"n":1,"u":-1}`, "u: want an integer of at least 0, got -1"},
		{"a long string", `{"n":"` + strings.Repeat("é", 50) + `"}`, `n: want an integer, got the string "` + strings.Repeat("é", 40) + `…"`},
		{"an unknown field", `{"n":1,"x":1}`, "x: there is no such field; the fields are n, u, s, at, l, m, two, f, free, unit, num, sold"},
		{"outside the range", `{"n":1,"sold":10}`, "sold: want an integer from 1 to 9, got 10"},
		{"deep inside", `{"n":1,"l":[{"a":1,"B":"b"},{"a":true,"B":{}}],"m":{"k":"v"}}`, `l[1].B: want a string, got an object; l[1].a: want an integer, got true; m.k: want an integer, got the string "v"`},
		{"no time", `{"n":1,"at":"today"}`, `at: want a time such as 2026-01-31T15:04:05Z, got the string "today"`},
		{"too few", `{"n":1,"two":[true]}`, "two: want an array of 2, got 1"},
		{"outside the enum", `{"n":1,"unit":"k"}`, `unit: want one of "c", "f", got the string "k"`},
		{"a number as a string", `{"n":1,"num":"7"}`, `num: want a number, got the string "7"`},
		{"too large for its type", `{"n":99999999999999999999}`, "n: number 99999999999999999999 does not fit (int)"},
		{"eleven problems", `{"n":1,"l":[1,1,1,1,1,1,1,1,1,1,1]}`, "l[9]: want an object, got 1; and 1 more"},
	}
	s := infer(t, part{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			value, err := s.Check(json.RawMessage(tt.give))
			if err == nil {
				err = s.Decode(value, new(part))
			}
			if err == nil {
				assert.Equal(t, tt.want, string(value))
				return
			}
			var e *schema.Error
			require.ErrorAs(t, err, &e)
			problems := strings.Join(e.Problems, "; ")
			assert.True(t, problems == tt.want || tt.name == "eleven problems" && strings.HasSuffix(problems, tt.want), "got  %s\nwant %s", problems, tt.want)
		})
	}
}

type hidden struct{ Value string }

// TestHiddenFields proves that a field which the program sets is not in the schema, that a
// value cannot set it, and that it is an error where the program could not set it.
func TestHiddenFields(t *testing.T) {
	t.Parallel()
	try := func(v any) (*schema.Schema, error) {
		return schema.Infer(reflect.TypeOf(v), schema.Options{Hidden: func(t reflect.Type) bool { return t == reflect.TypeFor[hidden]() }})
	}
	type ask struct {
		User hidden `json:"user"`
		Text string `json:"text"`
	}
	s, err := try(ask{})
	require.NoError(t, err)
	assert.NotContains(t, string(s.Text()), "user")
	_, err = s.Check(json.RawMessage(`{"text":"a","USER":"eve"}`))
	require.EqualError(t, err, "USER: it is set by the program; leave it out")
	type loop struct {
		User hidden
		Next *loop
	}
	for _, v := range []any{struct{ A ask }{}, []hidden{}, struct{ U *hidden }{}, loop{}} {
		_, err := try(v)
		require.ErrorContains(t, err, "a Bound", "%T", v)
	}
}

// FuzzCheck proves that a value that Check returns can be decoded, and that Check returns it unchanged.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"name":"a","left":{"name":"b"}}`, `{"name":"a","left":null}`, `{"name":1.0}`, `{}`, `[1`} {
		f.Add(seed)
	}
	s := infer(f, node{})
	f.Fuzz(func(t *testing.T, text string) {
		value, err := s.Check(json.RawMessage(text))
		if err != nil {
			require.NotEmpty(t, fmt.Sprint(err))
			return
		}
		require.NoError(t, s.Decode(value, new(node)), "%s", value)
		again, err := s.Check(value)
		require.NoError(t, err)
		require.Equal(t, string(value), string(again))
	})
}
