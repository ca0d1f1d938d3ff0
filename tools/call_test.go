package tools_test

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

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// waiting is an error that pauses a run if really is true, like the error of a graph's
// interrupt.
type waiting struct{ really bool }

func (waiting) Error() string { return "waiting for an answer" }
func (w waiting) Pause() bool { return w.really }

type number struct {
	N int `json:"n"`
}

// mustCall calls a tool and returns the answer, which must be valid.
func mustCall(t testing.TB, set *tools.Set, call llm.ToolCall, o tools.Options) llm.Message {
	t.Helper()
	answer, err := set.Call(t.Context(), call, o)
	require.NoError(t, err)
	require.NoError(t, answer.Validate())
	return answer
}

// mustWait calls a tool and proves that the call waits for a person.
func mustWait(t testing.TB, set *tools.Set, call llm.ToolCall, o tools.Options) {
	t.Helper()
	_, err := set.Call(t.Context(), call, o)
	require.ErrorIs(t, err, waiting{true})
}

func numbered(n int, name string) llm.ToolCall {
	return llm.ToolCall{ID: fmt.Sprintf("call_%d", n), Name: name, Arguments: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}
}

func doing(name string, fn func(ctx context.Context, n int) (string, error)) tools.Tool {
	return tools.New(name, "Does something.", func(ctx context.Context, in number) (string, error) { return fn(ctx, in.N) })
}

func failing(err error) tools.Tool {
	return doing("tool", func(context.Context, int) (string, error) { return "", err })
}

func panicking(value any) tools.Tool {
	return doing("tool", func(context.Context, int) (string, error) { panic(value) })
}

func TestCallAnswersWhatWentWrong(t *testing.T) {
	t.Parallel()
	down := errors.New("the server is down")
	tests := []struct {
		name   string
		tool   tools.Tool
		answer string
		is     error // an error that the returned error must wrap, or nil
	}{
		{"an error", failing(fmt.Errorf("reading: %w", down)), "reading: the server is down", down},
		{"another's cancellation", failing(context.Canceled), "context canceled", context.Canceled},
		{"an error that could pause and does not", failing(waiting{false}), "waiting for an answer", waiting{false}},
		{"a panic", panicking("oops"), "panic: oops", nil},
		{"a panic with an error", panicking(down), "panic: the server is down", down},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			set := mustSet(t, test.tool)
			answer := mustCall(t, set, numbered(1, "tool"), tools.Options{})
			assert.Equal(t, test.answer, answer.Text(), "by default")
			assert.Equal(t, llm.StatusError, answer.Status, "by default")
			assert.Equal(t, "call_1", answer.ToolCallID, "by default")
			answer, err := set.Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
			require.Error(t, err, "returned")
			assert.True(t, strings.HasPrefix(err.Error(), "tools: tool (call call_1): "), "returned")
			assert.Empty(t, answer.Role, "returned")
			if test.is != nil {
				assert.ErrorIs(t, err, test.is)
			}
			excuse := func(call llm.ToolCall, err error) (string, error) {
				return "sorry: " + call.ID + ": " + err.Error(), nil
			}
			answer = mustCall(t, set, numbered(1, "tool"), tools.Options{OnError: excuse})
			assert.Equal(t, "sorry: call_1: "+test.answer, answer.Text(), "by a policy")
			assert.Equal(t, llm.StatusError, answer.Status, "by a policy")
		})
	}
}

func TestCallKeepsThePanicsStack(t *testing.T) {
	t.Parallel()
	_, err := mustSet(t, panicking("oops")).Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
	p, ok := errors.AsType[*tools.PanicError](err)
	require.True(t, ok)
	assert.Equal(t, "oops", p.Value)
	assert.Contains(t, string(p.Stack), "panicking")
}

