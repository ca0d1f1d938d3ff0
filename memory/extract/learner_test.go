package extract_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

// A turn is learned once, although it is enqueued twice and finished twice.
func TestTurnIsLearnedOnce(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	var n atomic.Int64
	counting := extract.ExtractorFunc(func(context.Context, extract.Turn) ([]extract.Proposal, error) {
		return []extract.Proposal{{Content: "hello" + strings.Repeat(" again", int(n.Add(1))), Evidence: "hello again again"}}, nil
	})
	q := &forgetful{Turns: inmemory.NewTurns()}
	l := newLearner(t, m, extract.Options{Extractor: counting, Queue: q, Delay: time.Nanosecond})
	turn := extract.Turn{Key: "thread/7", Scope: ann, User: "hello again again"}
	learn(t, l, turn, turn)
	assert.Equal(t, []string{"hello again"}, known(t, m))
	assert.EqualValues(t, 2, n.Load(), "attempts")
}

// forgetful is a queue that loses the first Finish.
type forgetful struct {
	*inmemory.Turns
	once sync.Once
}

func (f *forgetful) Finish(ctx context.Context, j extract.Job) error {
	lost := false
	f.once.Do(func() { lost = true })
	if lost {
		return errors.Join(errors.New("the connection is gone"), f.Retry(ctx, j, 0, ""))
	}
	return f.Turns.Finish(ctx, j)
}

func TestRetryAndPark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		var tried []time.Duration
		began := time.Now()
		flaky := extract.ExtractorFunc(func(_ context.Context, turn extract.Turn) ([]extract.Proposal, error) {
			switch turn.User {
			case "panic":
				panic("ouch")
			case "never":
				tried = append(tried, time.Since(began))
				return nil, errors.New("down")
			}
			return echo(t.Context(), turn)
		})
		l := newLearner(t, m, extract.Options{Extractor: flaky, Workers: 1, Attempts: 3, Delay: 4 * time.Second})
		for i, said := range []string{"never", "panic", "fine"} {
			require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: fmt.Sprint(i), Scope: ann, User: said}))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { assert.ErrorIs(t, l.Work(ctx), context.Canceled) })
		time.Sleep(time.Minute)
		cancel()
		wg.Wait()
		assert.Equal(t, extract.Stats{Learned: 1, Parked: 2, Failed: 4, Facts: 1, Dropped: map[extract.Reason]int64{}}, l.Stats())
		if assert.Len(t, tried, 3) {
			assert.GreaterOrEqual(t, tried[1], 2*time.Second)
			assert.GreaterOrEqual(t, tried[2]-tried[1], 4*time.Second)
		}
		assert.NoError(t, l.Drain(t.Context()), "only parked turns are left")
	})
}

// A queue that does not answer delays a turn only briefly, and no turn is lost.
func TestQueueDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		q := &hanging{Turns: inmemory.NewTurns()}
		q.down.Store(true)
		l := newLearner(t, m, extract.Options{Extractor: echo, Queue: q})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Work(ctx) })
		began := time.Now()
		for i := range 5 {
			require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: fmt.Sprint(i), Scope: ann, User: fmt.Sprintf("fact number %d", i)}))
		}
		assert.LessOrEqual(t, time.Since(began), 6*time.Second, "five calls of Learn")
		time.Sleep(time.Minute)
		assert.Equal(t, 5, l.Stats().Waiting)
		assert.Zero(t, l.Stats().Learned)
		q.down.Store(false)
		time.Sleep(20 * time.Second)
		assert.Len(t, known(t, m), 5)
		cancel()
		wg.Wait()
	})
}

// hanging is a queue that does not answer while it is down.
type hanging struct {
	*inmemory.Turns
	down atomic.Bool
}

func (h *hanging) Enqueue(ctx context.Context, j extract.Job) error {
	if h.down.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return h.Turns.Enqueue(ctx, j)
}

// A turn is not parked because its tenant is over its limit, no matter how often this
// happens.
func TestBusyTenantParksNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &crowded{FactStore: inmemory.NewFacts(inmemory.Options{})}
		store.left.Store(7)
		m, err := memory.New(inmemory.Fill(driver.Stores{FactStore: store}), memory.Options{})
		require.NoError(t, err)
		l := newLearner(t, m, extract.Options{Extractor: echo, Attempts: 3})
		learn(t, l, extract.Turn{Key: "k", Scope: ann, User: "I like tea"})
		assert.Equal(t, extract.Stats{Learned: 1, Failed: 7, Facts: 1, Dropped: map[extract.Reason]int64{}}, l.Stats())
		assert.Len(t, known(t, m), 1)
	})
}

// crowded is a store whose first calls of Apply return ErrBusy. left is the remaining number of these calls.
type crowded struct {
	driver.FactStore
	left atomic.Int64
}

func (c *crowded) Apply(ctx context.Context, s memory.Scope, changes []memory.FactChange) ([]memory.Applied, error) {
	if c.left.Add(-1) >= 0 {
		return nil, memory.ErrBusy
	}
	return c.FactStore.Apply(ctx, s, changes)
}

func TestLearnReturnsErrFull(t *testing.T) {
	t.Parallel()
	l := newLearner(t, newMemory(t), extract.Options{Extractor: echo, Queue: refusing{inmemory.NewTurns()}})
	for i := range 10_000 {
		require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: fmt.Sprint(i), Scope: ann, User: "x"}))
	}
	assert.ErrorIs(t, l.Learn(t.Context(), extract.Turn{Key: "one more", Scope: ann, User: "x"}), extract.ErrFull)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, l.Drain(ctx), context.DeadlineExceeded)
}

type refusing struct{ *inmemory.Turns }

func (refusing) Enqueue(context.Context, extract.Job) error { return errors.New("down") }

// Turns that are older than the last Forget of their user are not learned.
func TestForgottenUser(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	l := newLearner(t, m, extract.Options{Extractor: echo})
	require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: "1", Scope: ann, User: "Ann has a secret"}))
	_, err := m.Forget(t.Context(), ann)
	require.NoError(t, err)
	require.NoError(t, l.Drain(t.Context()))
	assert.Empty(t, known(t, m))
}

func TestNewNeedsMemoryAndExtractor(t *testing.T) {
	t.Parallel()
	_, err := extract.New(nil, extract.Options{Extractor: echo})
	require.ErrorIs(t, err, memory.ErrInvalid)
	_, err = extract.New(newMemory(t), extract.Options{})
	require.ErrorIs(t, err, memory.ErrInvalid)
}

func TestLearnRejectsInvalidTurns(t *testing.T) {
	t.Parallel()
	l := newLearner(t, newMemory(t), extract.Options{Extractor: echo})
	for _, turn := range []extract.Turn{
		{},
		{Key: strings.Repeat("k", 513)},
		{Key: "\xff"},
		{Key: "1", Scope: memory.Scope{User: "\x00"}},
		{Key: "1"},
		{Key: "1", Scope: memory.Scope{Tenant: "acme"}},
	} {
		assert.ErrorIs(t, l.Learn(t.Context(), turn), memory.ErrInvalid, "%+v", turn)
	}
}

func TestLearnAcceptsBrokenText(t *testing.T) {
	t.Parallel()
	l := newLearner(t, newMemory(t), extract.Options{Extractor: echo})
	learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "broken \xff and \x00, and long " + strings.Repeat("x", 1<<20)})
	assert.EqualValues(t, 1, l.Stats().Learned)
}
