package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// An onceStore stores results by key like graph.Once, for several executions of a node.
type onceStore struct {
	mu     sync.Mutex
	values map[string]llm.Message
}

func (m *onceStore) once(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error) {
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

// An approver answers questions by their keys, as an interrupt of a graph does.
type approver struct {
	mu      sync.Mutex
	open    map[string]tools.Question
	answers map[string]tools.Decision
}

func (d *approver) ask(_ context.Context, key string, q tools.Question) (tools.Decision, error) {
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

// decideAll answers every open question with decide, and returns the number of questions.
func (d *approver) decideAll(decide func(tools.Question) tools.Decision) int {
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

func (d *approver) policy(rule tools.Rule) tools.Approval {
	return tools.Approval{Rule: rule, Ask: d.ask}
}

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
		{"edited", func(q tools.Question) tools.Decision { return q.Edit(json.RawMessage(`{ "n": 2.0 }`)) }, "[2]", "The arguments were changed by a person; the tool ran with {\"n\":2}\n\nran with 2", llm.StatusSuccess},
		{"rejected by a program", func(q tools.Question) tools.Decision {
			d := q.Reject("nobody answered in time")
			d.By = "the deadline"
			return d
		}, "[]", "the deadline rejected this call: nobody answered in time", llm.StatusError},
		{"edited by a program", func(q tools.Question) tools.Decision {
			d := q.Edit(json.RawMessage(`{"n":2}`))
			d.By = "the limit"
			return d
		}, "[2]", "The arguments were changed by the limit; the tool ran with {\"n\":2}\n\nran with 2", llm.StatusSuccess},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var d approver
			ran := []int{}
			set := mustSet(t, counting(&ran))
			o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(onceStore).once}
			mustWait(t, set, numbered(1, "tool"), o)
			require.Empty(t, ran)
			for key, q := range d.open {
				assert.Equal(t, "call_1", q.CallID)
				assert.Equal(t, "tool", q.Tool)
				assert.Equal(t, `{"n":1}`, string(q.Arguments))
				assert.Equal(t, "Does something.", q.Description)
				assert.Empty(t, q.Problem)
				assert.Equal(t, "call_1 0", key)
			}
			d.decideAll(test.decide)
			for range 2 { // the second answer comes from the onceStore
				answer := mustCall(t, set, numbered(1, "tool"), o)
				edited := ""
				if strings.HasPrefix(test.name, "edited") {
					edited = `{"n":2}`
				}
				assert.Equal(t, edited, string(answer.Metadata[tools.EditedArguments]))
				assert.Equal(t, test.answer, answer.Text())
				assert.Equal(t, test.status, answer.Status)
				assert.Equal(t, "call_1", answer.ToolCallID)
			}
			assert.Equal(t, test.ran, fmt.Sprint(ran))
		})
	}
}

// TestApprovalIsAskedAgain proves that a person is asked again, with the reason, if a
// decision has another hash, no verdict or invalid arguments.
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
		{"arguments that cannot be decoded", func(q tools.Question) tools.Decision {
			return q.Edit(json.RawMessage(`{"n":100000000000000000000}`))
		}, "the new arguments do not fit: n: number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var d approver
			var ran []int
			set := mustSet(t, counting(&ran))
			o := tools.Options{Approval: d.policy(tools.Named("t*"))}
			for _, problem := range []string{"", test.want, test.want} {
				mustWait(t, set, numbered(1, "tool"), o)
				require.Len(t, d.open, 1)
				d.decideAll(func(q tools.Question) tools.Decision {
					if problem == "" {
						assert.Empty(t, q.Problem)
					}
					assert.True(t, strings.HasPrefix(q.Problem, problem), q.Problem)
					return test.decide(q)
				})
			}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.decideAll(tools.Question.Approve)
			answer := mustCall(t, set, numbered(1, "tool"), o)
			assert.Equal(t, "ran with 1", answer.Text())
			assert.Len(t, ran, 1)
		})
	}
}

// TestApprovalIsForOneCall proves that an approval does not apply to the same call with
// other arguments, to another tool with the same arguments, or to a later call. It does
// apply to the same arguments in another JSON form.
func TestApprovalIsForOneCall(t *testing.T) {
	t.Parallel()
	var d approver
	var ran []int
	other := doing("tool2", nil2)
	set := mustSet(t, counting(&ran), other)
	o := tools.Options{Approval: d.policy(tools.Named("*"))}
	first := numbered(1, "tool")
	_, _ = set.Call(t.Context(), first, o)
	d.decideAll(tools.Question.Approve)
	changed := first
	changed.Arguments = json.RawMessage(`{"n":2}`)
	renamed := first
	renamed.Name = "tool2"
	for _, call := range []llm.ToolCall{changed, renamed, numbered(3, "tool")} {
		mustWait(t, set, call, o)
	}
	same := first
	same.Arguments = json.RawMessage("{ \"n\" : 1.0, \"n\": 1 }\n")
	answer := mustCall(t, set, same, o)
	assert.Equal(t, "ran with 1", answer.Text(), "the same call, written otherwise")
	assert.Len(t, ran, 1)
}

