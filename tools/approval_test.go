package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// memo is what graph.Once is in a graph: it outlives a run of the node.
type memo struct {
	mu     sync.Mutex
	values map[string]llm.Message
}

func (m *memo) once(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error) {
	m.mu.Lock()
	value, ok := m.values[key]
	m.mu.Unlock()
	if ok {
		return value, nil
	}
	value, err := call(ctx)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.values == nil {
			m.values = map[string]llm.Message{}
		}
		m.values[key] = value
	}
	return value, err
}

// desk answers questions, by their keys, as an interrupt does.
type desk struct {
	mu      sync.Mutex
	open    map[string]tools.Question
	answers map[string]tools.Decision
}

func (d *desk) ask(_ context.Context, key string, q tools.Question) (tools.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if answer, ok := d.answers[key]; ok {
		return answer, nil
	}
	if d.open == nil {
		d.open = map[string]tools.Question{}
	}
	d.open[key] = q
	return tools.Decision{}, waiting{true}
}

// settle answers every open question.
func (d *desk) settle(decide func(tools.Question) tools.Decision) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.answers == nil {
		d.answers = map[string]tools.Decision{}
	}
	n := len(d.open)
	for key, q := range d.open {
		d.answers[key] = decide(q)
	}
	d.open = nil
	return n
}

func (d *desk) policy(rule tools.Rule) tools.Approval { return tools.Approval{Rule: rule, Ask: d.ask} }

func counting(ran *[]int) tools.Tool {
	var mu sync.Mutex
	return doing("tool", func(_ context.Context, n int) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*ran = append(*ran, n)
		return fmt.Sprint("ran with ", n), nil
	})
}

func TestApprovalVerdicts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		decide func(tools.Question) tools.Decision
		ran    string
		answer string
		status llm.Status
	}{
		{"approved", tools.Question.Approve, "[1]", "ran with 1", llm.StatusSuccess},
		{"rejected", func(q tools.Question) tools.Decision { return q.Reject("") }, "[]", "a person rejected this call", llm.StatusError},
		{"rejected with a reason", func(q tools.Question) tools.Decision { return q.Reject("not today") }, "[]", "a person rejected this call: not today", llm.StatusError},
		{"edited", func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{ "n": 2.0 }`)) }, "[2]", "A person changed the arguments; the tool ran with {\"n\":2}\n\nran with 2", llm.StatusSuccess},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var d desk
			ran := []int{}
			set := mustSet(t, counting(&ran))
			o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(memo).once}
			if _, err := set.Call(t.Context(), numbered(1, "tool"), o); !errors.Is(err, waiting{true}) || len(ran) > 0 {
				t.Fatalf("ran %v, got %v", ran, err)
			}
			for key, q := range d.open {
				if q.CallID != "call_1" || q.Tool != "tool" || string(q.Arguments) != `{"n":1}` || q.Description != "Does something." || q.Problem != "" || key != "call_1 0" {
					t.Errorf("got the question %+v under %q", q, key)
				}
			}
			d.settle(test.decide)
			for range 2 { // the second time from memory
				answer, err := set.Call(t.Context(), numbered(1, "tool"), o)
				if edited := string(answer.Metadata[tools.EditedArguments]); edited != "" && test.name != "edited" || edited != `{"n":2}` && test.name == "edited" {
					t.Errorf("the metadata say %q", edited)
				}
				if err != nil || answer.Text() != test.answer || answer.Status != test.status || answer.ToolCallID != "call_1" {
					t.Errorf("got %+v and %v", answer, err)
				}
			}
			if fmt.Sprint(ran) != test.ran {
				t.Errorf("ran %v, want %s", ran, test.ran)
			}
		})
	}
}

// A decision that is not one on this very call is asked for again, and says why.
func TestApprovalIsAskedAgain(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		decide func(tools.Question) tools.Decision
		want   string
	}{
		{"no hash", func(tools.Question) tools.Decision { return tools.Decision{Verdict: tools.Approved} }, "the decision does not have the hash of this question"},
		{"another hash", func(q tools.Question) tools.Decision {
			return tools.Decision{Verdict: tools.Approved, Hash: strings.Repeat("0", len(q.Hash))}
		}, "the decision does not have the hash of this question"},
		{"no verdict", func(q tools.Question) tools.Decision { return tools.Decision{Hash: q.Hash} }, `there is no verdict ""`},
		{"arguments that do not fit", func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{"n":"x"}`)) }, "the new arguments do not fit: n: want an integer"},
		{"arguments that can not be read", func(q tools.Question) tools.Decision {
			return q.Edit(json.RawMessage(`{"n":100000000000000000000}`))
		}, "the new arguments do not fit: n: number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var d desk
			var ran []int
			set := mustSet(t, counting(&ran))
			o := tools.Options{Approval: d.policy(tools.Named("t*"))}
			for _, problem := range []string{"", test.want, test.want} {
				_, err := set.Call(t.Context(), numbered(1, "tool"), o)
				if !errors.Is(err, waiting{true}) || len(d.open) != 1 {
					t.Fatalf("got %v with %d questions", err, len(d.open))
				}
				d.settle(func(q tools.Question) tools.Decision {
					if problem == "" && q.Problem != "" || !strings.HasPrefix(q.Problem, problem) {
						t.Errorf("got the problem %q, want %q", q.Problem, problem)
					}
					return test.decide(q)
				})
			}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.settle(tools.Question.Approve)
			if answer, err := set.Call(t.Context(), numbered(1, "tool"), o); err != nil || answer.Text() != "ran with 1" || len(ran) != 1 {
				t.Errorf("ran %v, got %+v and %v", ran, answer, err)
			}
		})
	}
}

