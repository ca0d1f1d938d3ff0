package llm_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/llm/llmtest"
)

var errDown = llm.Classify(llm.Error{Status: 503})

func TestMiddlewareLeftEarly(t *testing.T) {
	t.Parallel()
	var exchange llm.Exchange
	traced := llm.Trace(llmtest.NewScript(llmtest.Say("a long answer")), llm.Hooks{End: func(_ context.Context, e llm.Exchange) { exchange = e }})
	limited := llm.Limit(traced, llm.Limits{Concurrent: 1})
	for _, m := range []llm.Model{llm.Retry(llmtest.Echo{}, llm.RetryPolicy{Whole: true}), llm.Retry(llm.Fallback(limited), llm.RetryPolicy{})} {
		chunks := 0
		for _, err := range m.Stream(t.Context(), hello) {
			assert.NoError(t, err)
			chunks++
			break
		}
		assert.Equal(t, 1, chunks)
	}
	require.True(t, exchange.Left)
	require.Equal(t, 1, exchange.Chunks)
	require.NoError(t, exchange.Err)
	assert.EqualValues(t, "", exchange.Reply.Role)
	// The limit permits a request again, because the caller has left the first one.
	_, err := llm.Generate(t.Context(), limited, hello)
	assert.ErrorIs(t, err, llmtest.ErrNoReply)
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
			require.NoError(t, err)
			assert.Equal(t, text, got.Text())
		})
	}
	wg.Wait()
	assert.EqualValues(t, 50, ended.Load())
}
