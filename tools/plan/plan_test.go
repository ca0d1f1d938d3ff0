package plan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/plan"
)

func act(id, tool, arguments string, after ...string) tools.Action {
	return tools.Action{ID: id, Tool: tool, Arguments: json.RawMessage(arguments), DependsOn: after}
}

type said struct {
	Text string `json:"text,omitempty"`
	N    int    `json:"n,omitempty"`
	Any  any    `json:"any,omitempty"`
}

// A stage provides tools that record their calls.
type stage struct {
	mu    sync.Mutex
	calls []string
}

func (s *stage) note(entry string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, entry)
}

func (s *stage) set(t testing.TB) *tools.Set {
	t.Helper()
	set, err := tools.NewSet(
		tools.New("say", "Says it again.", func(_ context.Context, in said) (string, error) {
			s.note("say " + in.Text)
			return in.Text, nil
		}),
		tools.New("echo", "Returns its arguments.", func(_ context.Context, in said) (said, error) {
			s.note("echo")
			return in, nil
		}),
		tools.New("fail", "Fails.", func(context.Context, said) (string, error) {
			s.note("fail")
			return "", errors.New("out of order")
		}),
		tools.New("slow", "Takes n seconds.", func(ctx context.Context, in said) (string, error) {
			select {
			case <-time.After(time.Duration(in.N) * time.Second):
				s.note("slow " + in.Text)
				return in.Text, nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}),
		tools.New("leave", "Ends its goroutine.", func(context.Context, said) (string, error) {
			runtime.Goexit()
			return "", nil
		}),
	)
	require.NoError(t, err)
	return set
}

func TestRunIsParallelAndInOrder(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		actions func() []tools.Action
		limit   int
		took    time.Duration
	}{
		{"five at once", func() (a []tools.Action) {
			for i := range 10 {
				a = append(a, act(fmt.Sprint(i), "slow", `{"n":1}`))
			}
			return a
		}, 0, 2 * time.Second},
		{"as many as there are", func() (a []tools.Action) {
			for i := range 40 {
				a = append(a, act(fmt.Sprint(i), "slow", `{"n":1}`))
			}
			return a
		}, -1, time.Second},
		{"a diamond", func() []tools.Action {
			return []tools.Action{act("d", "slow", `{"n":1}`, "b", "c"), act("b", "slow", `{"n":1}`, "a"), act("c", "slow", `{"n":3}`, "a"), act("a", "slow", `{"n":1}`)}
		}, 0, 5 * time.Second},
		{"one after the other", func() []tools.Action { return []tools.Action{act("a", "slow", `{"n":1}`), act("b", "slow", `{"n":1}`)} }, 1, 2 * time.Second},
		{"an action is not held up by another branch", func() []tools.Action {
			return []tools.Action{act("a", "slow", `{"n":9}`), act("b", "slow", `{"n":1}`), act("c", "slow", `{"n":8}`, "b")}
		}, 0, 9 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s stage
				start := time.Now()
				actions := test.actions()
				results, err := plan.Run(t.Context(), s.set(t), actions, plan.Options{Tools: tools.Options{MaxParallel: test.limit}})
				require.NoError(t, err)
				require.Len(t, results, len(actions))
				assert.Equal(t, test.took, time.Since(start))
			})
		})
	}
}

func TestRunKeepsWhatSucceeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s stage
		results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
			act("ok", "say", `{"text":"fine"}`), act("bad", "fail", ``), act("late", "slow", `{"n":31}`), act("unfit", "echo", `{"n":"${ok}"}`),
			act("after", "say", ``, "bad"), act("afterwards", "say", `{"text":"${after}"}`), act("other", "say", `{"text":"${ok}!"}`), act("old", "say", ``), act("unlucky", "say", ``, "gone"),
		}, plan.Options{Done: map[string]plan.Result{"old": {Success: true, Message: "kept"}, "gone": {Message: "failed before"}}})
		require.NoError(t, err)
		want := map[string]plan.Result{
			"ok": {Success: true, Message: "fine"}, "bad": {Message: "out of order"}, "late": {Message: "timed out after 30s: context deadline exceeded"},
			"unfit": {Message: `invalid arguments for echo: n: want an integer, got the string "fine"; for example: {"text":"<text>"}`},
			"after": {Skipped: true, Message: `skipped: action "bad" did not succeed`}, "afterwards": {Skipped: true, Message: `skipped: action "after" did not succeed`},
			"other": {Success: true, Message: "fine!"}, "old": {Success: true, Message: "kept"},
			"gone": {Message: "failed before"}, "unlucky": {Skipped: true, Message: `skipped: action "gone" did not succeed`},
		}
		assert.Equal(t, want, results)
		assert.NotContains(t, strings.Join(s.calls, ","), "kept")
		assert.Len(t, s.calls, 3)
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		drained := errors.New("drained")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(drained) })
		var s stage
		_, err := plan.Run(ctx, s.set(t), []tools.Action{act("a", "slow", `{"n":2}`), act("b", "slow", ``, "a")}, plan.Options{})
		require.ErrorIs(t, err, drained)
		assert.ErrorIs(t, err, context.Canceled)
		_, err = plan.Run(ctx, s.set(t), []tools.Action{act("a", "say", ``)}, plan.Options{})
		require.ErrorIs(t, err, drained)
		assert.Empty(t, s.calls)
		// A plan without remaining actions does not fail.
		results, err := plan.Run(ctx, s.set(t), nil, plan.Options{Done: map[string]plan.Result{"x": {}}})
		require.NoError(t, err)
		assert.Len(t, results, 1)
	})
}

func TestRunReturnsErrorsByPolicy(t *testing.T) {
	t.Parallel()
	var s stage
	_, err := plan.Run(t.Context(), s.set(t), []tools.Action{act("a", "fail", ``), act("b", "say", ``), act("c", "leave", ``)}, plan.Options{Tools: tools.Options{OnError: tools.ReturnErrors}})
	assert.ErrorContains(t, err, "(call a): out of order")
	assert.ErrorContains(t, err, "ended its goroutine")
	assert.Contains(t, s.calls, "say ")
}

var (
	actions = state.Append[tools.Action]("actions")
	results = state.Map[string, plan.Result]("results")
	approve = graph.NewInterrupt[tools.Question, tools.Decision]("approve")
)

// TestNodePausesAndGoesOn proves that each action runs once, although the plan pauses twice.
func TestNodePausesAndGoesOn(t *testing.T) {
	t.Parallel()
	var looked, deleted atomic.Int32
	set, err := tools.NewSet(
		tools.New("look", "Looks.", func(context.Context, said) (string, error) { return fmt.Sprint(looked.Add(1)), nil }),
		tools.New("delete", "Deletes.", func(_ context.Context, in said) (string, error) {
			deleted.Add(1)
			return "deleted " + in.Text, nil
		}).Annotate(tools.Annotations{Destructive: true}),
	)
	require.NoError(t, err)
	b := graph.New("plan", actions, results)
	b.Node("run", plan.Node(set, actions, results, tools.Options{
		Once:     graph.Once[llm.Message],
		Planning: &tools.Planning{Actions: actions}, // must be ignored
		Approval: tools.Approval{Rule: tools.Destructive(), Ask: func(ctx context.Context, key string, q tools.Question) (tools.Decision, error) {
			return approve.WaitKey(ctx, key, q)
		}},
	}))
	b.Edge(graph.Start, "run")
	g, err := b.Compile(graph.Options{Checkpoints: memcheckpoint.New(memcheckpoint.Options{})})
	require.NoError(t, err)
	th := g.Thread("t")
	snap, err := th.Invoke(t.Context(), actions.Put(
		act("a", "look", ``), act("b", "delete", `{"text":"${a}"}`), act("c", "delete", `{"text":"x"}`), act("d", "look", ``, "b"),
	))
	require.NoError(t, err)
	for _, verdict := range []bool{true, false} {
		open, err := approve.Open(snap)
		require.NoError(t, err)
		require.NotEmpty(t, open)
		q := open[0].Prompt
		answer := q.Approve()
		if !verdict {
			answer = q.Reject("keep it")
		}
		snap, err = th.Invoke(t.Context(), approve.Answer(open[0].ID, answer))
		require.NoError(t, err)
	}
	got := results.Get(snap)
	assert.True(t, snap.Done())
	require.Len(t, got, 4)
	assert.LessOrEqual(t, looked.Load(), int32(2))
	assert.Equal(t, int32(1), deleted.Load())
	// A second run runs only the new action.
	before := looked.Load()
	snap, err = th.Invoke(t.Context(), actions.Put(act("e", "look", ``)))
	require.NoError(t, err)
	assert.Equal(t, before+1, looked.Load())
	assert.Len(t, results.Get(snap), 5)
}