// The answer to one call is none to the same call with other arguments, nor to
// another tool with the same arguments, and is none to a later call.
func TestApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	var d desk
	var ran []int
	other := doing("tool2", nil2)
	set := mustSet(t, counting(&ran), other)
	o := tools.Options{Approval: d.policy(tools.Named("*"))}
	first := numbered(1, "tool")
	_, _ = set.Call(t.Context(), first, o)
	d.settle(tools.Question.Approve)
	changed := first
	changed.Arguments = json.RawMessage(`{"n":2}`)
	renamed := first
	renamed.Name = "tool2"
	for _, call := range []llm.ToolCall{changed, renamed, numbered(3, "tool")} {
		if _, err := set.Call(t.Context(), call, o); !errors.Is(err, waiting{true}) {
			t.Errorf("%+v: got %v, want a question", call, err)
		}
	}
	same := first
	same.Arguments = json.RawMessage("{ \"n\" : 1.0, \"n\": 1 }\n")
	if answer, err := set.Call(t.Context(), same, o); err != nil || answer.Text() != "ran with 1" {
		t.Errorf("the same call, written otherwise: got %+v and %v", answer, err)
	}
	if len(ran) != 1 {
		t.Errorf("ran %v", ran)
	}
}

// An approval that was used by a run of the node which never came to its end is
// spent: a person is asked whether to try again.
func TestApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			t.Parallel()
			var d desk
			ran := 0
			set := mustSet(t, doing("tool", func(context.Context, int) (string, error) {
				if ran++; ran == 1 {
					return "", errors.New("connection reset")
				}
				return "done", nil
			}))
			o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(memo).once, OnError: tools.ReturnErrors}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.settle(tools.Question.Approve)
			if _, err := set.Call(t.Context(), numbered(1, "tool"), o); err == nil || ran != 1 {
				t.Fatalf("ran %d times, got %v", ran, err)
			}
			if _, err := set.Call(t.Context(), numbered(1, "tool"), o); !errors.Is(err, waiting{true}) || ran != 1 {
				t.Fatalf("ran %d times, got %v", ran, err)
			}
			d.settle(func(q tools.Question) tools.Decision {
				if q.Problem != "the call was approved and begun before, and its outcome is unknown" {
					t.Errorf("got the problem %q", q.Problem)
				}
				if again {
					return q.Approve()
				}
				return q.Reject("leave it")
			})
			want, times := "done", 2
			if !again {
				want, times = "a person rejected this call: leave it", 1
			}
			if answer, err := set.Call(t.Context(), numbered(1, "tool"), o); err != nil || answer.Text() != want || ran != times {
				t.Errorf("ran %d times, got %+v and %v", ran, answer, err)
			}
		})
	}
}

// A tool that asks a question of its own goes on under the approval it has.
func TestApprovalHoldsOverAPauseOfTheTool(t *testing.T) {
	t.Parallel()
	var d desk
	rounds := 0
	set := mustSet(t, doing("tool", func(context.Context, int) (string, error) {
		if rounds++; rounds < 4 {
			return "", waiting{true}
		}
		return "done", nil
	}))
	o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(memo).once}
	_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
	d.settle(tools.Question.Approve)
	for range 3 {
		if _, err := set.Call(t.Context(), numbered(1, "tool"), o); !errors.Is(err, waiting{true}) || len(d.open) != 0 {
			t.Fatalf("got %v with %d questions", err, len(d.open))
		}
	}
	if answer, err := set.Call(t.Context(), numbered(1, "tool"), o); err != nil || answer.Text() != "done" {
		t.Errorf("got %+v and %v", answer, err)
	}
}

