package extract_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/extract"
)

// decides answers every question alike.
func decides(d extract.Decision) extract.Decider {
	return extract.DeciderFunc(func(_ context.Context, qs []extract.Question) ([]extract.Decision, error) {
		return slices.Repeat([]extract.Decision{d}, len(qs)), nil
	})
}

func learned(t *testing.T, l *extract.Learner, turns ...extract.Turn) {
	t.Helper()
	for _, turn := range turns {
		if err := l.Learn(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What was said first is not held to be so still, only since it was learned last.
func TestLearnedOutOfOrder(t *testing.T) {
	t.Parallel()
	for _, action := range []extract.Action{extract.Replace, extract.Close} {
		t.Run(string(action), func(t *testing.T) {
			t.Parallel()
			m := newMemory(t)
			l := newLearner(t, m, extract.Options{Extractor: echo, Decider: decides(extract.Decision{Action: action, Known: []int{0, 1}})})
			now := time.Now()
			hour := func(n int) time.Time { return now.Add(time.Duration(n-10) * time.Hour) }
			for _, turn := range []extract.Turn{
				{Key: "3", Scope: ann, User: "Ann lives in Rome", At: hour(3)},
				{Key: "1", Scope: ann, User: "Ann lives in Oslo", At: hour(1)},
			} {
				learned(t, l, turn)
			}
			at := func(n int) []string {
				var list []string
				for f, err := range m.List(t.Context(), memory.Query{Scope: ann, AsOf: hour(n).Add(time.Minute)}) {
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, strings.TrimPrefix(f.Content, "Ann lives in "))
				}
				return list
			}
			want := "[[] [Oslo] [Oslo] [Rome]]"
			if action == extract.Close { // which adds nothing, and there was nothing earlier to close
				want = "[[] [] [] [Rome]]"
			}
			if got := fmt.Sprint([][]string{at(0), at(1), at(2), at(3)}); got != want || !slices.Equal(known(t, m), []string{"Ann lives in Rome"}) {
				t.Errorf("got %s, want %s; known is %q", got, want, known(t, m))
			}
		})
	}
}

// choosy takes no turn of some keys, for the same reason each time.
type choosy struct {
	*extract.InProcess
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
	return r.InProcess.Enqueue(ctx, j)
}

// A turn that the queue does not take keeps no other waiting.
func TestOneTurnIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		q := &choosy{InProcess: extract.NewInProcess(), why: map[string]error{}}
		q.refuse("odd", errors.New("odd"))
		q.refuse("denied", fmt.Errorf("rights: %w", memory.ErrDenied))
		l := newLearner(t, m, extract.Options{Extractor: echo, Queue: q})
		if err := l.Learn(t.Context(), extract.Turn{Key: "denied", Scope: ann, User: "no"}); !errors.Is(err, memory.ErrDenied) {
			t.Errorf("got %v, want %v", err, memory.ErrDenied)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = l.Work(ctx) })
		for _, key := range []string{"odd", "1", "2"} {
			if err := l.Learn(t.Context(), extract.Turn{Key: key, Scope: ann, User: "fact " + key}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if s := l.Stats(); s.Learned != 2 || s.Waiting != 1 {
			t.Errorf("got %+v, want two learned and one that waits", s)
		}
		q.refuse("odd", fmt.Errorf("now for good: %w", memory.ErrInvalid))
		time.Sleep(time.Minute)
		if s := l.Stats(); s.Parked != 1 || s.Waiting != 0 {
			t.Errorf("got %+v, want one given up", s)
		}
		cancel()
		wg.Wait()
	})
}

// A slow turn takes one worker, and not all.
func TestOneTurnIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		began := time.Now()
		var last atomic.Int64
		l := newLearner(t, m, extract.Options{Workers: 2, Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
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
		learned(t, l, turns...)
		if got := time.Duration(last.Load()); got > 9*time.Second {
			t.Errorf("the quick ones took %v, want 8 s", got)
		}
	})
}

