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
