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

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// waiting is an error as graph has it for a node that waits for an answer.
type waiting struct{ really bool }

func (waiting) Error() string { return "waiting for an answer" }
func (w waiting) Pause() bool { return w.really }

type number struct {
	N int `json:"n"`
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
		is     error // what the policy is given
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
			answer, err := set.Call(t.Context(), numbered(1, "tool"), tools.Options{})
			if err != nil || answer.Text() != test.answer || answer.Status != llm.StatusError || answer.ToolCallID != "call_1" {
				t.Errorf("by default: got %+v and %v, want %q", answer, err, test.answer)
			}
			answer, err = set.Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
			if err == nil || !strings.HasPrefix(err.Error(), "tools: tool (call call_1): ") || answer.Role != "" {
				t.Errorf("returned: got %+v and %v", answer, err)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("got %v, want it to wrap %v", err, test.is)
			}
			excuse := func(call llm.ToolCall, err error) (string, error) {
				return "sorry: " + call.ID + ": " + err.Error(), nil
			}
			answer, err = set.Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: excuse})
			if want := "sorry: call_1: " + test.answer; err != nil || answer.Text() != want || answer.Status != llm.StatusError {
				t.Errorf("by a policy: got %+v and %v, want %q", answer, err, want)
			}
		})
	}
}

func TestCallKeepsThePanicsStack(t *testing.T) {
	t.Parallel()
	_, err := mustSet(t, panicking("oops")).Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
	p, ok := errors.AsType[*tools.PanicError](err)
	if !ok || p.Value != "oops" || !strings.Contains(string(p.Stack), "panicking") {
		t.Errorf("got %v with %+v", err, p)
	}
}

func TestCallAnswersTheModelsMistakesUnderAnyPolicy(t *testing.T) {
	t.Parallel()
	set := mustSet(t, failing(nil), doing("other", nil2))
	o := tools.Options{OnError: tools.ReturnErrors}
	answer, err := set.Call(t.Context(), numbered(1, "tol"), o)
	if want := `there is no tool "tol"; the tools are tool, other`; err != nil || answer.Text() != want || answer.Status != llm.StatusError {
		t.Errorf("got %+v and %v, want %q", answer, err, want)
	}
	answer, err = set.Call(t.Context(), llm.ToolCall{ID: "1", Name: "tool", Arguments: json.RawMessage(`{`)}, o)
	if err != nil || answer.Status != llm.StatusError || !strings.HasPrefix(answer.Text(), "invalid arguments for tool") {
		t.Errorf("got %+v and %v", answer, err)
	}
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
				t.Error("the policy was asked")
				return "", nil
			}}
			answer, err := mustSet(t, tool).Call(t.Context(), numbered(1, "tool"), o)
			if !errors.Is(err, pause) || answer.Role != "" {
				t.Errorf("got %+v and %v, want the pause", answer, err)
			}
			if errors.Is(err, tools.ErrTimeout) {
				t.Errorf("got %v, want a pause alone", err)
			}
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
				if !errors.Is(got, want) {
					t.Errorf("got %v, want it to wrap %v", got, want)
				}
			}
			if answer.Role != "" {
				t.Errorf("answered %+v", answer)
			}
		})
	}
	t.Run("before the call", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		tool := doing("tool", func(context.Context, int) (string, error) { t.Error("called"); return "", nil })
		if _, err := mustSet(t, tool).Call(ctx, numbered(1, "tool"), tools.Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a result all the same", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		tool := doing("tool", func(context.Context, int) (string, error) { cancel(); return "done", nil })
		if answer, err := mustSet(t, tool).Call(ctx, numbered(1, "tool"), tools.Options{}); err != nil || answer.Text() != "done" {
			t.Errorf("got %+v and %v", answer, err)
		}
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
				answer, err := mustSet(t, test.tool).Call(t.Context(), numbered(1, "tool"), tools.Options{Timeout: test.limit})
				if err != nil || answer.Text() != test.want {
					t.Errorf("got %+v and %v, want %q", answer, err, test.want)
				}
				if took := time.Since(start); took != test.took {
					t.Errorf("took %v, want %v", took, test.took)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		_, err := mustSet(t, obedient).Call(t.Context(), numbered(1, "tool"), tools.Options{OnError: tools.ReturnErrors})
		if !errors.Is(err, tools.ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want an ErrTimeout", err)
		}
	})
}

func TestCallFrom(t *testing.T) {
	t.Parallel()
	if call, ok := tools.CallFrom(t.Context()); ok {
		t.Errorf("got %+v outside a tool", call)
	}
	tool := doing("tool", func(ctx context.Context, _ int) (string, error) {
		call, ok := tools.CallFrom(ctx)
		arguments := string(call.Arguments)
		clear(call.Arguments) // its own copy
		again, _ := tools.CallFrom(ctx)
		return fmt.Sprint(ok, " ", call.ID, " ", call.Name, " ", arguments, " ", string(again.Arguments)), nil
	})
	answer, err := mustSet(t, tool).Call(t.Context(), numbered(7, "tool"), tools.Options{})
	if want := `true call_7 tool {"n":7} {"n":7}`; err != nil || answer.Text() != want {
		t.Errorf("got %q and %v, want %q", answer.Text(), err, want)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		for n, answer := range answers {
			want := fmt.Sprint("answer ", n)
			switch n {
			case 4:
				want = "no fours"
			case 6:
				want = `there is no tool "none"; the tools are tool`
			}
			if answer.Text() != want || answer.ToolCallID != calls[n].ID {
				t.Errorf("answer %d: got %+v, want %q", n, answer, want)
			}
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
				if err != nil || len(answers) != test.calls {
					t.Errorf("got %d answers and %v", len(answers), err)
				}
				if most.Load() != test.most || time.Since(start) != test.took {
					t.Errorf("%d at once in %v, want %d in %v", most.Load(), time.Since(start), test.most, test.took)
				}
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
	if answers != nil || !errors.Is(err, pause) || !errors.Is(err, down) || !strings.Contains(err.Error(), "(call call_2): the tool ended its goroutine") {
		t.Errorf("got %d answers and %v", len(answers), err)
	}
	if ran.Load() != 20 {
		t.Errorf("%d of 20 calls ran", ran.Load())
	}
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
	if _, err := set.CallAll(t.Context(), calls, tools.Options{Once: once}); !errors.Is(err, waiting{true}) {
		t.Fatalf("got %v, want the pause", err)
	}
	answered = true
	answers, err := set.CallAll(t.Context(), calls, tools.Options{Once: once})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []int64{1, 2, 1} {
		if answers[n].Text() != fmt.Sprint("answer ", n) || ran[n].Load() != want {
			t.Errorf("call %d: answered %q after %d calls, want %d", n, answers[n].Text(), ran[n].Load(), want)
		}
	}
}
