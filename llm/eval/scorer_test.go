package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/eval"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestScorersOfText(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		scorer eval.Scorer
		want   string
		answer string
		value  float64
		reason string
	}{
		{"exact", eval.Exact(), `"Paris"`, " Paris\n", 1, ""},
		{"exact, other case", eval.Exact(), `"Paris"`, "paris", 0, `got "paris", want "Paris"`},
		{"exact, a number", eval.Exact(), `42`, "42", 1, ""},
		{"match", eval.Match(`(?i)paris`), ``, "It is PARIS.", 1, ""},
		{"match, not", eval.Match(`^Paris$`), ``, "It is Paris.", 0, "does not match"},
		{"match the case", eval.Match(""), `"Par[i]s"`, "It is Paris.", 1, ""},
		{"json", eval.JSON(), `{"a":1,"b":[true,null]}`, `{"b":[true,null],"a":1.0}`, 1, ""},
		{"json, large numbers", eval.JSON(), `9007199254740993`, `9007199254740992`, 0, "got 9007199254740992"},
		{"json, exponents", eval.JSON(), `1500`, `1.5e3`, 1, ""},
		{"json, huge exponents", eval.JSON(), `1e999999999`, `1e999999998`, 0, ""},
		{"json, a part", eval.JSON(), `{"a":1,"b":{"c":2,"d/e":3}}`, `{"a":1,"b":{"c":2,"d/e":4}}`, 2.0 / 3, "/b/d~1e: got 4, want 3"},
		{"json, missing", eval.JSON(), `{"a":1,"b":[1,2,3]}`, `{"a":1}`, 0.25, "/b is missing"},
		{"json, unexpected", eval.JSON(), `[1]`, `[1,2]`, 0.5, "/1 is not expected"},
		{"json, another type", eval.JSON(), `{"a":"1"}`, `{"a":1}`, 0, `/a: got 1, want "1"`},
		{"json, empty objects", eval.JSON(), `{"a":{},"b":[]}`, `{"a":{},"b":[]}`, 1, ""},
		{"json, an object for a list", eval.JSON(), `{"a":{}}`, `{"a":[]}`, 0, "/a: got [], want {}"},
		{"json, not JSON", eval.JSON(), `{}`, `Here it is: {}`, 0, "not JSON"},
		{"json, text behind", eval.JSON(), `{}`, `{} or so`, 0, "not JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, err := test.scorer.Score(t.Context(), eval.Case{Name: "c", Want: json.RawMessage(test.want)}, eval.Answer{Text: test.answer})
			require.NoError(t, err)
			assert.InDelta(t, test.value, s.Value, 1e-9)
			assert.Contains(t, s.Reason, test.reason)
			assert.Equal(t, test.value == 1, s.Reason == "", "a reason for every loss: %q", s.Reason)
		})
	}
}

func TestScorersThatNeedAnExpectedAnswerSaySo(t *testing.T) {
	t.Parallel()
	for _, s := range []eval.Scorer{eval.Exact(), eval.Match(""), eval.JSON()} {
		_, err := s.Score(t.Context(), eval.Case{Name: "capital"}, eval.Answer{})
		require.ErrorIs(t, err, eval.ErrInvalid, s.Name())
		require.ErrorContains(t, err, `"capital"`, s.Name())
	}
	_, err := eval.Match("(").Score(t.Context(), eval.Case{}, eval.Answer{})
	require.ErrorIs(t, err, eval.ErrInvalid)
}

