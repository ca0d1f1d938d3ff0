package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

var errDown = llm.Classify(llm.Error{Status: 503})

func TestRetry(t *testing.T) {
	t.Parallel()
	slow := func(d time.Duration) llmtest.Reply {
		return llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: d})
	}
	broken := llmtest.Reply{Message: llm.Assistant("half"), Err: errDown}
	none := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkReasoning, Text: "hm"}}}
	tests := []struct {
		name     string
		policy   llm.RetryPolicy
		replies  []llmtest.Reply
		want     string // the answer, or part of the error
		asked    int
		min, max time.Duration
	}{
		{"at once", llm.RetryPolicy{}, []llmtest.Reply{llmtest.Say("a")}, "a", 1, 0, 0},
		{"after failures", llm.RetryPolicy{}, []llmtest.Reply{llmtest.Fail(errDown), llmtest.Fail(errDown), llmtest.Say("a")}, "a", 3, 0, 1500 * time.Millisecond},
		{"four times and no more", llm.RetryPolicy{}, []llmtest.Reply{llmtest.Fail(errDown), llmtest.Fail(errDown), llmtest.Fail(errDown), llmtest.Fail(errDown), llmtest.Say("a")}, "attempt 4: llm: provider overloaded", 4, 0, 3500 * time.Millisecond},
		{"twice", llm.RetryPolicy{Attempts: 2, Max: time.Nanosecond}, []llmtest.Reply{llmtest.Fail(errDown), llmtest.Fail(errDown), llmtest.Say("a")}, "attempt 2", 2, 0, time.Nanosecond},
		{"not what is no use", llm.RetryPolicy{}, []llmtest.Reply{llmtest.Fail(&llm.Error{Kind: llm.ErrAuth}), llmtest.Say("a")}, "not allowed", 1, 0, 0},
		{"what one says", llm.RetryPolicy{If: func(err error) bool { return errors.Is(err, llm.ErrAuth) }}, []llmtest.Reply{llmtest.Fail(llm.ErrAuth), llmtest.Say("a")}, "a", 2, 0, time.Second},
		{"after the time asked for", llm.RetryPolicy{}, []llmtest.Reply{llmtest.Fail(errDown), slow(7 * time.Second), llmtest.Say("a")}, "a", 3, 7 * time.Second, 9 * time.Second},
		{"not after a long time", llm.RetryPolicy{}, []llmtest.Reply{slow(31 * time.Second), llmtest.Say("a")}, "rate limit", 1, 0, 0},
		{"not once a chunk was seen", llm.RetryPolicy{}, []llmtest.Reply{broken, llmtest.Say("a")}, "provider overloaded", 1, 0, 0},
		{"but when it was held back", llm.RetryPolicy{Whole: true}, []llmtest.Reply{broken, none, llmtest.Say("a")}, "a", 3, 0, 1500 * time.Millisecond},
		{"what ends with nothing", llm.RetryPolicy{}, []llmtest.Reply{{Message: llm.Assistant(""), Chunks: []llm.Chunk{{}}}, llmtest.Say("a")}, "unknown kind", 1, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				script := llmtest.NewScript(test.replies...)
				begin := time.Now()
				got, err := llm.Generate(t.Context(), llm.Retry(script, test.policy), hello)
				took := time.Since(begin)
				if err == nil && got.Text() != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %q and %v, want %q", got.Text(), err, test.want)
				}
				if asked := len(script.Requests()); asked != test.asked {
					t.Errorf("asked %d times, want %d", asked, test.asked)
				}
				if took < test.min || took > test.max {
					t.Errorf("took %v, want %v to %v", took, test.min, test.max)
				}
			})
		})
	}
}

func TestRetryOfNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
			if asked++; asked == 1 {
				return func(func(llm.Chunk, error) bool) {}
			}
			return llm.Reply(llm.Assistant("a"))
		})
		got, err := llm.Generate(t.Context(), llm.Retry(model, llm.RetryPolicy{}), hello)
		if err != nil || got.Text() != "a" || asked != 2 {
			t.Errorf("got %q and %v after %d attempts", got.Text(), err, asked)
		}
	})
}

