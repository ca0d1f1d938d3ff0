package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// fuzzed leaves out what has more than one JSON form for a value.
type fuzzed struct {
	Text    string         `json:"text"`
	Count   int            `json:"count"`
	Small   int8           `json:"small,omitempty"`
	Size    uint64         `json:"size,omitempty"`
	Ratio   float64        `json:"ratio,omitempty"`
	On      bool           `json:"on,omitempty"`
	Maybe   *int           `json:"maybe,omitempty"`
	Where   *point         `json:"where,omitempty"`
	Tags    []string       `json:"tags,omitempty"`
	Corners [2]point       `json:"corners,omitzero"`
	Labels  map[string]int `json:"labels,omitempty"`
	Bytes   []byte         `json:"bytes,omitempty"`
	Open    any            `json:"open,omitempty"`
}

// FuzzArguments gives a tool any bytes as arguments. Whatever they are, the
// model gets a valid message; and when the tool runs, what it was given is
// accepted again and read as the same.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"text":"a","count":5.0,"maybe":null,"where":{"x":1e2,"y":2},"tags":["a"]}`))
	f.Add([]byte(`{"text":"\ud800","count":-0,"small":127,"size":18446744073709551615,"ratio":1e308}`))
	f.Add([]byte(`{"text":7,"Count":1,"corners":[{"x":1},{}],"labels":{"a":null},"bytes":"AQI="}`))
	f.Add([]byte(`{"text":"","count":1e400,"open":[1e400,{"a":{}}]} {}`))
	f.Add([]byte(` null`))
	var seen *fuzzed
	set := mustSet(f, tools.New("tool", "Does something.", func(_ context.Context, in fuzzed) (fuzzed, error) {
		seen = &in
		return in, nil
	}))
	f.Fuzz(func(t *testing.T, arguments []byte) {
		answer := func(arguments []byte) llm.Message {
			seen = nil
			m, err := set.Call(t.Context(), llm.ToolCall{ID: "1", Name: "tool", Arguments: arguments}, tools.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Validate(); err != nil {
				t.Fatal(err)
			}
			if (m.Status == llm.StatusSuccess) != (seen != nil) {
				t.Fatalf("ran %v, answered %+v", seen != nil, m)
			}
			return m
		}
		first := answer(arguments)
		if seen == nil {
			if first.Text() == "" {
				t.Fatalf("%q was refused without a reason", arguments)
			}
			return
		}
		if !json.Valid(arguments) && strings.Trim(string(arguments), " \t\r\n") != "" {
			t.Fatalf("%q was accepted", arguments)
		}
		second := answer([]byte(first.Text()))
		if second.Text() != first.Text() {
			t.Fatalf("%q was read as %s, and that as %s", arguments, first.Text(), second.Text())
		}
	})
}

// FuzzRaw makes a tool of any schema and gives it any arguments. A tool that is
// taken has a valid specification; arguments that it accepts come
// out in one form, which it accepts as it is; and what it refuses has a reason.
func FuzzRaw(f *testing.F) {
	for _, schema := range []string{
		`{"properties":{"a":{"type":["null","array"],"items":{"type":"integer","minimum":1}}},"required":["a"],"additionalProperties":false}`,
		`{"$defs":{"n":{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}},{"type":"string","pattern":"^x"}]}},"properties":{"a":{"$ref":"#/$defs/n"}}}`,
		`{"properties":{"a":{"oneOf":[{"const":1},{"enum":["x",null]}]},"b":{"allOf":[{"minLength":2},{"maxLength":3}]}},"patternProperties":{"^x":{}}}`,
		`{"properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`, `{"allOf":[{"$ref":"#"}]}`, `{"properties":{"a":{"multipleOf":0.1,"exclusiveMinimum":0}}}`,
	} {
		f.Add([]byte(schema), []byte(`{"a":[1.0,2],"b":"xyz","x":null}`))
		f.Add([]byte(schema), []byte(`{"a":{"a":{"a":"x"}},"a":1,"b":"x"}`))
		f.Add([]byte(schema), []byte(`[{}]`))
	}
	f.Fuzz(func(t *testing.T, schema, arguments []byte) {
		tool := tools.Raw(llm.ToolSpec{Name: "tool", Description: "Does something.", Schema: schema}, nothing)
		if tool.Err() != nil {
			return
		}
		if err := tool.Spec().Validate(); err != nil {
			t.Fatal(err)
		}
		once, err := tool.Check(arguments)
		if err != nil {
			if err.Error() == "" || !strings.HasPrefix(err.Error(), "tools: invalid arguments for tool: ") {
				t.Fatalf("refused with %q", err)
			}
			return
		}
		if twice, err := tool.Check(once); err != nil || string(twice) != string(once) {
			t.Fatalf("%q is read as %s, and that as %s, %v", arguments, once, twice, err)
		}
	})
}
