package llm_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

// waiting returns a model that waits before each chunk of its reply. A negative time means until the context ends. If the context
// ends, the stream ends with the error of the context, or without an error if quiet is set.
func waiting(quiet bool, waits ...time.Duration) llm.Model {
	chunks := []llm.Chunk{{Kind: llm.ChunkText, Text: "a"}, {Kind: llm.ChunkText, Text: "b"}, {Kind: llm.ChunkEnd, StopReason: llm.StopEnd}}
	return named{name: "slow", Model: llm.ModelFunc(func(ctx context.Context, _ llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			for i, c := range chunks {
				var after <-chan time.Time
				if waits[i] >= 0 {
					after = time.After(waits[i])
				}
				select {
				case <-after:
				case <-ctx.Done():
					if !quiet {
						yield(llm.Chunk{}, ctx.Err())
					}
					return
				}
				if !yield(c, nil) {
					return
				}
			}
		}
	})}
}

func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	const s, ever = time.Second, time.Duration(-1)
	tests := []struct {
		name  string
		model llm.Model
		limit time.Duration
		text  string // the text before the end, or before the error
		takes time.Duration
		fails bool
	}{
		{"a steady reply longer than the limit", waiting(false, 2*s, 2*s, 2*s), 3 * s, "ab", 6 * s, false},
		{"nothing", waiting(false, ever, 0, 0), 3 * s, "", 3 * s, true},
		{"a stream that stops", waiting(false, 2*s, ever, 0), 3 * s, "a", 5 * s, true},
		{"a stream without its end", waiting(false, s, s, ever), 3 * s, "ab", 5 * s, true},
		{"a model that hides that its context ended", waiting(true, s, s, ever), 3 * s, "ab", 5 * s, true},
		{"no limit", waiting(false, time.Hour, 0, 0), 0, "ab", time.Hour, false},
		{"a negative limit", waiting(false, time.Hour, 0, 0), -s, "ab", time.Hour, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin, text := time.Now(), ""
				var last error
				for c, err := range llm.IdleTimeout(test.model, test.limit).Stream(t.Context(), hello) {
					text, last = text+c.Text, err
				}
				assert.Equal(t, test.text, text)
				assert.Equal(t, test.takes, time.Since(begin))
				if !test.fails {
					assert.NoError(t, last)
					return
				}
				require.ErrorIs(t, last, llm.ErrTransport)
				assert.True(t, llm.Retryable(last))
				assert.EqualError(t, last, "llm: slow: connection failed: the model sent nothing for 3s")
			})
		})
	}
}

func TestIdleTimeoutDoesNotCountTheReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := ""
		for c, err := range llm.IdleTimeout(waiting(false, 0, 0, 0), time.Second).Stream(t.Context(), hello) {
			require.NoError(t, err)
			text += c.Text
			<-time.After(time.Minute)
		}
		assert.Equal(t, "ab", text)
	})
}

func TestIdleTimeoutKeepsTheErrorOfItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := llm.Generate(ctx, llm.IdleTimeout(waiting(false, -1, 0, 0), time.Minute), hello)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, llm.ErrTransport)
	})
}

func TestRetryAndFallbackContinueAfterASilentModel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		silent := llm.IdleTimeout(waiting(false, -1, 0, 0), 15*time.Second)
		begin := time.Now()
		reply, err := llm.Generate(t.Context(), llm.Fallback(llm.Retry(silent, llm.RetryPolicy{Attempts: 2}), llmtest.NewScript(llmtest.Say("b"))), hello)
		require.NoError(t, err)
		assert.Equal(t, "b", reply.Text())
		assert.GreaterOrEqual(t, time.Since(begin), 30*time.Second)
		assert.Equal(t, []llm.PassedOver{{Model: "slow", Error: "llm: attempt 2: llm: slow: connection failed: the model sent nothing for 15s"}}, reply.PassedOver())
	})
}

func TestIdleTimeoutLeftEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for c, err := range llm.IdleTimeout(waiting(false, 0, -1, 0), time.Second).Stream(t.Context(), hello) {
			require.NoError(t, err)
			assert.Equal(t, "a", c.Text)
			break
		}
	})
}

// TestIdleTimeoutAtTheEndOfAReply proves that, if the last chunk arrives at the moment of the timeout, the stream has this chunk
// or the error, and never both.
func TestIdleTimeoutAtTheEndOfAReply(t *testing.T) {
	t.Parallel()
	for range 100 { // the timers of IdleTimeout and of the model fire at the same time, in any order
		synctest.Test(t, func(t *testing.T) {
			complete := false
			for c, err := range llm.IdleTimeout(waiting(true, 0, 0, time.Second), time.Second).Stream(t.Context(), hello) {
				require.False(t, complete, "%+v %v after the end", c, err)
				complete = c.Kind == llm.ChunkEnd && err == nil
				time.Sleep(time.Millisecond) // until the function of the limit's timer has run
			}
		})
	}
}
