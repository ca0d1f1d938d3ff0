package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// Calls that can not be told apart run nothing: not what a person approved for
// the other, nor a tool whose answer has nowhere to go.
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
			d := &desk{}
			o := tools.Options{Once: new(memo).once, Approval: d.policy(tools.Named("*"))}
			for range 2 {
				answers, err := set.CallAll(t.Context(), calls, o)
				if !errors.Is(err, tools.ErrCallID) || answers != nil {
					t.Errorf("got %v, %v", answers, err)
				}
				d.settle(tools.Question.Approve)
			}
			if len(ran) > 0 || len(d.answers) > 0 {
				t.Errorf("ran %v after %d answers", ran, len(d.answers))
			}
		})
	}
	if _, err := mustSet(t, doubling()).Call(t.Context(), llm.ToolCall{Name: "double"}, tools.Options{}); !errors.Is(err, tools.ErrCallID) {
		t.Errorf("got %v", err)
	}
}

type moody struct{}

func (*moody) UnmarshalJSON([]byte) error { panic("not today") }

// A type of arguments that panics at what a model wrote is answered, wherever it
// is read.
func TestPanicOfArguments(t *testing.T) {
	t.Parallel()
	type in struct {
		Mood moody `json:"mood,omitzero"`
	}
	tool := tools.New("tool", "Does something.", func(context.Context, in) (string, error) { return "done", nil })
	answer := callWith(t, tool, `{"mood":1}`)
	if answer.Status != llm.StatusError || answer.Text() != "invalid arguments for tool: panic: not today" {
		t.Errorf("got %+v", answer)
	}
	if _, err := tool.Check(json.RawMessage(`{"mood":1}`)); err == nil {
		t.Error("Check found nothing wrong")
	}
	d := &desk{}
	o := tools.Options{Approval: d.policy(tools.Named("*"))}
	call := llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{}`)}
	for range 2 {
		if _, err := mustSet(t, tool).Call(t.Context(), call, o); err == nil {
			t.Fatal("the call did not wait")
		}
		d.settle(func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{"mood":1}`)) })
	}
	if len(d.open) != 0 || len(d.answers) != 2 {
		t.Errorf("%d answers", len(d.answers))
	}
}

// A panic of a function of the options fails the call, and never the program:
// calls run on goroutines that nobody else can recover.
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
			if _, ok := errors.AsType[*tools.PanicError](err); !ok || !errors.Is(err, boom) || !strings.Contains(err.Error(), "call_2") {
				t.Errorf("CallAll: got %v", err)
			}
			_, err = set.Run(t.Context(), numbered(1, "tool"), o)
			if _, ok := errors.AsType[*tools.PanicError](err); !ok || !errors.Is(err, boom) {
				t.Errorf("Run: got %v", err)
			}
		})
	}
}

// An edit without arguments is no call with none.
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
		if err != nil || ran != 0 || problem != "there are no new arguments" || answer.Status != llm.StatusError {
			t.Errorf("%q: ran %d times, problem %q, answer %v, %v", arguments, ran, problem, answer, err)
		}
	}
}

// Whoever is asked can not change what the tool runs with.
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
	if _, err := mustSet(t, tool).Call(t.Context(), call, tools.Options{Approval: tools.Approval{Rule: tools.Named("*"), Ask: ask}}); err != nil || got != `{"id":"7"}` {
		t.Errorf("got %q, %v", got, err)
	}
}

// A rule that was never set picks nothing, alone and within others.
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
		if err != nil || asked != test.want {
			t.Errorf("%s: asked %v, %v", fmt.Sprint("rule ", i), asked, err)
		}
	}
}