// The waits are random, and bounded by what doubles.
func TestRetryJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waits [2]map[time.Duration]bool
		for i := range waits {
			waits[i] = map[time.Duration]bool{}
		}
		for range 50 {
			var last time.Time
			attempt := 0
			model := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
				if attempt > 0 {
					wait := time.Since(last)
					if most := time.Duration(attempt) * time.Second; wait > most {
						t.Errorf("attempt %d came after %v, want at most %v", attempt+1, wait, most)
					}
					waits[attempt-1][wait] = true
				}
				attempt, last = attempt+1, time.Now()
				return playing(nil, errDown).Stream(t.Context(), hello)
			})
			policy := llm.RetryPolicy{Attempts: 3, Initial: time.Second}
			if _, err := llm.Generate(t.Context(), llm.Retry(model, policy), hello); !errors.Is(err, llm.ErrOverloaded) {
				t.Fatal(err)
			}
		}
		for i, seen := range waits {
			if len(seen) < 40 {
				t.Errorf("wait %d had %d different lengths of 50", i, len(seen))
			}
		}
	})
}

func TestRetryHonoursItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		script := llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 10 * time.Second}))
		var last error
		for _, err := range llm.Retry(script, llm.RetryPolicy{}).Stream(ctx, hello) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) || !errors.Is(last, llm.ErrRateLimit) {
			t.Errorf("got %v, want both errors", last)
		}
		if len(script.Requests()) != 1 {
			t.Errorf("asked %d times", len(script.Requests()))
		}
	})
}

func TestMiddlewareLeftEarly(t *testing.T) {
	t.Parallel()
	var exchange llm.Exchange
	traced := llm.Trace(llmtest.NewScript(llmtest.Say("a long answer")), llm.Hooks{End: func(_ context.Context, e llm.Exchange) { exchange = e }})
	limited := llm.Limit(traced, llm.Limits{Concurrent: 1})
	for _, m := range []llm.Model{llm.Retry(llmtest.Echo{}, llm.RetryPolicy{Whole: true}), llm.Retry(llm.Fallback(limited), llm.RetryPolicy{})} {
		chunks := 0
		for _, err := range m.Stream(t.Context(), hello) {
			if err != nil {
				t.Error(err)
			}
			chunks++
			break
		}
		if chunks != 1 {
			t.Errorf("got %d chunks", chunks)
		}
	}
	if !exchange.Left || exchange.Chunks != 1 || exchange.Err != nil || exchange.Reply.Role != "" {
		t.Errorf("traced %+v", exchange)
	}
	// The place is free again.
	if _, err := llm.Generate(t.Context(), limited, hello); !errors.Is(err, llmtest.ErrNoReply) {
		t.Errorf("got %v", err)
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	down := func() *llmtest.Script { return llmtest.NewScript(llmtest.Fail(errDown)) }
	tests := []struct {
		name   string
		models []*llmtest.Script
		want   string
		is     error
		asked  []int
	}{
		{"the first", []*llmtest.Script{llmtest.NewScript(llmtest.Say("a")), llmtest.NewScript(llmtest.Say("b"))}, "a", nil, []int{1, 0}},
		{"the second", []*llmtest.Script{down(), llmtest.NewScript(llmtest.Say("b"))}, "b", nil, []int{1, 1}},
		{"what one refuses", []*llmtest.Script{llmtest.NewScript(llmtest.Fail(&llm.Error{Kind: llm.ErrContextTooLong})), llmtest.NewScript(llmtest.Say("b"))}, "b", nil, []int{1, 1}},
		{"none", []*llmtest.Script{down(), down()}, "", llm.ErrOverloaded, []int{1, 1}},
		{"not once a chunk was seen", []*llmtest.Script{llmtest.NewScript(llmtest.Reply{Message: llm.Assistant("half"), Err: errDown}), llmtest.NewScript(llmtest.Say("b"))}, "", llm.ErrOverloaded, []int{1, 0}},
		{"not for an invalid request", []*llmtest.Script{llmtest.NewScript(llmtest.Fail(llm.ErrInvalid)), llmtest.NewScript(llmtest.Say("b"))}, "", llm.ErrInvalid, []int{1, 0}},
		{"no models", nil, "", llm.ErrInvalid, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var models []llm.Model
			for _, m := range test.models {
				models = append(models, m)
			}
			got, err := llm.Generate(t.Context(), llm.Fallback(models...), hello)
			require.ErrorIs(t, err, test.is)
			assert.Equal(t, test.want, got.Text())
			for i, m := range test.models {
				assert.Len(t, m.Requests(), test.asked[i], "requests to model %d", i)
			}
		})
	}
}

