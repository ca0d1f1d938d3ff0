package llm_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

func TestRetry(t *testing.T) {
	t.Parallel()
	slow := func(d time.Duration) llmtest.Reply {
		return llmtest.Fail(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: d})
	}
	broken := llmtest.Reply{Message: llm.Assistant("half"), Err: errDown}
	none := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkReasoning, Text: "hm"}, {Kind: llm.ChunkEnd}}}
	cutOff := llmtest.Reply{Chunks: []llm.Chunk{{Kind: llm.ChunkText, Text: "half"}}}
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
		{"a reply without an end", llm.RetryPolicy{Whole: true}, []llmtest.Reply{cutOff, llmtest.Say("a")}, "a", 2, 0, 500 * time.Millisecond},
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
				require.False(t, err == nil && got.Text() != test.want)
				assert.False(t, err != nil && !strings.Contains(err.Error(), test.want))
				asked := len(script.Requests())
				assert.Equal(t, test.asked, asked)
				require.GreaterOrEqual(t, took, test.min)
				assert.LessOrEqual(t, took, test.max)
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
		require.NoError(t, err)
		require.Equal(t, "a", got.Text())
		assert.Equal(t, 2, asked)
	})
}

// TestRetryJitter proves that waits are random, and that their upper limit doubles.
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
					most := time.Duration(attempt) * time.Second
					assert.LessOrEqual(t, wait, most, "attempt %d came after %v, want at most %v", attempt+1, wait, most)
					waits[attempt-1][wait] = true
				}
				attempt, last = attempt+1, time.Now()
				return playing(nil, errDown).Stream(t.Context(), hello)
			})
			policy := llm.RetryPolicy{Attempts: 3, Initial: time.Second}
			_, err := llm.Generate(t.Context(), llm.Retry(model, policy), hello)
			require.ErrorIs(t, err, llm.ErrOverloaded)
		}
		for i, seen := range waits {
			assert.GreaterOrEqual(t, len(seen), 40, "wait %d had %d different lengths of 50", i, len(seen))
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
		require.ErrorIs(t, last, context.DeadlineExceeded)
		assert.ErrorIs(t, last, llm.ErrRateLimit)
		assert.Len(t, script.Requests(), 1)
	})
}
