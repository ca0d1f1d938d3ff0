package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
)

// A failed tool is retried up to the limit of the policy, and the wait doubles each time.
func TestToolIsTriedAgain(t *testing.T) {
	t.Parallel()
	fatal := errors.New("fatal")
	for name, c := range map[string]struct {
		policy tools.RetryPolicy
		fails  []error
		runs   int
		took   time.Duration
		want   string
	}{
		"succeeds at last": {tools.RetryPolicy{}, []error{errors.New("a"), errors.New("b")}, 3, 1500 * time.Millisecond, "done"},
		"gives up":         {tools.RetryPolicy{Attempts: 2, Initial: time.Second}, []error{errors.New("a"), errors.New("b")}, 2, time.Second, "attempt 2: b"},
		"longest wait":     {tools.RetryPolicy{Initial: time.Minute}, []error{errors.New("a")}, 2, 10 * time.Second, "done"},
		"not after this":   {tools.RetryPolicy{If: func(err error) bool { return !errors.Is(err, fatal) }}, []error{fatal}, 1, 0, "fatal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				set := mustSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) {
					if runs++; runs <= len(c.fails) {
						return "", c.fails[runs-1]
					}
					return "done", nil
				}))
				start := time.Now()
				answer, err := set.Call(tools.WithRetry(t.Context(), c.policy), llm.ToolCall{ID: "1", Name: "work"}, tools.Options{})
				require.NoError(t, err)
				assert.Equal(t, c.want, answer.Text())
				assert.Equal(t, c.runs, runs)
				assert.Equal(t, c.took, time.Since(start))
			})
		})
	}
}

// The end of the context ends the wait for the next attempt.
func TestRetryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		set := mustSet(t, tools.New("work", "Works.", func(context.Context, struct{}) (string, error) { return "", errors.New("a") }))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := set.Call(tools.WithRetry(ctx, tools.RetryPolicy{Initial: time.Minute}), llm.ToolCall{ID: "1", Name: "work"}, tools.Options{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, time.Second, time.Since(start))
	})
}