// named is a model with a name.
type named struct {
	llm.Model
	name string
}

func (n named) String() string { return n.name }

// TestFallbackNamesTheModelsThatFailed proves that the reply, and the error if all models fail, say
// which model failed with which error, also if the models are wrapped or are a Fallback themselves.
func TestFallbackNamesTheModelsThatFailed(t *testing.T) {
	t.Parallel()
	denied := &llm.Error{Kind: llm.ErrAuth, Provider: "acme", Status: 401}
	failing := func(name string, err error) llm.Model {
		m := llm.Retry(llm.Limit(named{llmtest.NewScript(llmtest.Fail(err)), name}, llm.Limits{}), llm.RetryPolicy{Attempts: 1, Whole: true})
		return llm.Log(m, "main", slog.New(slog.DiscardHandler))
	}
	good := llmtest.NewScript(llmtest.Say("ok"))
	reply, err := llm.Generate(t.Context(), llm.Fallback(failing("first", denied), llm.Fallback(failing("second", errDown), good)), hello)
	require.NoError(t, err)
	assert.Equal(t, []llm.PassedOver{{Model: "first", Error: denied.Error()}, {Model: "second", Error: errDown.Error()}}, reply.PassedOver())

	stored, err := json.Marshal(reply)
	require.NoError(t, err)
	var again llm.Message
	require.NoError(t, json.Unmarshal(stored, &again))
	assert.Equal(t, reply.PassedOver(), again.PassedOver())

	reply, err = llm.Generate(t.Context(), llm.Fallback(llmtest.NewScript(llmtest.Say("ok"))), hello)
	require.NoError(t, err)
	assert.Empty(t, reply.PassedOver())
	assert.Empty(t, reply.Metadata)

	_, err = llm.Generate(t.Context(), llm.Fallback(failing("first", denied), failing("second", errDown)), hello)
	require.ErrorIs(t, err, llm.ErrAuth)
	require.ErrorIs(t, err, llm.ErrOverloaded)
	require.ErrorContains(t, err, "fallback: first: "+denied.Error())
	require.ErrorContains(t, err, "fallback: second: ")
	e, ok := errors.AsType[*llm.ModelError](err)
	require.True(t, ok)
	assert.Equal(t, "first", e.Model)
}

func TestFallbackEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	first := llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		cancel()
		return playing(nil, ctx.Err()).Stream(ctx, hello)
	})
	second := llmtest.NewScript(llmtest.Say("b"))
	for _, err := range llm.Fallback(first, second).Stream(ctx, hello) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if len(second.Requests()) != 0 {
		t.Error("the second model was asked")
	}
}