// What does not end with its context holds nothing up, and is tried as often as anything.
func TestOneTurnHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		release := make(chan struct{})
		defer close(release)
		l := newLearner(t, m, extract.Options{Timeout: time.Second, Attempts: 2, Extractor: extract.ExtractorFunc(func(ctx context.Context, turn extract.Turn) ([]extract.Proposal, error) {
			if turn.User == "hangs" {
				<-release
			}
			return echo(ctx, turn)
		})})
		began := time.Now()
		learned(t, l, extract.Turn{Key: "1", Scope: ann, User: "hangs"}, extract.Turn{Key: "2", Scope: ann, User: "fine"})
		if s := l.Stats(); s.Learned != 1 || s.Parked != 1 || time.Since(began) > 20*time.Second {
			t.Errorf("got %+v after %v", s, time.Since(began))
		}
		if err := l.Learn(t.Context(), extract.Turn{Key: "3", Scope: ann, User: "hangs"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		began = time.Now()
		if err := l.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 3*time.Second {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A turn that ends the process each time is given up, and not before.
func TestOneTurnCrashes(t *testing.T) {
	t.Parallel()
	for begun, gone := range map[int]bool{19: false, 20: true} {
		q, m := extract.NewInProcess(), newMemory(t)
		l := newLearner(t, m, extract.Options{Queue: q, Attempts: 3, Extractor: echo})
		if err := l.Learn(t.Context(), extract.Turn{Key: "1", Scope: ann, User: "boom"}); err != nil {
			t.Fatal(err)
		}
		for range begun {
			if jobs, err := q.Claim(t.Context(), 1, 0); len(jobs) != 1 || err != nil { // by processes that then end
				t.Fatalf("claimed %+v, %v", jobs, err)
			}
		}
		learned(t, l)
		parked, err := q.Parked(t.Context(), 9)
		if err != nil || len(parked) == 1 != gone || len(known(t, m)) == 0 != gone {
			t.Errorf("begun %d times: got %+v, %v", begun, parked, err)
		}
		if gone && !strings.Contains(parked[0].Cause, "20 times, and never ended") {
			t.Errorf("got the cause %q", parked[0].Cause)
		}
	}
}

// A fact that shall say what another one says already, does not keep the rest of its turn from being known.
func TestMergedTwice(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	for _, content := range []string{"Ann likes tea with milk", "Ann likes tea"} {
		if _, err := m.Store(t.Context(), ann, memory.Fact{Content: content}); err != nil {
			t.Fatal(err)
		}
	}
	l := newLearner(t, m, extract.Options{Extractor: echo, Delay: time.Nanosecond, Decider: extract.DeciderFunc(
		func(_ context.Context, qs []extract.Question) ([]extract.Decision, error) {
			list := make([]extract.Decision, len(qs))
			for i, q := range qs {
				at := slices.IndexFunc(q.Known, func(n memory.Near) bool { return n.Content == "Ann likes tea" })
				list[i] = extract.Decision{Action: extract.Update, Known: []int{at}, Content: "Ann likes tea with milk"}
			}
			return list, nil
		})})
	learned(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann likes milk. The dog is called Rex"})
	got := known(t, m)
	if s := l.Stats(); s.Parked != 0 || s.Learned != 1 || !slices.Contains(got, "The dog is called Rex") {
		t.Errorf("got %+v, and %q", s, got)
	}
}

// Facts are those that changed something.
func TestFactsAreCounted(t *testing.T) {
	t.Parallel()
	m := newMemory(t)
	l := newLearner(t, m, extract.Options{Extractor: extract.ExtractorFunc(func(_ context.Context, turn extract.Turn) ([]extract.Proposal, error) {
		return slices.Repeat([]extract.Proposal{{Kind: memory.Plain, Content: turn.User, Evidence: turn.User}}, 4), nil
	})})
	learned(t, l, extract.Turn{Key: "1", Scope: ann, User: "Ann likes tea"})
	if s := l.Stats(); s.Facts != 1 || len(known(t, m)) != 1 {
		t.Errorf("got %+v, and %q", s, known(t, m))
	}
}

// Turns of one user that are learned at once see each other.
func TestTurnsOfOneUser(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(t)
		l := newLearner(t, m, extract.Options{
			Workers: 4, Decider: decides(extract.Decision{Action: extract.Replace, Known: []int{0}}),
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
		learned(t, l, turns...)
		if got := known(t, m); !slices.Equal(got, []string{"Ann lives in Athens"}) {
			t.Errorf("known is %q, want what was said last", got)
		}
	})
}