// Of several calls none runs before each has its decision, and each runs once
// without any memory.
func TestApprovalOfSeveralCalls(t *testing.T) {
	t.Parallel()
	var d desk
	var ran []int
	var free int
	set := mustSet(t, counting(&ran), doing("free", func(context.Context, int) (string, error) { free++; return "free", nil }))
	o := tools.Options{Approval: d.policy(tools.Named("free").Not()), MaxParallel: 1}
	calls := []llm.ToolCall{numbered(1, "tool"), numbered(2, "free"), numbered(3, "tool"), {ID: "4", Name: "tool", Arguments: json.RawMessage(`{}`)}}
	if _, err := set.CallAll(t.Context(), calls, o); !errors.Is(err, waiting{true}) || len(ran)+free > 0 {
		t.Fatalf("ran %v and %d, got %v", ran, free, err)
	}
	if n := d.settle(tools.Question.Approve); n != 2 {
		t.Errorf("%d questions, want 2: a call that can not be made needs none", n)
	}
	answers, err := set.CallAll(t.Context(), calls, o)
	if err != nil || len(ran) != 2 || free != 1 || answers[2].Text() != "ran with 3" || answers[3].Status != llm.StatusError {
		t.Errorf("ran %v and %d, got %v and %v", ran, free, answers, err)
	}
}

func TestApprovalRules(t *testing.T) {
	t.Parallel()
	tool := func(name string, a tools.Annotations) tools.Tool { return doing(name, nil2).Annotate(a) }
	read := tool("read_file", tools.Annotations{ReadOnly: true})
	drop := tool("drop_file", tools.Annotations{Destructive: true})
	large := tools.RuleFunc(func(_ tools.Tool, call llm.ToolCall) bool { return strings.Contains(string(call.Arguments), "1000") })
	tests := []struct {
		name string
		rule tools.Rule
		tool tools.Tool
		n    int
		want bool
	}{
		{"a name", tools.Named("drop_file", "read_file"), drop, 1, true},
		{"another name", tools.Named("read_file"), drop, 1, false},
		{"a star", tools.Named("*"), drop, 1, true},
		{"a prefix", tools.Named("drop_*"), drop, 1, true},
		{"another prefix", tools.Named("read_*"), drop, 1, false},
		{"a suffix", tools.Named("*_file"), drop, 1, true},
		{"the middle", tools.Named("d*p*le"), drop, 1, true},
		{"stars side by side", tools.Named("d**e"), drop, 1, true},
		{"destructive", tools.Destructive(), drop, 1, true},
		{"not destructive", tools.Destructive(), read, 1, false},
		{"all but reading", tools.ReadOnly().Not(), drop, 1, true},
		{"all but reading, and it reads", tools.ReadOnly().Not(), read, 1, false},
		{"either", tools.Destructive().Or(tools.Named("read_file")), read, 1, true},
		{"both", tools.Destructive().And(large), drop, 1000, true},
		{"not both", tools.Destructive().And(large), drop, 1, false},
		{"none", tools.Rule{}, drop, 1, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var d desk
			_, err := mustSet(t, read, drop).Call(t.Context(), numbered(test.n, test.tool.Name()), tools.Options{Approval: d.policy(test.rule)})
			if asked := errors.Is(err, waiting{true}); asked != test.want {
				t.Errorf("got %v, want a question: %v", err, test.want)
			}
		})
	}
}

func TestApprovalWithoutAnybodyToAsk(t *testing.T) {
	t.Parallel()
	var ran []int
	_, err := mustSet(t, counting(&ran)).Call(t.Context(), numbered(1, "tool"), tools.Options{Approval: tools.Approval{Rule: tools.Named("*")}})
	if !errors.Is(err, tools.ErrNoApprover) || len(ran) > 0 {
		t.Errorf("ran %v, got %v", ran, err)
	}
}

// A memory that fails fails the call, and the tool does not run.
func TestApprovalMemoryFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	for _, failing := range []string{"begun", "paused", "mark"} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			var d desk
			var m memo
			ran := 0
			set := mustSet(t, doing("tool", func(context.Context, int) (string, error) { ran++; return "", waiting{true} }))
			looks := map[string]int{}
			o := tools.Options{Approval: d.policy(tools.Named("*"))}
			o.Once = func(ctx context.Context, key string, fn func(context.Context) (llm.Message, error)) (llm.Message, error) {
				for _, what := range []string{"begun", "paused"} {
					if strings.Contains(key, what) {
						looks[what]++
					}
				}
				// A key is looked at first, and then set.
				if failing == "begun" && looks["begun"] == 1 || failing == "mark" && looks["begun"] == 2 || failing == "paused" && looks["paused"] == 1 {
					return llm.Message{}, broken
				}
				return m.once(ctx, key, fn)
			}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.settle(tools.Question.Approve)
			if _, err := set.Call(t.Context(), numbered(1, "tool"), o); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
			if want := map[string]int{"begun": 0, "mark": 0, "paused": 1}[failing]; ran != want {
				t.Errorf("ran %d times, want %d", ran, want)
			}
			if _, err := set.Call(t.Context(), numbered(1, "tool"), o); err == nil {
				t.Error("got no error")
			}
		})
	}
}