// ticks, in a bubble, asks a limited model n times at once and returns when the answers began.
func ticks(t *testing.T, l llm.Limits, n int, takes time.Duration) []time.Duration {
	t.Helper()
	begin := time.Now()
	var mu sync.Mutex
	var started []time.Duration
	var running, most atomic.Int64
	model := llm.Limit(llm.ModelFunc(func(context.Context, llm.Request) iter.Seq2[llm.Chunk, error] {
		mu.Lock()
		started = append(started, time.Since(begin))
		mu.Unlock()
		most.Store(max(most.Load(), running.Add(1)))
		<-time.After(takes)
		running.Add(-1)
		return llm.Reply(llm.Assistant("a"))
	}), l)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, err := llm.Generate(t.Context(), model, hello); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if l.Concurrent > 0 && most.Load() > int64(l.Concurrent) {
		t.Errorf("%d at once, want at most %d", most.Load(), l.Concurrent)
	}
	slices.Sort(started)
	return started
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name   string
		limits llm.Limits
		want   []time.Duration
	}{
		{"none", llm.Limits{}, []time.Duration{0, 0, 0, 0, 0}},
		{"two at once", llm.Limits{Concurrent: 2}, []time.Duration{0, 0, s, s, 2 * s}},
		{"thirty a minute", llm.Limits{PerMinute: 30}, []time.Duration{0, 2 * s, 4 * s, 6 * s, 8 * s}},
		{"thirty a minute, three at first", llm.Limits{PerMinute: 30, Burst: 3}, []time.Duration{0, 0, 0, 2 * s, 4 * s}},
		{"both", llm.Limits{Concurrent: 1, PerMinute: 120}, []time.Duration{0, s, 2 * s, 3 * s, 4 * s}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := ticks(t, test.limits, len(test.want), s); !slices.Equal(got, test.want) {
					t.Errorf("started at %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestLimitHonoursItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := llm.Limit(llmtest.Echo{}, llm.Limits{PerMinute: 6})
		ask := func(d time.Duration) error {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			defer cancel()
			var last error
			for _, err := range model.Stream(ctx, hello) {
				last = err
			}
			return last
		}
		require.NoError(t, ask(time.Second))
		if err := ask(time.Second); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want to be too late", err)
		}
		// The turn that was given up is the next one's.
		begin := time.Now()
		if err := ask(time.Minute); err != nil || time.Since(begin) != 9*time.Second {
			t.Errorf("got %v after %v, want the turn 9s later", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range model.Stream(ctx, hello) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// TestLimitRecovers lets six hundred wait who all give up, one after the other.
func TestLimitRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := llm.Limit(llmtest.Echo{}, llm.Limits{PerMinute: 1})
		if _, err := llm.Generate(t.Context(), model, hello); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Duration(i)*time.Millisecond)
				defer cancel()
				if _, err := llm.Generate(ctx, model, hello); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		begin := time.Now()
		if _, err := llm.Generate(t.Context(), model, hello); err != nil || time.Since(begin) > time.Minute {
			t.Errorf("got %v after %v, want an answer within a minute", err, time.Since(begin))
		}
	})
}

func TestLimitWaitsForAPlaceWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := llm.Limit(llmtest.NewScript(llmtest.Say("a").After(time.Minute)), llm.Limits{Concurrent: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := llm.Generate(t.Context(), model, hello); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range model.Stream(ctx, hello) {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
		wg.Wait()
	})
}

// drain reads a stream to its end, and whatever its error is leaves it to others.
func drain(stream iter.Seq2[llm.Chunk, error]) {
	stream(func(llm.Chunk, error) bool { return true })
}

func TestTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		var started []llm.Request
		var ended []llm.Exchange
		hooks := llm.Hooks{
			Start: func(ctx context.Context, r llm.Request) context.Context {
				started = append(started, r)
				return context.WithValue(ctx, key{}, len(started))
			},
			End: func(ctx context.Context, e llm.Exchange) {
				if ctx.Value(key{}) != len(started) {
					t.Error("End has another context than Start returned")
				}
				ended = append(ended, e)
			},
		}
		first := llmtest.Call("f", `{"a":1}`).After(time.Second).Costing(llm.Usage{Input: 3, Output: 2})
		first.Pace = time.Second
		script := llmtest.NewScript(first, llmtest.Fail(errDown), llmtest.Reply{Chunks: []llm.Chunk{{Kind: "?"}}})
		model := llm.Trace(script, hooks)
		reply, err := llm.Generate(t.Context(), model, hello)
		require.NoError(t, err)
		e := ended[0]
		if e.Reply.ID != reply.ID || e.Usage().Total != 5 || e.FirstChunk != time.Second || e.Duration != 3*time.Second || e.Chunks != 3 || e.Left || e.Err != nil {
			t.Errorf("traced %+v", e)
		}
		if _, err := llm.Generate(t.Context(), model, hello); !errors.Is(err, llm.ErrOverloaded) {
			t.Errorf("got %v", err)
		}
		if e := ended[1]; !errors.Is(e.Err, llm.ErrOverloaded) || e.Left || e.FirstChunk != 0 || e.Usage() != (llm.Usage{}) {
			t.Errorf("traced %+v", e)
		}
		drain(model.Stream(t.Context(), hello))
		if e := ended[2]; !errors.Is(e.Err, llm.ErrMalformed) || e.Reply.Role != "" {
			t.Errorf("traced %+v", e)
		}
		if len(started) != 3 || len(ended) != 3 {
			t.Errorf("%d started, %d ended", len(started), len(ended))
		}
		drain(llm.Trace(llmtest.Echo{}, llm.Hooks{}).Stream(t.Context(), hello))
	})
}