// TestEditedArgumentsAreNoted proves that the note about changed arguments is not part of
// the message, so that a reference finds the result of the tool.
func TestEditedArgumentsAreNoted(t *testing.T) {
	t.Parallel()
	var s stage
	o := tools.Options{Approval: tools.Approval{Rule: tools.Named("echo"), Ask: func(_ context.Context, _ string, q tools.Question) (tools.Decision, error) {
		return q.Edit(json.RawMessage(`{"text":"mine"}`)), nil
	}}}
	results, err := plan.Run(t.Context(), s.set(t), []tools.Action{
		act("a", "echo", `{"text":"theirs"}`), act("b", "say", `{"text":"${a.text}"}`),
	}, plan.Options{Tools: o})
	require.NoError(t, err)
	want := plan.Result{Success: true, Message: `{"text":"mine"}`, Note: `The arguments were changed by a person; the tool ran with {"text":"mine"}`}
	assert.Equal(t, want, results["a"])
	assert.Equal(t, "mine", results["b"].Message)
}

// TestLargePlans proves that plans of 3000 actions complete, both if each action depends on
// the previous one and if all depend on one action.
func TestLargePlans(t *testing.T) {
	t.Parallel()
	const n = 3000
	for name, on := range map[string]func(i int) string{
		"a chain": func(i int) string { return fmt.Sprint(i - 1) },
		"a star":  func(int) string { return "0" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for first, want := range map[string]string{"say": "x", "fail": ""} {
				var s stage
				list := []tools.Action{act("0", first, `{"text":"x"}`)}
				for i := 1; i < n; i++ {
					list = append(list, act(fmt.Sprint(i), "say", `{"text":"${`+on(i)+`}"}`, on(i)))
				}
				results, err := plan.Run(t.Context(), s.set(t), list, plan.Options{})
				require.NoError(t, err)
				require.Len(t, results, n)
				for i := 1; i < n; i++ {
					r := results[fmt.Sprint(i)]
					require.Equal(t, first == "fail", r.Skipped, "action %d", i)
					if r.Success {
						require.Equal(t, want, r.Message, "action %d", i)
					}
				}
			}
		})
	}
}

func TestNodeReturnsWrites(t *testing.T) {
	t.Parallel()
	seen := state.Append[string]("seen")
	set, err := tools.NewSet(tools.New("see", "Sees.", func(_ context.Context, in said) (tools.Result, error) {
		return tools.Result{Text: "ok", Update: state.Update{seen.Put(in.Text)}}, nil
	}))
	require.NoError(t, err)
	b := graph.New("plan", actions, results, seen)
	b.Node("run", plan.Node(set, actions, results, tools.Options{}))
	b.Edge(graph.Start, "run")
	g, err := b.Compile(graph.Options{})
	require.NoError(t, err)
	snap, err := g.Invoke(t.Context(), actions.Put(act("a", "see", `{"text":"1"}`, "b"), act("b", "see", `{"text":"2"}`)))
	require.NoError(t, err)
	assert.Equal(t, []string{"1", "2"}, seen.Get(snap))
	failing := plan.Node(set, actions, results, tools.Options{Bind: tools.Bindings{tools.Bind(func(context.Context, state.View) (string, error) { return "", errors.New("no session") })}})
	_, err = failing(t.Context(), snap)
	assert.ErrorContains(t, err, "no session")
	_, err = plan.Node(set, actions, results, tools.Options{Once: func(ctx context.Context, _ string, fn func(context.Context) (llm.Message, error)) (llm.Message, error) {
		return fn(ctx)
	}})(t.Context(), viewWith(t, seen, act("a", "see", ``)))
	assert.ErrorIs(t, err, tools.ErrWrites)
}

func viewWith(t *testing.T, more state.Handle, list ...tools.Action) state.View {
	t.Helper()
	view, err := state.NewView([]state.Handle{actions, results, more}, actions.Put(list...))
	require.NoError(t, err)
	return view
}
