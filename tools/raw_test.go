package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

func rawTool(schema string) tools.Tool {
	return tools.Raw(llm.ToolSpec{Name: "tool", Description: "Does something.", Schema: json.RawMessage(schema)},
		func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
			return tools.Result{Text: string(arguments)}, nil
		})
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	require.JSONEq(t, want, got)
}

// TestRawSchemaIsPlain proves that a model sees a given schema in keywords that every
// provider accepts.
func TestRawSchemaIsPlain(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"nothing", `{}`, `{"type":"object","properties":{}}`},
		{"a draft and an id", `{"$schema":"http://json-schema.org/draft-04/schema#","$id":"https://x.example/s","properties":{"a":true}}`, `{"type":"object","properties":{"a":{"description":"any JSON value"}}}`},
		{
			"null in a list of types", `{"properties":{"a":{"type":["null","array"],"items":{"type":["string","null"]}},"b":{"type":["string","integer","null"]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"null among alternatives", `{"properties":{"a":{"anyOf":[{"type":"string","maxLength":3},{"type":"null"}],"title":"A","default":null},"b":{"oneOf":[{"type":"null"},{"type":"string"},{"type":"integer"}],"default":"x"},"c":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":3}}}`,
			`{"type":"object","properties":{"a":{"type":"string","maxLength":3,"title":"A"},"b":{"oneOf":[{"type":"string"},{"type":"integer"}],"default":"x"},"c":{"type":"integer","default":3}}}`,
		},
		{"a single part beside others", `{"properties":{"a":{"allOf":[{"type":"string"}],"minLength":2}}}`, `{"type":"object","properties":{"a":{"allOf":[{"type":"string"}],"minLength":2}}}`},
		{"a constant", `{"properties":{"a":{"const":"x"}}}`, `{"type":"object","properties":{"a":{"enum":["x"]}}}`},
		{
			"objects in objects", `{"properties":{"a":{"type":"object"}},"additionalProperties":{"type":"object","additionalProperties":false}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{}}},"additionalProperties":{"type":"object","properties":{},"additionalProperties":false}}`,
		},
		{
			"references", `{"$defs":{"p":{"type":"object","description":"a point","properties":{"x":{"type":"number"}}}},"properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/$defs/p","description":"another"},"c":{"type":"array","items":{"$ref":"#/properties/a"}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"a point","properties":{"x":{"type":"number"}}},"b":{"type":"object","description":"another","properties":{"x":{"type":"number"}}},"c":{"type":"array","items":{"type":"object","description":"a point","properties":{"x":{"type":"number"}}}}}}`,
		},
		{"old definitions", `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a/b":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/a~1b"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{
			"references to anywhere", `{"properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string","title":"deep"},{"type":"integer"}]}},"b":{"$ref":"#/properties/a/items/anyOf/0"},"c":{"$ref":"#/properties/d/additionalProperties"},"d":{"type":"object","additionalProperties":{"not":{"type":"null"}}},"e":{"$ref":"#/properties/d/additionalProperties/not"}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"string","title":"deep"},{"type":"integer"}]}},"b":{"type":"string","title":"deep"},"c":{"not":{"type":"null"}},"d":{"type":"object","properties":{},"additionalProperties":{"not":{"type":"null"}}},"e":{"type":"null"}}}`,
		},
		{"a reference to a reference", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"boolean"}},"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}`, `{"type":"object","properties":{"x":{"type":"boolean"}},"required":["x"]}`},
		{"what is unknown is kept", `{"x-own":1,"properties":{"a":{"type":"string","x-more":true}}}`, `{"type":"object","x-own":1,"properties":{"a":{"type":"string","x-more":true}}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tool := rawTool(test.schema)
			require.NoError(t, tool.Err())
			assert.JSONEq(t, test.want, string(tool.Spec().Schema))
		})
	}
}

func TestRawSchemaIsRefused(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, schema, want string }{
		{"no JSON", `{`, "cannot be read"},
		{"nothing", ``, "cannot be read"},
		{"null", `null`, "not the schema of an object"},
		{"a string", `{"type":"string"}`, "not the schema of an object"},
		{"several types", `{"type":["object","null"]}`, "not the schema of an object"},
		{"another document", `{"properties":{"a":{"$ref":"https://example.com/s"}}}`, `refers to "https://example.com/s"`},
		{"an anchor", `{"properties":{"a":{"$ref":"#x"},"b":{"$anchor":"x"}}}`, `refers to "#x"`},
		{"a path to nothing", `{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/properties"},"c":{"$ref":"#/anyOf/7"}}}`, `refers to "#/`},
		{"a path that is none", `{"properties":{"a":{"$ref":"#/%zz"}}}`, "refers to"},
		{"itself at once", `{"allOf":[{"$ref":"#"}]}`, "refers to itself without end"},
		{"itself in a circle", `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}},"properties":{"a":{"$ref":"#/$defs/a"}}}`, "refers to itself without end"},
		{"itself if not", `{"properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`, "refers to itself without end"},
		{"itself by a dependency", `{"properties":{"a":{"dependentSchemas":{"x":{"$ref":"#/properties/a"}}}}}`, "refers to itself without end"},
		{"itself by an old dependency", `{"properties":{"a":{"dependencies":{"x":{"$ref":"#/properties/a"}}}}}`, "refers to itself without end"},
		{"dynamic", `{"properties":{"a":{"$dynamicRef":"#x"}}}`, "dynamic reference"},
		{"an id inside", `{"properties":{"a":{"$id":"https://example.com/"}}}`, "has an id"},
		{"a bomb", `{"$defs":{` + bomb("allOf", 20) + `},"properties":{"a":{"$ref":"#/$defs/n0"}}}`, "too many parts"},
		{"a bad pattern", `{"properties":{"a":{"pattern":"("}}}`, "pattern"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tool := rawTool(test.schema)
			require.ErrorContains(t, tool.Err(), `tools: tool "tool": `)
			require.ErrorContains(t, tool.Err(), test.want)
			_, err := tool.Check(nil)
			require.Error(t, err)
			_, err = tools.NewSet(tool)
			require.Error(t, err)
		})
	}
	for want, tool := range map[string]tools.Tool{
		"no function":    tools.Raw(llm.ToolSpec{Name: "a", Description: "A.", Schema: json.RawMessage(`{}`)}, nil),
		"no description": tools.Raw(llm.ToolSpec{Name: "a", Schema: json.RawMessage(`{}`)}, nothing),
	} {
		require.ErrorContains(t, tool.Err(), want)
	}
}

