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

// capture returns a tool that stores its arguments.
func capture[In any](into *In) tools.Tool {
	return tools.New("tool", "Does something.", func(_ context.Context, in In) (string, error) {
		*into = in
		return "ok", nil
	})
}

func callWith(t testing.TB, tool tools.Tool, arguments string) llm.Message {
	t.Helper()
	call := llm.ToolCall{ID: "call_1", Name: "tool", Arguments: json.RawMessage(arguments)}
	return mustCall(t, mustSet(t, tool), call, tools.Options{})
}

func TestArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	const rest = `"text":"a","count":1,"tags":[]`
	tests := []struct {
		name      string
		arguments string
		want      string
	}{
		{"cut off", `{"text":`, `not valid JSON: unexpected EOF; want JSON, got the string "{\"text\":"`},
		{"two values", `{} {}`, "not valid JSON: more than one value"},
		{"a value and more", `{}x`, "not valid JSON: more than one value"},
		{"too deep", strings.Repeat(`[`, 20000), "exceeded max depth"},
		{"a list", `[]`, "the arguments: want an object, got an array"},
		{"nothing", ``, "text: is missing; want a string; count: is missing; want an integer; tags: is missing; want an array"},
		{"null", ` null `, "text: is missing"},
		{"null for what is required", `{"text":null,"count":1,"tags":null}`, "tags: want an array, got null; text: want a string, got null"},
		{"an unknown field", `{` + rest + `,"txt":"a"}`, "txt: there is no such field; the fields are trace, text, count,"},
		{"another case", `{` + rest + `,"Maybe":3}`, "Maybe: there is no such field"},
		{"a string for an integer", `{"text":"a","count":"two","tags":[]}`, `count: want an integer, got the string "two"`},
		{"a fraction for an integer", `{"text":"a","count":1.5,"tags":[]}`, "count: want an integer, got 1.5"},
		{"a number for a string", `{"text":7,"count":1,"tags":[]}`, "text: want a string, got 7"},
		{"a word for a flag", `{` + rest + `,"on":"yes"}`, `on: want true or false, got the string "yes"`},
		{"a long string for a flag", `{` + rest + `,"on":"` + strings.Repeat("é", 50) + `"}`, `got the string "` + strings.Repeat("é", 40) + `…"`},
		{"an object for a number", `{` + rest + `,"ratio":{}}`, "ratio: want a number, got an object"},
		{"true for a number", `{` + rest + `,"ratio":true}`, "ratio: want a number, got true"},
		{"above the range", `{` + rest + `,"small":300}`, "small: want an integer from -128 to 127, got 300"},
		{"below the range", `{` + rest + `,"size":-1}`, "size: want an integer of at least 0, got -1"},
		{"too large to be a number", `{` + rest + `,"ratio":1e400}`, "ratio: number 1e400 does not fit (float64)"},
		{"too large to be an integer", `{` + rest + `,"size":1e400}`, "size: want an integer of at least 0, got 1e400"},
		{"too large inside anything", `{` + rest + `,"open":[1e400]}`, "number 1e400 does not fit"},
		{"too large beside another fault", `{"text":7,"count":1,"tags":[],"ratio":1e400}`, "ratio: want a number, got 1e400; text: want a string, got 7"},
		{"too large for its type", `{` + rest + `,"maybe":100000000000000000000}`, "maybe: number 100000000000000000000 does not fit (int)"},
		{"too large for a string", `{"text":1e400,"count":1,"tags":[]}`, "text: want a string, got 1e400"},
		{"inside a list", `{"text":"a","count":1,"tags":["a",2,null]}`, "tags[1]: want a string, got 2; tags[2]: want a string, got null"},
		{"inside an object", `{` + rest + `,"where":{"x":1,"z":2}}`, "where.y: is missing; want a number; where.z: there is no such field; the fields are x, y"},
		{"inside a map", `{` + rest + `,"labels":{"a":1,"b":"x"}}`, `labels.b: want an integer, got the string "x"`},
		{"inside a list of a map", `{` + rest + `,"named":{"a":[true,0]}}`, "named.a[1]: want true or false, got 0"},
		{"a list of the wrong length", `{` + rest + `,"corners":[]}`, "corners: want an array of 2, got 0"},
		{"no time", `{` + rest + `,"when":"tomorrow"}`, `when: want a time such as 2026-01-31T15:04:05Z, got the string "tomorrow"`},
		{"no base64", `{` + rest + `,"bytes":"*"}`, "illegal base64 data"},
		{"no address", `{` + rest + `,"address":"home"}`, `ParseAddr("home")`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			ran := everything{Text: "not run"}
			answer := callWith(t, capture(&ran), test.arguments)
			assert.Equal(t, "not run", ran.Text)
			assert.True(t, strings.HasPrefix(answer.Text(), "invalid arguments for tool: "), answer.Text())
			assert.Contains(t, answer.Text(), test.want)
			assert.Equal(t, llm.StatusError, answer.Status)
			assert.Equal(t, "call_1", answer.ToolCallID)
			assert.Equal(t, "tool", answer.Name)
		})
	}
}

func TestArgumentsOfAnyTypeCanBeMissing(t *testing.T) {
	t.Parallel()
	var in struct {
		Open any `json:"open"`
	}
	assert.Equal(t, `invalid arguments for tool: open: is missing; want a value; for example: {"open":"<open>"}`, callWith(t, capture(&in), `{}`).Text())
	assert.Equal(t, "ok", callWith(t, capture(&in), `{"open":null}`).Text())
}