func TestLog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey, "duration", "first_chunk":
			return slog.Attr{}
		}
		return a
	}}))
	secret := llm.Request{Messages: []llm.Message{llm.User("secret")}, Tools: []llm.ToolSpec{{Name: "f", Schema: []byte(`{}`)}}}
	script := llmtest.NewScript(llmtest.Call("f", `{}`).Costing(llm.Usage{Input: 3, Output: 2, Cached: 1}), llmtest.Fail(errDown), llmtest.Say("a"))
	model := llm.Log(script, "m-1", logger)
	for range 2 {
		drain(model.Stream(t.Context(), secret))
	}
	for _, err := range model.Stream(t.Context(), hello) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	want := `level=INFO msg="model answered" model=m-1 messages=1 tools=1 chunks=2 stop_reason=tool_calls tool_calls=1 input_tokens=3 output_tokens=2 cached_tokens=1
level=WARN msg="model failed" model=m-1 messages=1 tools=1 error="llm: provider overloaded (status 503)" retryable=true status=503
level=INFO msg="model was left" model=m-1 messages=1 chunks=1
`
	assert.Equal(t, want, b.String())
	quiet := llm.Log(llmtest.Echo{}, "m-1", slog.New(slog.DiscardHandler))
	if _, err := llm.Generate(t.Context(), quiet, hello); err != nil {
		t.Error(err)
	}
}

func TestMiddlewareIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	flaky := llm.ModelFunc(func(ctx context.Context, r llm.Request) iter.Seq2[llm.Chunk, error] {
		if n.Add(1)%3 == 0 {
			return playing(nil, errDown).Stream(ctx, r)
		}
		return llmtest.Echo{}.Stream(ctx, r)
	})
	var ended atomic.Int64
	model := llm.Trace(flaky, llm.Hooks{End: func(context.Context, llm.Exchange) { ended.Add(1) }})
	model = llm.Retry(llm.Limit(llm.Fallback(model, llmtest.Echo{}), llm.Limits{Concurrent: 4, PerMinute: 6e6}), llm.RetryPolicy{})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			text := fmt.Sprint(i)
			got, err := llm.Generate(t.Context(), model, llm.Request{Messages: []llm.Message{llm.User(text)}})
			if err != nil || got.Text() != text {
				t.Errorf("got %q and %v, want %q", got.Text(), err, text)
			}
		})
	}
	wg.Wait()
	if ended.Load() != 50 {
		t.Errorf("traced %d exchanges", ended.Load())
	}
}