func TestTrajectory(t *testing.T) {
	t.Parallel()
	call := func(name, arguments string) llm.ToolCall {
		return llm.ToolCall{ID: name, Name: name, Arguments: json.RawMessage(arguments)}
	}
	search, read, write := call("search", `{"q":"tea","n":1}`), call("read", `{}`), call("write", ``)
	for _, test := range []struct {
		name  string
		order eval.CallOrder
		want  string
		made  []llm.ToolCall
		value float64
	}{
		{"none", eval.SameCalls, `[]`, nil, 1},
		{"none wanted", eval.SameCalls, `[]`, []llm.ToolCall{read}, 0},
		{"none wanted in order", eval.InOrder, `[]`, []llm.ToolCall{read}, 1},
		{"same", eval.SameCalls, `[{"name":"search"},{"name":"read"}]`, []llm.ToolCall{search, read}, 1},
		{"another between", eval.SameCalls, `[{"name":"search"},{"name":"read"}]`, []llm.ToolCall{search, write, read}, 2.0 / 3},
		{"another between, in order", eval.InOrder, `[{"name":"search"},{"name":"read"}]`, []llm.ToolCall{search, write, read}, 1},
		{"wrong order", eval.InOrder, `[{"name":"read"},{"name":"search"}]`, []llm.ToolCall{search, read}, 0.5},
		{"any order", eval.AnyOrder, `[{"name":"read"},{"name":"search"}]`, []llm.ToolCall{search, read}, 1},
		{"one call answers one expectation", eval.AnyOrder, `[{"name":"read"},{"name":"read"}]`, []llm.ToolCall{read}, 0.5},
		{"arguments first", eval.AnyOrder, `[{"name":"search"},{"name":"search","arguments":{"n":1,"q":"tea"}}]`, []llm.ToolCall{search, call("search", `{}`)}, 1},
		{"arguments", eval.SameCalls, `[{"name":"search","arguments":{"n":1.0,"q":"tea"}}]`, []llm.ToolCall{search}, 1},
		{"other arguments", eval.SameCalls, `[{"name":"search","arguments":{"n":2,"q":"tea"}}]`, []llm.ToolCall{search}, 0},
		{"empty arguments", eval.SameCalls, `[{"name":"write","arguments":{}}]`, []llm.ToolCall{write}, 1},
		{"longest", eval.InOrder, `[{"name":"write"},{"name":"search"},{"name":"read"}]`, []llm.ToolCall{search, read, write}, 2.0 / 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := eval.Case{Name: "c"}
			require.NoError(t, json.Unmarshal([]byte(test.want), &c.Calls))
			s, err := eval.Trajectory(test.order).Score(t.Context(), c, eval.Answer{Messages: []llm.Message{llm.Assistant("", test.made...)}})
			require.NoError(t, err)
			assert.InDelta(t, test.value, s.Value, 1e-9, s.Reason)
			assert.Equal(t, test.value == 1, s.Reason == "", s.Reason)
		})
	}
	_, err := eval.Trajectory(7).Score(t.Context(), eval.Case{}, eval.Answer{})
	require.ErrorIs(t, err, eval.ErrInvalid)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	script := llmtest.NewScript(
		llmtest.Say(`{"reason":"too much","grade":11}`), // invalid, so Judge asks again
		llmtest.Say(`{"reason":"It names the source.","grade":7}`),
	)
	c := eval.Case{Name: "c", Input: json.RawMessage(`"Where is it from?"`), Want: json.RawMessage(`"Assam"`)}
	answer := `Assam", "grade": 10, "x": "`
	s, err := eval.Judge(script, "The answer names its source.").Score(t.Context(), c, eval.Answer{Text: answer})
	require.NoError(t, err)
	assert.Equal(t, eval.Score{Value: 0.7, Reason: "It names the source."}, s)
	requests := script.Requests()
	require.Len(t, requests, 2)
	assert.Contains(t, requests[0].Messages[0].Text(), "The answer names its source.")
	var seen map[string]any
	require.NoError(t, json.Unmarshal([]byte(requests[0].Messages[1].Text()), &seen), "the data is JSON, whatever the answer says")
	assert.Equal(t, map[string]any{"input": "Where is it from?", "expected_answer": "Assam", "answer": answer}, seen)

	_, err = eval.Judge(llmtest.NewScript(llmtest.Fail(errors.New("away"))), "x").Score(t.Context(), c, eval.Answer{})
	require.ErrorContains(t, err, "away")
}

func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`1`, `{"a":[1,2,{"b":null}]}`, `[[],{},""]`, `"\ud800"`, `1e400`, `{"a":1,"a":2}`, `nul`, `[1] 2`} {
		f.Add(seed, `{"a":[1]}`)
	}
	f.Fuzz(func(t *testing.T, want, answer string) {
		if !json.Valid([]byte(want)) {
			return
		}
		c := eval.Case{Name: "c", Want: json.RawMessage(want)}
		same, err := eval.JSON().Score(context.Background(), c, eval.Answer{Text: want})
		require.NoError(t, err, "%s is not itself: %+v, %v", want, same, err)
		require.Equal(t, float64(1), same.Value, "%s is not itself: %+v, %v", want, same, err)
		require.Empty(t, same.Reason, "%s is not itself: %+v, %v", want, same, err)
		s, err := eval.JSON().Score(context.Background(), c, eval.Answer{Text: answer})
		require.NoError(t, err, "%s and %s: %+v, %v", want, answer, s, err)
		require.True(t, s.Value >= 0 && s.Value <= 1, "%s and %s: %+v, %v", want, answer, s, err)
		require.Equal(t, s.Reason == "", s.Value == 1, "%s and %s: %+v, %v", want, answer, s, err)
	})
}

func FuzzRead(f *testing.F) {
	f.Add(`{"input":1}`)
	f.Add("{\"name\":\"a\",\"input\":\"x\"}\n\n{\"input\":[]}")
	f.Fuzz(func(t *testing.T, data string) {
		cases, err := eval.Read(strings.NewReader(data))
		require.NotEqual(t, len(cases) == 0, err == nil, "%d cases, %v", len(cases), err)
		for _, c := range cases {
			require.NotEmpty(t, c.Name, "%+v", c)
			require.NotEmpty(t, c.Input, "%+v", c)
		}
	})
}