func TestCallAnswersTheModelsMistakesUnderAnyPolicy(t *testing.T) {
	t.Parallel()
	set := mustSet(t, failing(nil), doing("other", nil2))
	o := tools.Options{OnError: tools.ReturnErrors}
	answer := mustCall(t, set, numbered(1, "tol"), o)
	assert.Equal(t, `there is no tool "tol"; the tools are tool, other`, answer.Text())
	assert.Equal(t, llm.StatusError, answer.Status)
	answer = mustCall(t, set, llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{`)}, o)
	assert.Equal(t, llm.StatusError, answer.Status)
	assert.True(t, strings.HasPrefix(answer.Text(), "invalid arguments for tool"))
}

func nil2(context.Context, int) (string, error) { return "", nil }

func TestCallLetsAPauseThrough(t *testing.T) {
	t.Parallel()
	pause := waiting{true}
	for name, tool := range map[string]tools.Tool{
		"as it is":    failing(pause),
		"wrapped":     failing(fmt.Errorf("asking: %w", pause)),
		"joined":      failing(errors.Join(errors.New("other"), pause)),
		"in a panic":  panicking(pause),
		"out of time": doing("tool", func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", pause }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tools.Options{Timeout: time.Microsecond, OnError: func(llm.ToolCall, error) (string, error) {
				assert.Fail(t, "the policy was called")
				return "", nil
			}}
			answer, err := mustSet(t, tool).Call(t.Context(), numbered(1, "tool"), o)
			require.ErrorIs(t, err, pause)
			assert.Empty(t, answer.Role)
			assert.NotErrorIs(t, err, tools.ErrTimeout)
		})
	}
}

func TestCallReturnsTheEndOfTheRun(t *testing.T) {
	t.Parallel()
	drained := errors.New("drained")
	for name, err := range map[string]error{"its context's error": context.Canceled, "another error": errors.New("reset")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			tool := doing("tool", func(context.Context, int) (string, error) { cancel(drained); return "", err })
			answer, got := mustSet(t, tool).Call(ctx, numbered(1, "tool"), tools.Options{})
			for _, want := range []error{context.Canceled, drained, err} {
				assert.ErrorIs(t, got, want)
			}
			assert.Empty(t, answer.Role)
		})
	}
	t.Run("before the call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tool := doing("tool", func(context.Context, int) (string, error) { assert.Fail(t, "called"); return "", nil })
		_, err := mustSet(t, tool).Call(ctx, numbered(1, "tool"), tools.Options{})
		assert.ErrorIs(t, err, context.Canceled)
	})
	t.Run("a result all the same", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		tool := doing("tool", func(context.Context, int) (string, error) { cancel(); return "done", nil })
		answer, err := mustSet(t, tool).Call(ctx, numbered(1, "tool"), tools.Options{})
		require.NoError(t, err)
		assert.Equal(t, "done", answer.Text())
	})
}

func TestCallTimesOut(t *testing.T) {
	t.Parallel()
	obedient := doing("tool", func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	deaf := doing("tool", func(context.Context, int) (string, error) { time.Sleep(time.Hour); return "done", nil })
	tests := []struct {
		name  string
		tool  tools.Tool
		limit time.Duration
		want  string
		took  time.Duration
	}{
		{"by default", obedient, 0, "timed out after 30s: context deadline exceeded", 30 * time.Second},
		{"by option", obedient, time.Minute, "timed out after 1m0s: context deadline exceeded", time.Minute},
		{"and what comes late counts", deaf, 0, "done", time.Hour},
		{"not without a limit", deaf, -1, "done", time.Hour},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				answer := mustCall(t, mustSet(t, test.tool), numbered(1, "tool"), tools.Options{Timeout: test.limit})
				assert.Equal(t, test.want, answer.Text())
				assert.Equal(t, test.took, time.Since(start))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := mustSet(t, obedient).Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
		require.ErrorIs(t, err, tools.ErrTimeout)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	_, ok := tools.CallFrom(t.Context())
	assert.False(t, ok)
	tool := doing("tool", func(ctx context.Context, _ int) (string, error) {
		call, ok := tools.CallFrom(ctx)
		arguments := string(call.Arguments)
		clear(call.Arguments) // must not change the call of CallFrom
		again, _ := tools.CallFrom(ctx)
		return fmt.Sprint(ok, " ", call.ID, " ", call.Name, " ", arguments, " ", string(again.Arguments)), nil
	})
	answer := mustCall(t, mustSet(t, tool), numbered(7, "tool"), tools.Options{})
	assert.Equal(t, `true call_7 tool {"n":7} {"n":7}`, answer.Text())
}

func TestCallAllKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slowFirst := doing("tool", func(_ context.Context, n int) (string, error) {
			time.Sleep(time.Duration(10-n) * time.Second)
			if n == 4 {
				return "", errors.New("no fours")
			}
			return fmt.Sprint("answer ", n), nil
		})
		var calls []llm.ToolCall
		for n := range 10 {
			calls = append(calls, numbered(n, "tool"))
		}
		calls[6].Name = "none"
		answers, err := mustSet(t, slowFirst).CallAll(t.Context(), calls, tools.Options{})
		require.NoError(t, err)
		for n, answer := range answers {
			want := fmt.Sprint("answer ", n)
			switch n {
			case 4:
				want = "no fours"
			case 6:
				want = `there is no tool "none"; the tools are tool`
			}
			assert.Equal(t, want, answer.Text(), "answer %d", n)
			assert.Equal(t, calls[n].ID, answer.ToolCallID, "answer %d", n)
		}
	})
}

func TestCallAllIsParallelWithinItsLimit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit int
		calls int
		most  int64
		took  time.Duration
	}{
		{0, 12, 5, 3 * time.Second},
		{0, 3, 3, time.Second},
		{1, 4, 1, 4 * time.Second},
		{7, 14, 7, 2 * time.Second},
		{-1, 40, 40, time.Second},
		{-1, 0, 0, 0},
		{0, 0, 0, 0},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.calls, " with ", test.limit), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var now, most atomic.Int64
				tool := doing("tool", func(context.Context, int) (string, error) {
					n := now.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
					}
					time.Sleep(time.Second)
					now.Add(-1)
					return "", nil
				})
				start := time.Now()
				var calls []llm.ToolCall
				for i := range test.calls {
					calls = append(calls, numbered(i, "tool"))
				}
				answers, err := mustSet(t, tool).CallAll(t.Context(), calls, tools.Options{MaxParallel: test.limit})
				require.NoError(t, err)
				assert.Len(t, answers, test.calls)
				assert.Equal(t, test.most, most.Load())
				assert.Equal(t, test.took, time.Since(start))
			})
		})
	}
}

func TestCallAllFinishesEveryCall(t *testing.T) {
	t.Parallel()
	pause, down := waiting{true}, errors.New("down")
	var ran atomic.Int64
	tool := doing("tool", func(_ context.Context, n int) (string, error) {
		ran.Add(1)
		switch n {
		case 0:
			return "", pause
		case 1:
			return "", down
		case 2:
			runtime.Goexit()
		}
		return "fine", nil
	})
	calls := make([]llm.ToolCall, 20)
	for n := range calls {
		calls[n] = numbered(n, "tool")
	}
	answers, err := mustSet(t, tool).CallAll(t.Context(), calls, tools.Options{OnError: tools.ReturnErrors, MaxParallel: 1})
	assert.Nil(t, answers)
	require.ErrorIs(t, err, pause)
	require.ErrorIs(t, err, down)
	assert.Contains(t, err.Error(), "(call call_2): the tool ended its goroutine")
	assert.Equal(t, int64(20), ran.Load())
}

func TestCallAllCallsOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	remembered := map[string]llm.Message{}
	once := func(ctx context.Context, key string, call func(context.Context) (llm.Message, error)) (llm.Message, error) {
		mu.Lock()
		answer, ok := remembered[key]
		mu.Unlock()
		if ok {
			return answer, nil
		}
		answer, err := call(ctx)
		if err == nil {
			mu.Lock()
			remembered[key] = answer
			mu.Unlock()
		}
		return answer, err
	}
	var ran [3]atomic.Int64
	answered := false
	tool := doing("tool", func(_ context.Context, n int) (string, error) {
		ran[n].Add(1)
		if n == 1 && !answered {
			return "", waiting{true}
		}
		return fmt.Sprint("answer ", n), nil
	})
	set, calls := mustSet(t, tool), []llm.ToolCall{numbered(0, "tool"), numbered(1, "tool"), numbered(2, "tool")}
	_, err := set.CallAll(t.Context(), calls, tools.Options{Once: once})
	require.ErrorIs(t, err, waiting{true})
	answered = true
	answers, err := set.CallAll(t.Context(), calls, tools.Options{Once: once})
	require.NoError(t, err)
	for n, want := range []int64{1, 2, 1} {
		assert.Equal(t, fmt.Sprint("answer ", n), answers[n].Text())
		assert.Equal(t, want, ran[n].Load())
	}
}
