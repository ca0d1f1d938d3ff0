package memory_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	const data = `{"n":9,"s":"9","f":1.50,"big":9007199254740993,"null":null,"yes":true,"list":[1,"a",{"x":2}],"deep":{"a.b":{"c":"d"}},"":1}`
	path := func(names ...string) []string { return names }
	tests := []struct {
		path  []string
		op    memory.Op
		value string
		want  bool
	}{
		{path("n"), memory.Less, `10`, true},
		{path("n"), memory.Less, `"10"`, false},
		{path("n"), memory.Greater, `"10"`, false},
		{path("s"), memory.Greater, `"10"`, true},
		{path("s"), memory.Less, `10`, false},
		{path("n"), memory.Equal, `9.0`, true},
		{path("n"), memory.Equal, `"9"`, false},
		{path("f"), memory.Equal, `1.5`, true},
		{path("f"), memory.LessEqual, `15e-1`, true},
		{path("f"), memory.GreaterEqual, `1.51`, false},
		{path("big"), memory.Equal, `9007199254740992`, false},
		{path("big"), memory.Greater, `9007199254740992`, true},
		{path("null"), memory.Exists, ``, true},
		{path("null"), memory.Equal, `null`, true},
		{path("none"), memory.Exists, ``, false},
		{path("none"), memory.NotEqual, `1`, true},
		{path("none"), memory.Equal, `null`, false},
		{path("none"), memory.Less, `1`, false},
		{path("yes"), memory.Equal, `true`, true},
		{path("yes"), memory.NotEqual, `1`, true},
		{path("list"), memory.Has, `1.0`, true},
		{path("list"), memory.Has, `{"x":2}`, true},
		{path("list"), memory.Has, `"1"`, false},
		{path("list"), memory.Equal, `[1,"a",{"x":2.0}]`, true},
		{path("n"), memory.Has, `9`, false},
		{path("n"), memory.In, `[1,9]`, true},
		{path("n"), memory.In, `["9"]`, false},
		{path("deep", "a.b", "c"), memory.Equal, `"d"`, true},
		{path("deep", "a", "b"), memory.Exists, ``, false},
		{path("n", "x"), memory.Exists, ``, false},
		{path(""), memory.Equal, `1`, true},
	}
	for _, test := range tests {
		c := memory.Condition{Path: test.path, Op: test.op, Value: json.RawMessage(test.value)}
		err := c.Validate()
		assert.NoError(t, err, "%q %s %s: %v", test.path, test.op, test.value, err)
		got := c.Match(json.RawMessage(data))
		assert.Equal(t, test.want, got, "%q %s %s: %t", test.path, test.op, test.value, got)
	}
	for _, c := range []memory.Condition{
		{},
		{Path: path("x"), Op: "like", Value: json.RawMessage(`1`)},
		{Path: path("x"), Op: memory.Equal},
		{Path: path("x"), Op: memory.Equal, Value: json.RawMessage(`{`)},
		{Path: path("x"), Op: memory.Less, Value: json.RawMessage(`true`)},
		{Path: path("x"), Op: memory.In, Value: json.RawMessage(`1`)},
		{Path: path("\xff"), Op: memory.Exists},
		{Path: make([]string, 9), Op: memory.Exists},
		memory.Where("x", memory.Equal, func() {}),
	} {
		assert.Error(t, c.Validate(), "%+v is taken", c)
	}
	c := memory.Where("x", memory.NotEqual, 1)
	require.True(t, c.Match(nil), "what is not there is equal")
	assert.False(t, c.Match(json.RawMessage(`{"x":1}`)), "what is not there is equal")
}