// bomb returns n definitions, each of which refers to the next one twice.
func bomb(keyword string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"n%d":{"%s":[{"$ref":"#/$defs/n%d"},{"$ref":"#/$defs/n%d"}]},`, i, keyword, i+1, i+1)
	}
	return b.String() + fmt.Sprintf(`"n%d":{}`, n)
}

// TestRawSchemaThatMultiplies proves that the schema for the model stays below 400,000 bytes if
// each level of nesting doubles the number of references.
func TestRawSchemaThatMultiplies(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, `"n%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/n%d"},"b":{"$ref":"#/$defs/n%d"}}},`, i, i+1, i+1)
	}
	tool := rawTool(`{"$defs":{` + b.String() + `"n30":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/n0"}}}`)
	require.NoError(t, tool.Err())
	assert.Less(t, len(tool.Spec().Schema), 400_000)
	assert.NotContains(t, string(tool.Spec().Schema), "$ref")
	_, err := tool.Check(json.RawMessage(`{"x":{"a":{"b":{"a":7}}}}`))
	require.ErrorContains(t, err, "x.a.b.a: want an object, got 7")
}

func TestRawArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	const schema = `{
		"$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v"],"additionalProperties":false}},
		"properties":{
			"unit":{"enum":["c","f",3,null]},"kind":{"const":"x"},"code":{"type":"string","pattern":"^[A-Z]{2}$"},
			"name":{"type":"string","minLength":2,"maxLength":4},"short":{"type":"string","maxLength":2},"long":{"type":"string","minLength":3},
			"age":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},"step":{"type":"number","multipleOf":0.5},"low":{"type":"number","maximum":3},
			"list":{"type":"array","minItems":1,"maxItems":2},"full":{"type":"array","minItems":1},"few":{"type":"array","maxItems":1},
			"either":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/node"}]},"one":{"oneOf":[{"type":"integer"},{"type":"boolean"}]},
			"both":{"allOf":[{"type":"string"},{"minLength":2}]},"maybe":{"type":["string","null"]},"two":{"type":["string","integer"]},"tree":{"$ref":"#/$defs/node"},
			"unique":{"type":"array","uniqueItems":true},"pair":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}},
			"deep":{"anyOf":[{"anyOf":[{"anyOf":[{"anyOf":[{"type":"string"}]}]}]}]}
		},
		"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}`
	tests := []struct{ arguments, want string }{
		{`{"unit":"k"}`, `unit: want one of "c", "f", 3, null, got the string "k"`},
		{`{"unit":4}`, `unit: want one of`},
		{`{"kind":"y"}`, `kind: want "x", got the string "y"`},
		{`{"code":"abc"}`, `code: want a string that matches ^[A-Z]{2}$, got the string "abc"`},
		{`{"name":"a"}`, `name: want a string of 2 to 4 characters, got the string "a"`},
		{`{"short":"äöü"}`, `short: want a string of at most 2 characters`},
		{`{"long":"äö"}`, `long: want a string of at least 3 characters`},
		{`{"age":0}`, `age: want an integer above 0 below 10, got 0`},
		{`{"age":10}`, `age: want an integer above 0 below 10, got 10`},
		{`{"step":1.3}`, `step: want a number that is a multiple of 0.5, got 1.3`},
		{`{"low":4}`, `low: want a number of at most 3, got 4`},
		{`{"list":[]}`, `list: want an array of 1 to 2, got 0`},
		{`{"full":[]}`, `full: want an array of at least 1, got 0`},
		{`{"few":[1,2]}`, `few: want an array of at most 1, got 2`},
		{`{"either":3}`, `either: want a string or an object, got 3`},
		{`{"either":{"v":"x"}}`, `either.v: want an integer, got the string "x"`},
		{`{"one":"x"}`, `one: want an integer or true or false, got the string "x"`},
		{`{"both":"x"}`, `both: want a value of at least 2 characters, got the string "x"`},
		{`{"maybe":3}`, `maybe: want a string or null, got 3`},
		{`{"two":true}`, `two: want a string or an integer, got true`},
		{`{"tree":{"kids":[{"v":1,"kids":[{"v":"x"}]}]}}`, `tree.v: is missing; want an integer; tree.kids[0].kids[0].v: want an integer, got the string "x"`},
		{`{"unique":[1,1]}`, `unique`},
		{`{"pair":[1,"x"]}`, `pair`},
		{`{"other":1}`, `other`},
		{`{"deep":1}`, `deep`},
	}
	set := mustSet(t, rawTool(schema))
	for _, test := range tests {
		answer := mustCall(t, set, llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(test.arguments)}, tools.Options{})
		assert.Equal(t, llm.StatusError, answer.Status, test.arguments)
		assert.Contains(t, answer.Text(), test.want)
	}
	for _, good := range []string{`{}`, `{"unit":null}`, `{"unit":3.0}`, `{"either":{"v":1}}`, `{"either":"x","one":true,"maybe":null}`, `{"x-a":"b"}`, `{"tree":{"v":1,"kids":[{"v":2,"kids":[]}]}}`, `{"step":1.5,"age":9}`, `{"two":null}`} {
		_, err := rawTool(schema).Check(json.RawMessage(good))
		require.NoError(t, err, good)
	}
}

