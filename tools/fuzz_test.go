package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// fuzzed has only types whose values have one JSON form.
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

// FuzzArguments proves that the answer to any arguments is a valid message. If the tool runs, the value that it received
// is accepted as JSON arguments and results in the same value.
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
			require.NoError(t, err)
			require.NoError(t, m.Validate())
			require.Equal(t, seen != nil, m.Status == llm.StatusSuccess, "the answer is %v", m)
			return m
		}
		first := answer(arguments)
		if seen == nil {
			require.NotEmpty(t, first.Text())
			return
		}
		require.True(t, json.Valid(arguments) || strings.Trim(string(arguments), " \t\r\n") == "", "%q was accepted", arguments)
		require.Equal(t, first.Text(), answer([]byte(first.Text())).Text())
	})
}

// FuzzRaw proves for any schema that the tool has an error or a valid specification. It
// proves for any arguments that Check returns an error, or a form of them that Check
// returns unchanged.
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
		require.NoError(t, tool.Spec().Validate())
		once, err := tool.Check(arguments)
		if err != nil {
			require.ErrorContains(t, err, "tools: invalid arguments for tool: ")
			return
		}
		twice, err := tool.Check(once)
		require.NoError(t, err)
		require.Equal(t, string(once), string(twice))
	})
}