// TestApprovalIsUsedOnce proves that a person is asked again if an earlier run of the node
// began the approved call and stored no answer.
func TestApprovalIsUsedOnce(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprint(again), func(t *testing.T) {
			t.Parallel()
			var d approver
			ran := 0
			set := mustSet(t, doing("tool", func(context.Context, int) (string, error) {
				if ran++; ran == 1 {
					return "", errors.New("connection reset")
				}
				return "done", nil
			}))
			o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(onceStore).once, OnError: tools.ReturnErrors}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.decideAll(tools.Question.Approve)
			_, err := set.Call(t.Context(), numbered(1, "tool"), o)
			require.Error(t, err)
			require.Equal(t, 1, ran)
			mustWait(t, set, numbered(1, "tool"), o)
			require.Equal(t, 1, ran)
			d.decideAll(func(q tools.Question) tools.Decision {
				assert.Equal(t, "the call was approved and begun before, and its outcome is unknown", q.Problem)
				if again {
					return q.Approve()
				}
				return q.Reject("leave it")
			})
			want, times := "done", 2
			if !again {
				want, times = "a person rejected this call: leave it", 1
			}
			var finished []llm.Message
			o.Emit = func(_ context.Context, value any) {
				if e, ok := value.(tools.CallFinished); ok {
					finished = append(finished, e.Answer)
				}
			}
			answer := mustCall(t, set, numbered(1, "tool"), o)
			assert.Equal(t, want, answer.Text())
			assert.Equal(t, times, ran)
			assert.Equal(t, []llm.Message{answer}, finished, "one event for the new answer")
		})
	}
}

// TestApprovalHoldsOverAPauseOfTheTool proves that a tool that pauses is resumed without a
// second approval.
func TestApprovalHoldsOverAPauseOfTheTool(t *testing.T) {
	t.Parallel()
	var d approver
	rounds := 0
	set := mustSet(t, doing("tool", func(context.Context, int) (string, error) {
		if rounds++; rounds < 4 {
			return "", waiting{true}
		}
		return "done", nil
	}))
	o := tools.Options{Approval: d.policy(tools.Named("tool")), Once: new(onceStore).once}
	_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
	d.decideAll(tools.Question.Approve)
	for range 3 {
		mustWait(t, set, numbered(1, "tool"), o)
		require.Empty(t, d.open)
	}
	answer := mustCall(t, set, numbered(1, "tool"), o)
	assert.Equal(t, "done", answer.Text())
}

// TestApprovalOfSeveralCalls proves that no call runs before all calls have their
// decisions, and that each then runs once, even without Once.
func TestApprovalOfSeveralCalls(t *testing.T) {
	t.Parallel()
	var d approver
	var ran []int
	var free int
	set := mustSet(t, counting(&ran), doing("free", func(context.Context, int) (string, error) { free++; return "free", nil }))
	o := tools.Options{Approval: d.policy(tools.Named("free").Not()), MaxParallel: 1}
	calls := []llm.ToolCall{numbered(1, "tool"), numbered(2, "free"), numbered(3, "tool"), {ID: "4", Name: "tool", Arguments: json.RawMessage(`{}`)}}
	_, err := set.CallAll(t.Context(), calls, o)
	require.ErrorIs(t, err, waiting{true})
	require.Zero(t, len(ran)+free)
	n := d.decideAll(tools.Question.Approve)
	assert.Equal(t, 2, n, "an invalid call needs no question")
	answers, err := set.CallAll(t.Context(), calls, o)
	require.NoError(t, err)
	require.Len(t, ran, 2)
	assert.Equal(t, 1, free)
	assert.Equal(t, "ran with 3", answers[2].Text())
	assert.Equal(t, llm.StatusError, answers[3].Status)
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
			var d approver
			_, err := mustSet(t, read, drop).Call(t.Context(), numbered(test.n, test.tool.Name()), tools.Options{Approval: d.policy(test.rule)})
			assert.Equal(t, test.want, errors.Is(err, waiting{true}))
		})
	}
}

func TestApprovalWithoutAnybodyToAsk(t *testing.T) {
	t.Parallel()
	var ran []int
	_, err := mustSet(t, counting(&ran)).Call(t.Context(), numbered(1, "tool"), tools.Options{Approval: tools.Approval{Rule: tools.Named("*")}})
	require.ErrorIs(t, err, tools.ErrNoApprover)
	assert.Empty(t, ran)
}

// If Ask always returns the decision about another call, the call does not run. It fails after 100 questions, or when its
// context is cancelled.
func TestInvalidDecisionsEnd(t *testing.T) {
	t.Parallel()
	ran := []int{}
	set := mustSet(t, counting(&ran))
	stale := tools.Question{Hash: "of another call"}.Approve()
	for name, test := range map[string]struct {
		cancel bool
		asked  int
	}{"by their number": {asked: 100}, "with the context": {cancel: true, asked: 1}} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := 0
			o := tools.Options{Approval: tools.Approval{Rule: tools.Named("*"), Ask: func(context.Context, string, tools.Question) (tools.Decision, error) {
				if asked++; test.cancel {
					cancel()
				}
				return stale, nil
			}}}
			_, err := set.Call(ctx, numbered(1, "tool"), o)
			require.Error(t, err)
			assert.Equal(t, test.asked, asked)
			assert.Empty(t, ran)
		})
	}
}

// TestApprovalMemoryFails proves that an error of Once fails the call.
func TestApprovalMemoryFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	for _, failing := range []string{"begun", "paused", "mark"} {
		t.Run(failing, func(t *testing.T) {
			t.Parallel()
			var d approver
			var m onceStore
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
				// Each key is first read, then written.
				if failing == "begun" && looks["begun"] == 1 || failing == "mark" && looks["begun"] == 2 || failing == "paused" && looks["paused"] == 1 {
					return llm.Message{}, broken
				}
				return m.once(ctx, key, fn)
			}
			_, _ = set.Call(t.Context(), numbered(1, "tool"), o)
			d.decideAll(tools.Question.Approve)
			_, err := set.Call(t.Context(), numbered(1, "tool"), o)
			assert.ErrorIs(t, err, broken)
			assert.Equal(t, map[string]int{"begun": 0, "mark": 0, "paused": 1}[failing], ran)
			_, err = set.Call(t.Context(), numbered(1, "tool"), o)
			assert.Error(t, err)
		})
	}
}
