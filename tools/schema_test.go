package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

type (
	treeNode struct {
		Name  string    `json:"name"`
		Left  *treeNode `json:"left,omitempty"`
		Right *treeNode `json:"right,omitempty"`
	}
	rooted struct {
		Root *treeNode `json:"root"`
	}
	kids    struct{ Kids []kids }
	holders struct{ Kids []kids }
	labels  struct {
		Unit   string         `json:"unit" enum:"celsius,fahrenheit" jsonschema:"of the result"`
		Number json.Number    `json:"number"`
		Counts map[string]int `json:"counts"`
		Open   any            `json:"open"`
	}
	either struct {
		_     llm.OneOf
		Point *point `json:"point,omitempty"`
		Name  *struct {
			Text string `json:"text"`
		} `json:"name,omitempty"`
	}
)

// checkShared proves that a type has one schema as the arguments of a tool and as an answer,
// and that both accept and reject the same values, with the same problem.
func checkShared[T any](t *testing.T, good, bad, problem string) {
	t.Helper()
	var got T
	tool := capture(&got)
	require.NoError(t, tool.Err())
	answer, err := llm.NewAnswerTool[T]("answer")
	require.NoError(t, err)
	assert.JSONEq(t, string(answer.Spec().Schema), string(tool.Spec().Schema))

	want, err := answer.Read(llm.ToolCall{Name: "answer", Arguments: json.RawMessage(good)})
	require.NoError(t, err)
	assert.Equal(t, "ok", callWith(t, tool, good).Text())
	assert.Equal(t, want, got)

	_, err = answer.Read(llm.ToolCall{Name: "answer", Arguments: json.RawMessage(bad)})
	require.ErrorContains(t, err, problem)
	assert.Contains(t, callWith(t, tool, bad).Text(), problem)
}

// TestToolsAndAnswersShareSchemas proves that enums, numbers, unions and recursive types mean
// the same in package tools and in llm.As.
func TestToolsAndAnswersShareSchemas(t *testing.T) {
	t.Parallel()
	checkShared[rooted](t, `{"root":{"name":"a","left":{"name":"b"}}}`, `{"root":{"name":"a","left":{"name":1}}}`, "root.left.name: want a string, got 1")
	checkShared[treeNode](t, `{"name":"a"}`, `{"name":"a","left":{}}`, "left.name: is missing; want a string")
	checkShared[holders](t, `{"Kids":[{"Kids":[]}]}`, `{"Kids":[{}]}`, "Kids[0].Kids: is missing; want an array")
	checkShared[labels](t, `{"unit":"celsius","number":7.5,"counts":{"a":1},"open":null}`, `{"unit":"kelvin","number":7,"counts":{},"open":1}`,
		`unit: want one of "celsius", "fahrenheit", got the string "kelvin"`)
	checkShared[labels](t, `{"unit":"celsius","number":7,"counts":{},"open":1}`, `{"unit":"celsius","number":"7","counts":{},"open":1}`,
		`number: want a number, got the string "7"`)
	checkShared[either](t, `{"point":{"x":1,"y":2}}`, `{"point":{"x":1,"y":2},"name":{"text":"a"}}`,
		"want an object with exactly one of the fields point, name, got the fields name, point")
}

// TestRecursiveTypeCannotHaveABound proves that a Bound in a recursive type is an error,
// because only the outermost struct would get the value.
func TestRecursiveTypeCannotHaveABound(t *testing.T) {
	t.Parallel()
	type loop struct {
		User tools.Bound[userID]
		Next *loop
	}
	require.ErrorContains(t, returning(loop{}).Err(), "a type that contains itself cannot have a Bound")
}