func TestArgumentsProblemsAreLimited(t *testing.T) {
	t.Parallel()
	var arguments strings.Builder
	for i := range 30 {
		fmt.Fprintf(&arguments, `,"extra%02d":1`, i)
	}
	answer := callWith(t, capture(new(struct{})), "{"+arguments.String()[1:]+"}").Text()
	assert.Contains(t, answer, "extra09: there is no such field; there are no fields; and 20 more")
	assert.NotContains(t, answer, "extra10")
}

func TestArgumentsAreRead(t *testing.T) {
	t.Parallel()
	three := 3
	type numbers struct {
		I int64   `json:"i,omitempty"`
		U uint64  `json:"u,omitempty"`
		F float64 `json:"f,omitempty"`
		P *int    `json:"p"`
		N *point  `json:"n"`
		S string  `json:"s,omitempty"`
		O any     `json:"o,omitempty"`
		L []any   `json:"l,omitempty"`
	}
	tests := []struct {
		name      string
		arguments string
		want      numbers
	}{
		{"nothing", ``, numbers{}},
		{"space", " \n", numbers{}},
		{"null", `null`, numbers{}},
		{"no fields", `{}`, numbers{}},
		{"nulls for optional fields", `{"i":null,"u":null,"f":null,"p":null,"n":null,"s":null,"o":null,"l":null}`, numbers{}},
		{"every bit of an int64", `{"i":9223372036854775807}`, numbers{I: 9223372036854775807}},
		{"every bit of a uint64", `{"u":18446744073709551615}`, numbers{U: 18446744073709551615}},
		{"whole numbers as floats", `{"i":5.0,"u":1e3,"f":2.0,"p":3.0,"l":[1.0,1.5]}`, numbers{I: 5, U: 1000, F: 2, P: &three, L: []any{1.0, 1.5}}},
		{"a large whole float", `{"f":100000000000000000000000000000}`, numbers{F: 1e29}},
		{"a key twice", `{"n":{"x":1,"y":2},"n":{"x":3,"y":4}}`, numbers{N: &point{3, 4}}},
		{"anything", `{"o":{"a":[null,1]}}`, numbers{O: map[string]any{"a": []any{nil, 1.0}}}},
		{"text", `{"s":"<Grüße \u2028>"}`, numbers{S: "<Grüße \u2028>"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got numbers
			answer := callWith(t, capture(&got), test.arguments)
			require.Equal(t, "ok", answer.Text())
			assert.Equal(t, llm.StatusSuccess, answer.Status)
			assert.Equal(t, test.want, got)
		})
	}
}

// TestRepeatedKeyCountsOnce proves that the values of a repeated key are not merged after
// only one of them was checked.
func TestRepeatedKeyCountsOnce(t *testing.T) {
	t.Parallel()
	var got struct {
		Where map[string]int `json:"where"`
	}
	callWith(t, capture(&got), `{"where":{"a":1},"where":{"b":2}}`)
	assert.Equal(t, map[string]int{"b": 2}, got.Where)
}

func TestResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		tool tools.Tool
		want string
	}{
		{"a string as it is", returning(map[string]string{}), `{}`},
		{"text", text("a <b> \n"), "a <b> \n"},
		{"no text", text(""), ""},
		{"text that is not UTF-8", text("a\xffb"), "a\ufffdb"},
		{"a struct", returning(point{1, 2.5}), `{"x":1,"y":2.5}`},
		{"no HTML escapes", returning(map[string]string{"a": "<&>"}), `{"a":"<&>"}`},
		{"nil", returning[*struct{}](nil), "null"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			arguments := `{}`
			if test.name == "a struct" {
				arguments = `{"x":0,"y":0}`
			}
			answer := callWith(t, test.tool, arguments)
			assert.Equal(t, test.want, answer.Text())
			assert.Equal(t, llm.StatusSuccess, answer.Status)
		})
	}
}

func text(s string) tools.Tool {
	return tools.New("tool", "Does something.", func(context.Context, struct{}) (string, error) { return s, nil })
}

func TestResultThatCanNotBeWritten(t *testing.T) {
	t.Parallel()
	tool := tools.New("tool", "Does something.", func(context.Context, struct{}) (any, error) { return func() {}, nil })
	answer := callWith(t, tool, `{}`)
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.Contains(t, answer.Text(), "the result cannot be encoded as JSON")
}

// TestDecodingProblemsNameTheField proves that a problem which the schema cannot find, such
// as a string that is not a time, is reported with its field.
func TestDecodingProblemsNameTheField(t *testing.T) {
	t.Parallel()
	type in struct {
		From  time.Time     `json:"from"`
		To    *time.Time    `json:"to,omitempty"`
		Every time.Duration `json:"every,omitempty" jsonschema:"how often"`
		Photo []byte        `json:"photo,omitempty" jsonschema:"of the place"`
	}
	var got in
	tool := capture(&got)
	for arguments, want := range map[string]string{
		`{"from":"tomorrow","to":"2026-01-31"}`: "invalid arguments for tool: from: want a time such as 2026-01-31T15:04:05Z, got the string \"tomorrow\"; " +
			"to: want a time such as 2026-01-31T15:04:05Z, got the string \"2026-01-31\"",
		`{"from":"2026-01-31T15:04:05Z","photo":"?"}`: "invalid arguments for tool: illegal base64 data at input byte 0",
	} {
		assert.Equal(t, want, callWith(t, tool, arguments).Text())
	}
	require.Equal(t, "ok", callWith(t, tool, `{"from":"2026-01-31T15:04:05+02:00","to":null}`).Text())
	assert.Equal(t, 13, got.From.UTC().Hour())
	schema := string(tool.Spec().Schema)
	assert.Contains(t, schema, "how often (a duration in nanoseconds)")
	assert.Contains(t, schema, "of the place (bytes in base64)")
}
