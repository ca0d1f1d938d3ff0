package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// TestCallsNeedIdsOfTheirOwn proves that no call of a message runs if a call has no id or
// two calls have the same id.
func TestCallsNeedIdsOfTheirOwn(t *testing.T) {
	t.Parallel()
	nameless := numbered(1, "tool")
	nameless.ID = ""
	for name, calls := range map[string][]llm.ToolCall{
		"one id twice":                       {numbered(1, "tool"), numbered(1, "tool")},
		"one id twice, with other arguments": {numbered(1, "tool"), {ID: "call_1", Name: "tool", Arguments: json.RawMessage(`{"n":2}`)}},
		"no id":                              {nameless},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ran []int
			set := mustSet(t, counting(&ran))
			d := &approver{}
			o := tools.Options{Once: new(onceStore).once, Approval: d.policy(tools.Named("*"))}
			for range 2 {
				answers, err := set.CallAll(t.Context(), calls, o)
				require.ErrorIs(t, err, tools.ErrCallID)
				assert.Nil(t, answers)
				d.decideAll(tools.Question.Approve)
			}
			assert.Empty(t, ran)
			assert.Empty(t, d.answers)
		})
	}
	_, err := mustSet(t, doubling()).Call(t.Context(), llm.ToolCall{Name: "double"}, tools.Options{})
	assert.ErrorIs(t, err, tools.ErrCallID)
}

type moody struct{}

func (*moody) UnmarshalJSON([]byte) error { panic("not today") }

// TestPanicOfArguments proves that a panic of an argument type's UnmarshalJSON is answered
// as an invalid argument, in a call, in Check and in an edit.
func TestPanicOfArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		Mood moody `json:"mood,omitzero"`
	}
	tool := tools.New("tool", "Does something.", func(context.Context, in) (string, error) { return "done", nil })
	answer := callWith(t, tool, `{"mood":1}`)
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.Equal(t, "invalid arguments for tool: panic: not today", answer.Text())
	_, err := tool.Check(json.RawMessage(`{"mood":1}`))
	assert.Error(t, err, "Check found nothing wrong")
	d := &approver{}
	o := tools.Options{Approval: d.policy(tools.Named("*"))}
	call := llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{}`)}
	for range 2 {
		_, err := mustSet(t, tool).Call(t.Context(), call, o)
		require.Error(t, err, "the call did not wait")
		d.decideAll(func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{"mood":1}`)) })
	}
	assert.Empty(t, d.open)
	assert.Len(t, d.answers, 2)
}

// TestPanicsOfTheOptions proves that a panic of a function in the options fails the call
// and does not end the program.
func TestPanicsOfTheOptions(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, o := range map[string]tools.Options{
		"Emit":  {Emit: func(context.Context, any) { panic(boom) }},
		"Clean": {Clean: func(llm.ToolCall, string) string { panic(boom) }},
		"Once": {Once: func(context.Context, string, func(context.Context) (llm.Message, error)) (llm.Message, error) {
			panic(boom)
		}},
		"OnError": {OnError: func(llm.ToolCall, error) (string, error) { panic(boom) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := mustSet(t, failing(errors.New("it failed")))
			_, err := set.CallAll(t.Context(), []llm.ToolCall{numbered(1, "tool"), numbered(2, "tool")}, o)
			_, ok := errors.AsType[*tools.PanicError](err)
			require.True(t, ok, "CallAll")
			require.ErrorIs(t, err, boom, "CallAll")
			assert.Contains(t, err.Error(), "call_2", "CallAll")
			_, err = set.Run(t.Context(), numbered(1, "tool"), o)
			_, ok = errors.AsType[*tools.PanicError](err)
			require.True(t, ok, "Run")
			assert.ErrorIs(t, err, boom, "Run")
		})
	}
}

// TestEditWithoutArguments proves that an edit without arguments is invalid, and does not
// mean an edit to empty arguments.
func TestEditWithoutArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		ID string `json:"id,omitempty"`
	}
	for _, arguments := range []string{"", "null", " \n"} {
		ran := 0
		set := mustSet(t, tools.New("tool", "Deletes one, or all.", func(context.Context, in) (string, error) { ran++; return "deleted", nil }))
		var problem string
		ask := func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
			if problem = q.Problem; problem != "" {
				return q.Reject("never mind"), nil
			}
			return q.Edit(json.RawMessage(arguments)), nil
		}
		call := llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{"id":"7"}`)}
		answer, err := set.Call(t.Context(), call, tools.Options{Approval: tools.Approval{Rule: tools.Named("*"), Ask: ask}})
		require.NoError(t, err, arguments)
		assert.Zero(t, ran, arguments)
		assert.Equal(t, "there are no new arguments", problem, arguments)
		assert.Equal(t, llm.StatusError, answer.Status, arguments)
	}
}

// TestQuestionIsACopy proves that Approval.Ask cannot change the arguments with which the
// tool runs.
func TestQuestionIsACopy(t *testing.T) {
	t.Parallel()
	var got string
	tool := tools.Raw(llm.ToolSpec{Name: "tool", Description: "Does.", Schema: json.RawMessage(`{}`)}, func(_ context.Context, arguments json.RawMessage) (tools.Result, error) {
		got = string(arguments)
		return tools.Result{}, nil
	})
	ask := func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
		d := q.Approve()
		copy(q.Arguments, strings.Repeat(" ", len(q.Arguments)))
		return d, nil
	}
	call := llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{"id":"7"}`)}
	mustCall(t, mustSet(t, tool), call, tools.Options{Approval: tools.Approval{Rule: tools.Named("*"), Ask: ask}})
	assert.Equal(t, `{"id":"7"}`, got)
}

// TestNilRules proves that a zero Rule selects nothing, and that Or, And and Not combine it
// like any rule that selects nothing.
func TestNilRules(t *testing.T) {
	t.Parallel()
	var none tools.Rule
	all := tools.Named("*")
	for i, test := range []struct {
		rule tools.Rule
		want bool
	}{
		{none.Or(all), true},
		{all.Or(none), true},
		{none.Or(none), false},
		{none.And(all), false},
		{all.And(none), false},
		{none.Not(), true},
		{none, false},
	} {
		asked := false
		ask := func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
			asked = true
			return q.Approve(), nil
		}
		set := mustSet(t, doing("tool", func(context.Context, int) (string, error) { return "", nil }))
		_, err := set.CallAll(t.Context(), []llm.ToolCall{numbered(1, "tool")}, tools.Options{Approval: tools.Approval{Rule: test.rule, Ask: ask}})
		require.NoError(t, err, "rule %d", i)
		assert.Equal(t, test.want, asked, "rule %d", i)
	}
}