// TestCheckEnds proves that the check of recursive alternatives ends.
func TestCheckEnds(t *testing.T) {
	t.Parallel()
	tool := rawTool(`{"$defs":{"n":{"anyOf":[{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}},{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}}},{"type":"integer"}]}},"properties":{"a":{"$ref":"#/$defs/n"}}}`)
	nested := func(n int, inner string) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, n) + inner + strings.Repeat(`}`, n))
	}
	_, err := tool.Check(nested(8, `1`))
	require.NoError(t, err)
	start := time.Now()
	for _, n := range []int{10, 14, 18, 100, 5000} {
		_, err := tool.Check(nested(n, `"x"`))
		require.Error(t, err, "%d levels", n)
		if n > 14 {
			require.ErrorContains(t, err, "nested too deep")
		}
	}
	assert.Less(t, time.Since(start), 20*time.Second)
}

func TestRawArgumentsReadAreWhatWasChecked(t *testing.T) {
	t.Parallel()
	tool := rawTool(`{"properties":{"a":{"type":"integer"},"b":{"type":["string","null"]}}}`)
	got, err := tool.Check(json.RawMessage(` {"b":null,"a":1,"a":2.0,"c":"<&>","d":null}`))
	require.NoError(t, err)
	assert.Equal(t, `{"a":2,"b":null,"c":"<&>","d":null}`, string(got))
	answer := mustCall(t, mustSet(t, tool), llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{"a":null}`)}, tools.Options{})
	assert.Equal(t, `{}`, answer.Text())
}

type (
	tree struct {
		Name string  `json:"name"`
		Kids []*tree `json:"kids,omitempty"`
	}
	list  []list
	index map[string]index
	array [1]map[string]array
	ping  struct {
		Pong *pong `json:"pong"`
	}
	pong struct {
		Ping ping `json:"ping,omitzero"`
	}
	shapesOf struct {
		Tree  tree  `json:"tree"`
		List  list  `json:"list,omitempty"`
		Index index `json:"index,omitempty"`
		Array array `json:"array,omitempty"`
		Ping  *ping `json:"ping"`
	}
	wide struct{ A, B, C, D, E, F, G, H *wide }
)

// TestSchemaOfRecursiveTypes proves that a recursive type is written out a few levels deep,
// and checked to any depth.
func TestSchemaOfRecursiveTypes(t *testing.T) {
	t.Parallel()
	assert.JSONEq(t, `{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":
		{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":
		{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":
		{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":
		{"type":"object","properties":{},"description":"the same kind of value again"}}},"required":["name"],"additionalProperties":false}}},"required":["name"],"additionalProperties":false}}},"required":["name"],"additionalProperties":false}}},"required":["name"],"additionalProperties":false}`, string(returning(tree{}).Spec().Schema))
	schema := string(returning(shapesOf{}).Spec().Schema)
	for _, keyword := range []string{"$ref", "$defs", `"null"`} {
		assert.NotContains(t, schema, keyword)
	}
	assert.Less(t, len(returning(wide{}).Spec().Schema), 20_000, "the schema of a wide type")
	var got shapesOf
	deep := strings.Repeat(`{"name":"x","kids":[`, 50) + strings.Repeat(`]}`, 50)
	answer := callWith(t, capture(&got), `{"tree":`+deep+`,"list":[[],[[]]],"index":{"a":{"b":{}}},"array":[{"x":[{}]}],"ping":{"pong":{"ping":{"pong":null}}}}`)
	require.Equal(t, "ok", answer.Text())
	assert.Len(t, got.List, 2)
	assert.Nil(t, got.Ping.Pong.Ping.Pong)
	bad := strings.Replace(deep, `"kids":[]`, `"kids":[{"nam":1}]`, 1)
	assert.Contains(t, callWith(t, capture(&got), `{"tree":`+bad+`}`).Text(), strings.Repeat("kids[0].", 50)+"nam: there is no such field; the fields are name, kids")
}

func TestSchemaEnums(t *testing.T) {
	t.Parallel()
	type in struct {
		Unit  string   `json:"unit" enum:"celsius, fahrenheit"`
		Days  *int     `json:"days" enum:"1,3,7"`
		Tags  []string `json:"tags,omitempty" enum:"a,b"`
		Ratio float64  `json:"ratio,omitempty" enum:"0.5,1"`
	}
	assert.JSONEq(t, `{"type":"object","properties":{"unit":{"type":"string","enum":["celsius","fahrenheit"]},"days":{"type":"integer","enum":[1,3,7]},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},"ratio":{"type":"number","enum":[0.5,1]}},"required":["unit"],"additionalProperties":false}`, string(returning(in{}).Spec().Schema))
	var got in
	require.Equal(t, "ok", callWith(t, capture(&got), `{"unit":"fahrenheit","days":3.0,"tags":["b"],"ratio":0.5}`).Text())
	assert.Equal(t, 3, *got.Days)
	answer := callWith(t, capture(&got), `{"unit":"kelvin","days":2,"tags":["a","c"],"ratio":1.5}`).Text()
	for _, want := range []string{`unit: want one of "celsius", "fahrenheit", got the string "kelvin"`, `days: want one of 1, 3, 7, got 2`, `tags[1]: want one of "a", "b"`, `ratio: want one of 0.5, 1, got 1.5`, `for example: {"unit":"celsius"}`} {
		assert.Contains(t, answer, want)
	}
	type bad struct {
		On  bool `json:"on" enum:"true"`
		Num int  `json:"num" enum:"x"`
	}
	type inner struct {
		List []map[string][]bad `json:"list"`
	}
	require.ErrorContains(t, returning(inner{}).Err(), "inner.List[][][].On: enum tag")
	type number struct {
		N int `json:"n" enum:"1,x"`
	}
	require.ErrorContains(t, returning(number{}).Err(), "enum tag")
	var many strings.Builder
	for i := range 30 {
		many.WriteString(`"v` + strings.Repeat("x", i) + `",`)
	}
	answer = callWith(t, rawTool(`{"properties":{"a":{"enum":[`+many.String()+`1]}}}`), `{"a":"q"}`).Text()
	assert.Contains(t, answer, ", …, got")
	assert.NotContains(t, answer, strings.Repeat("x", 20))
}

// TestExamplesFit proves that an example fits the schema, and that no example is shown if
// none was found.
func TestExamplesFit(t *testing.T) {
	t.Parallel()
	tests := []struct{ schema, want string }{
		{`{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":"<a>"}`},
		{`{"properties":{"a":{"type":"string"}}}`, ``},
		{`{"properties":{"a":{"type":"string","pattern":"^x$"}},"required":["a"]}`, ``},
		{`{"properties":{"a":{"type":"string","examples":["x"]},"b":{"default":7},"c":{"const":[1]},"d":{"enum":["e"]}},"required":["a","b","c","d"]}`, `{"a":"x","b":7,"c":[1],"d":"e"}`},
		{`{"properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"email"}},"required":["a","b"]}`, `{"a":"2026-01-31T15:04:05Z","b":"name@example.com"}`},
		{`{"properties":{"a":{"type":"integer","minimum":3},"b":{"type":"number","exclusiveMinimum":3},"c":{"type":"integer","maximum":-3},"d":{"type":"integer","multipleOf":4},"e":{"type":"boolean"}},"required":["a","b","c","d","e"]}`, `{"a":3,"b":4,"c":-3,"d":4,"e":true}`},
		{`{"properties":{"a":{"type":"array","minItems":2,"items":{"type":"object","properties":{"x":{}},"required":["x"]}},"b":{"type":"array"}},"required":["a","b"]}`, `{"a":[{"x":"<x>"},{"x":"<x>"}],"b":[]}`},
		{`{"properties":{"a":{"anyOf":[{"type":"integer"},{"type":"string"}]},"b":{"allOf":[{"type":"boolean"}]}},"required":["a","b"]}`, `{"a":1,"b":true}`},
		{`{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}},"properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}`, ``},
		{`{"properties":{"` + strings.Repeat("a", 500) + `":{}},"required":["` + strings.Repeat("a", 500) + `"]}`, ``},
	}
	for _, test := range tests {
		_, err := rawTool(test.schema).Check(json.RawMessage(`[]`))
		_, got, _ := strings.Cut(err.Error(), "for example: ")
		assert.Equal(t, test.want, got, test.schema)
	}
}

func TestAnnotations(t *testing.T) {
	t.Parallel()
	a := tools.Annotations{Title: "T", Category: "c", Action: "a", Destructive: true, ReadOnly: true, Idempotent: true, OpenWorld: true}
	plain := doing("tool", nil2)
	assert.Equal(t, a, plain.Annotate(a).Annotations())
	assert.Zero(t, plain.Annotations())
}

func TestRawSetIsARequest(t *testing.T) {
	t.Parallel()
	set := mustSet(t, rawTool(`{}`))
	r := llm.Request{Messages: []llm.Message{llm.User("hi")}, Tools: set.Specs()}
	require.NoError(t, r.Validate())
	var names []string
	for _, tool := range set.Tools() {
		names = append(names, tool.Name())
	}
	assert.Equal(t, set.Names(), names)
}
