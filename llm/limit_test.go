package llm_test

import (
	"context"
	"iter"
	"slices"
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

// ticks asks a limited model n times concurrently, in a synctest bubble. It returns the times
// from the start to the beginning of each answer.
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
			_, err := llm.Generate(t.Context(), model, hello)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	if l.Concurrent > 0 {
		assert.LessOrEqual(t, most.Load(), int64(l.Concurrent), "calls at once")
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
				got := ticks(t, test.limits, len(test.want), s)
				assert.Equal(t, test.want, got)
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
		err := ask(time.Second)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "Limits.PerMinute is 6")
		// A request whose context has ended does not count.
		begin := time.Now()
		err = ask(time.Minute)
		assert.NoError(t, err)
		assert.Equal(t, 9*time.Second, time.Since(begin))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, err := range model.Stream(ctx, hello) {
			assert.ErrorIs(t, err, context.Canceled)
		}
	})
}

// TestLimitRecovers proves that a limit still works after 600 waiting requests gave up, one after
// the other.
func TestLimitRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := llm.Limit(llmtest.Echo{}, llm.Limits{PerMinute: 1})
		_, err := llm.Generate(t.Context(), model, hello)
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range 600 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Duration(i)*time.Millisecond)
				defer cancel()
				_, err := llm.Generate(ctx, model, hello)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
			})
		}
		wg.Wait()
		begin := time.Now()
		_, err = llm.Generate(t.Context(), model, hello)
		assert.NoError(t, err)
		assert.LessOrEqual(t, time.Since(begin), time.Minute)
	})
}

func TestLimitWaitsForAPlaceWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := llm.Limit(llmtest.NewScript(llmtest.Say("a").After(time.Minute)), llm.Limits{Concurrent: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := llm.Generate(t.Context(), model, hello)
			assert.NoError(t, err)
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, err := range model.Stream(ctx, hello) {
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.ErrorContains(t, err, "Limits.Concurrent is 1")
		}
		wg.Wait()
	})
}

func TestLimitRefusesNegativeNumbers(t *testing.T) {
	t.Parallel()
	for _, l := range []llm.Limits{{PerMinute: -1}, {Concurrent: -1}, {PerMinute: 1, Burst: -1}} {
		_, err := llm.Generate(t.Context(), llm.Limit(llmtest.Echo{}, l), hello)
		require.ErrorIs(t, err, llm.ErrInvalid, "%+v", l)
	}
}
