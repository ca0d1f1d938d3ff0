package extract_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
	"github.com/weft-go/weft/memory/inmemory"
)

// choosy is a queue that rejects jobs with some keys.
type choosy struct {
	*inmemory.Turns
	mu  sync.Mutex
	why map[string]error
}

func (r *choosy) refuse(key string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.why[key] = err
}

func (r *choosy) Enqueue(ctx context.Context, j extract.Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.why[j.Key]; err != nil {
		return err
	}
	return r.Turns.Enqueue(ctx, j)
}

func TestRefusedTurnBlocksNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		q := &choosy{Turns: inmemory.NewTurns(), why: map[string]error{}}
		q.refuse("odd", errors.New("odd"))
		q.refuse("denied", fmt.Errorf("rights: %w", memory.ErrDenied))
		l := newLearner(t, m, extract.Options{Extractor: echo, Queue: q})
		require.ErrorIs(t, l.Learn(t.Context(), extract.Turn{Key: "denied", Scope: ann, User: "no"}), memory.ErrDenied)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Work(ctx) })
		for _, key := range []string{"odd", "1", "2"} {
			require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: key, Scope: ann, User: "fact " + key}))
		}
		time.Sleep(time.Minute)
		assert.EqualValues(t, 2, l.Stats().Learned)
		assert.Equal(t, 1, l.Stats().Waiting)
		q.refuse("odd", fmt.Errorf("for good: %w", memory.ErrInvalid))
		time.Sleep(time.Minute)
		assert.EqualValues(t, 1, l.Stats().Parked)
		assert.Zero(t, l.Stats().Waiting)
		cancel()
		wg.Wait()
	})
}

func TestSlowTurnOccupiesOneWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var last atomic.Int64
		l := newLearner(t, newMemory(t), extract.Options{Workers: 2, Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
			if turn.User == "slow" {
				time.Sleep(30 * time.Second)
			} else {
				time.Sleep(time.Second)
				last.Store(int64(time.Since(began)))
			}
			return echo(ctx, turn)
		})})
		turns := []extract.Turn{{Key: "0", Scope: ann, User: "slow"}}
		for i := range 8 {
			turns = append(turns, extract.Turn{Key: fmt.Sprint("q", i), Scope: ann, User: fmt.Sprint("quick ", i)})
		}
		learn(t, l, turns...)
		assert.LessOrEqual(t, time.Duration(last.Load()), 9*time.Second, "the eight quick turns")
	})
}

// Calls that ignore their context are abandoned, and count as failed attempts.
func TestHangingCalls(t *testing.T) {
	t.Parallel()
	hang := func(release chan struct{}, said string) {
		if said == "hangs" {
			<-release
		}
	}
	for name, options := range map[string]func(release chan struct{}) extract.Options{
		"extractor": func(release chan struct{}) extract.Options {
			return extract.Options{Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
				hang(release, turn.User)
				return echo(ctx, turn)
			})}
		},
		"verifier": func(release chan struct{}) extract.Options {
			return extract.Options{Extractor: echo, Verifier: extract.VerifierFunc(func(ctx context.Context, claims []extract.Claim) ([]extract.Verdict, error) {
				hang(release, claims[0].Said)
				return trusting(ctx, claims)
			})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				o := options(release)
				o.Timeout, o.Attempts = time.Second, 2
				l := newLearner(t, newMemory(t), o)
				began := time.Now()
				learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "hangs"}, extract.Turn{Key: "2", Scope: ann, User: "fine"})
				assert.EqualValues(t, 1, l.Stats().Learned)
				assert.EqualValues(t, 1, l.Stats().Parked)
				assert.LessOrEqual(t, time.Since(began), 20*time.Second)

				require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: "3", Scope: ann, User: "hangs"}))
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				defer cancel()
				began = time.Now()
				assert.ErrorIs(t, l.Drain(ctx), context.DeadlineExceeded)
				assert.LessOrEqual(t, time.Since(began), 3*time.Second, "Drain")
			})
		})
	}
}

// A turn that crashes the process each time is parked after 20 claims.
func TestCrashingTurnIsParked(t *testing.T) {
	t.Parallel()
	for claims, parked := range map[int]bool{19: false, 20: true} {
		q, m := inmemory.NewTurns(), newMemory(t)
		l := newLearner(t, m, extract.Options{Queue: q, Attempts: 3, Extractor: echo})
		require.NoError(t, l.Learn(t.Context(), extract.Turn{Key: "1", Scope: ann, User: "boom"}))
		for range claims {
			jobs, err := q.Claim(t.Context(), 1, 0) // by a process that ends then
			require.NoError(t, err)
			require.Len(t, jobs, 1)
		}
		require.NoError(t, l.Drain(t.Context()))
		list, err := q.Parked(t.Context(), 9)
		require.NoError(t, err)
		if !parked {
			assert.Empty(t, list, "after %d claims", claims)
			assert.NotEmpty(t, known(t, m))
			continue
		}
		require.Len(t, list, 1, "after %d claims", claims)
		assert.Contains(t, list[0].Cause, "20 times, and never ended")
		assert.Empty(t, known(t, m))
	}
}

func TestStatsCountFactsThatChangedMemory(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	same := slices.Repeat([]extract.Proposal{{Content: "Ann likes tea", Evidence: "Ann likes tea"}}, 4)
	l := newLearner(t, m, extract.Options{Extractor: proposing(same...)})
	learn(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann likes tea"})
	assert.EqualValues(t, 1, l.Stats().Facts)
	assert.Len(t, known(t, m), 1)
}

// Turns of one user that are learned at the same time see each other's facts.
func TestTurnsOfAUserAreSettledInSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		l := newLearner(t, m, extract.Options{
			Workers: 4, Verifier: trusting, Decider: deciding(extract.Decision{Action: extract.Replace, Known: []int{0}}),
			Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
				time.Sleep(time.Second)
				return echo(ctx, turn)
			}),
		})
		now := time.Now()
		var turns []extract.Turn
		for i, city := range []string{"Oslo", "Rome", "Bergen", "Athens"} {
			turns = append(turns, extract.Turn{Key: city, Scope: ann, User: "Ann lives in " + city, At: now.Add(time.Duration(i-9) * time.Minute)})
		}
		learn(t, l, turns...)
		assert.Equal(t, []string{"Ann lives in Athens"}, known(t, m), "the newest turn's fact")
	})
}
