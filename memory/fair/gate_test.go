package fair_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/fair"
)

func newGate(tb testing.TB, o fair.Options) *fair.Gate {
	tb.Helper()
	gate, err := fair.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return gate
}

// A place counts what there is of each tenant in a store behind a gate.
type place struct {
	gate *fair.Gate

	mu    sync.Mutex
	now   map[string]int
	most  map[string]int // at once; "" stands for all
	spent map[string]time.Duration
}

func newPlace(tb testing.TB, o fair.Options) *place {
	tb.Helper()
	return &place{gate: newGate(tb, o), now: map[string]int{}, most: map[string]int{}, spent: map[string]time.Duration{}}
}

// call is a call of a tenant that takes so long.
func (p *place) call(ctx context.Context, tenant string, takes time.Duration) error {
	leave, err := p.gate.Enter(ctx, tenant)
	if err != nil {
		return err
	}
	defer leave()
	p.count(tenant, 1)
	<-time.After(takes)
	p.count(tenant, -1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent[tenant] += takes
	return nil
}

func (p *place) count(tenant string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range []string{tenant, ""} {
		p.now[of] += n
		p.most[of] = max(p.most[of], p.now[of])
	}
}

// press makes calls of a tenant, from n goroutines, until the context ends.
func (p *place) press(ctx context.Context, wg *sync.WaitGroup, tenant string, n int, takes time.Duration) {
	for range n {
		wg.Go(func() {
			for p.call(ctx, tenant, takes) == nil {
			}
		})
	}
}

// A tenant has so many calls inside at once, and waits for itself.
func TestPerTenant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{PerTenant: 2})
		began := time.Now()
		var loud sync.WaitGroup
		for range 20 {
			loud.Go(func() {
				if err := p.call(t.Context(), "loud", time.Second); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if err := p.call(t.Context(), "quiet", time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("the other one took %v, %v, want a second", time.Since(began), err)
		}
		loud.Wait()
		if took := time.Since(began); took != 10*time.Second || p.most["loud"] != 2 {
			t.Errorf("it took %v with %d at once, want 10 s with 2", took, p.most["loud"])
		}
	})
}

// Where all have few places together, nobody waits behind the many calls of another one.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{Concurrent: 3})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		p.press(ctx, &wg, "loud", 32, 100*time.Millisecond)
		for range 50 {
			<-time.After(737 * time.Millisecond)
			began := time.Now()
			if err := p.call(ctx, "quiet", time.Millisecond); err != nil || time.Since(began) > 101*time.Millisecond {
				t.Fatalf("it took %v, %v, want the time of one call of the other at most", time.Since(began), err)
			}
		}
		stop()
		wg.Wait()
		if p.most[""] != 3 || p.most["loud"] != 3 {
			t.Errorf("%v at once, want 3, all of them of one tenant where nobody else asks", p.most)
		}
	})
}

// Tenants that ask for all they can get get as much time as each other, whatever a call takes, and however many
// calls they make at once.
func TestTimeIsShared(t *testing.T) {
	t.Parallel()
	for _, concurrent := range []int{1, 4} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlace(t, fair.Options{Concurrent: concurrent})
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var wg sync.WaitGroup
			p.press(ctx, &wg, "long", 8, 400*time.Millisecond)
			p.press(ctx, &wg, "short", 8, 10*time.Millisecond)
			p.press(ctx, &wg, "many", 60, 40*time.Millisecond)
			wg.Wait()
			want := time.Duration(concurrent) * 20 * time.Second
			for tenant, spent := range p.spent {
				if (spent - want).Abs() > want/20 {
					t.Errorf("%d places: %s had %v, want %v", concurrent, tenant, spent, want)
				}
			}
		})
	}
}

// Who was away has no claim on what was not used meanwhile.
func TestAwaySavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{Concurrent: 1})
		ctx, stop := context.WithTimeout(t.Context(), 40*time.Second)
		defer stop()
		var wg sync.WaitGroup
		p.press(ctx, &wg, "always", 4, 100*time.Millisecond)
		<-time.After(20 * time.Second)
		p.press(ctx, &wg, "late", 4, 100*time.Millisecond)
		wg.Wait()
		if spent := p.spent["late"]; (spent - 10*time.Second).Abs() > time.Second {
			t.Errorf("who came after 20 of 40 s had %v, want half of the rest", spent)
		}
	})
}

// A share is of time, and is not exceeded for longer than a burst.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		share        float64
		perTenant, n int
		takes        time.Duration
	}{
		{"one by one", 0.2, 1, 1, 10 * time.Millisecond},
		{"many wait", 0.2, 1, 50, 10 * time.Millisecond},
		{"many at once", 0.2, 0, 50, 10 * time.Millisecond},
		{"long calls", 0.5, 2, 8, 3 * time.Second},
		{"more than one", 2.5, 0, 50, 20 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPlace(t, fair.Options{PerTenant: test.perTenant, Share: test.share})
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				var wg sync.WaitGroup
				p.press(ctx, &wg, "loud", test.n, test.takes)
				wg.Wait()
				// A second's share at once, and what is inside when it is used up.
				least := time.Duration(test.share * float64(time.Minute))
				most := time.Duration(test.share*float64(61*time.Second)) + time.Duration(max(test.n, 1))*test.takes
				if spent := p.spent["loud"]; spent < least-test.takes || spent > most {
					t.Errorf("it had %v of a minute, want %v to %v", spent, least, most)
				}
			})
		})
	}
}

// Who has a share of time takes it in even steps, not all that wait at once.
func TestSharePaces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{Share: 0.2})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		for range 5 {
			if err := p.call(ctx, "loud", 50*time.Millisecond); err != nil { // now it is known what a call takes
				t.Fatal(err)
			}
		}
		p.most["loud"] = 0
		var wg sync.WaitGroup
		p.press(ctx, &wg, "loud", 64, 50*time.Millisecond)
		wg.Wait()
		if p.most["loud"] > 5 {
			t.Errorf("%d at once, want some few", p.most["loud"])
		}
	})
}

// Who asks now and then does not notice that there is a share.
func TestShareForBursts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{Share: 0.2})
		for range 20 {
			for range 10 { // a turn of a conversation
				began := time.Now()
				if err := p.call(t.Context(), "quiet", 10*time.Millisecond); err != nil || time.Since(began) != 10*time.Millisecond {
					t.Fatalf("it took %v, %v, want 10 ms", time.Since(began), err)
				}
			}
			<-time.After(time.Second)
		}
	})
}

func TestBusy(t *testing.T) {
	t.Parallel()
	for waiting, want := range map[int]int{0: fair.DefaultWaiting, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlace(t, fair.Options{PerTenant: 1, Waiting: waiting})
			var wg sync.WaitGroup
			for range want + 1 {
				wg.Go(func() {
					if err := p.call(t.Context(), "loud", time.Second); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			_, err := p.gate.Enter(t.Context(), "loud")
			busy, ok := errors.AsType[*fair.BusyError](err)
			if !errors.Is(err, memory.ErrBusy) || !ok || *busy != (fair.BusyError{Tenant: "loud", Waiting: want}) || !strings.Contains(err.Error(), `"loud"`) {
				t.Errorf("one too many: got %v", err)
			}
			if err := p.call(t.Context(), "quiet", time.Second); err != nil {
				t.Errorf("another tenant: %v", err)
			}
			wg.Wait()
			if err := p.call(t.Context(), "loud", time.Second); err != nil {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

// A call that waits ends with its context, and is in nobody's way after that.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, fair.Options{PerTenant: 1, Share: 0.1})
		began := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.call(t.Context(), "loud", time.Second); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var given sync.WaitGroup
		for range 10 {
			given.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				if err := p.call(ctx, "loud", time.Second); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second/2 {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
			})
		}
		given.Wait()
		if err := p.call(t.Context(), "loud", 0); err != nil || time.Since(began) != 9*time.Second {
			t.Errorf("the next: %v after %v, want it 9 s after a call of one, of which a tenth is its share", err, time.Since(began))
		}
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.gate.Enter(ctx, "quiet"); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %v", err)
		}
	})
}

// Whatever tenants do, there are never more inside than may be, and in the end nobody is left.
func TestAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			o := fair.Options{Concurrent: 1 + random.IntN(6), PerTenant: random.IntN(4), Share: float64(random.IntN(3)), Waiting: 1 + random.IntN(10)}
			p := newPlace(t, o)
			var wg sync.WaitGroup
			for range 300 {
				tenant := string('a' + rune(random.IntN(5)))
				up := func(to time.Duration) time.Duration { return time.Duration(random.Int64N(int64(to))) }
				at, takes, patience := up(5*time.Second), up(200*time.Millisecond), up(time.Second)
				wg.Go(func() {
					<-time.After(at)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					err := p.call(ctx, tenant, takes)
					if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, memory.ErrBusy) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			for tenant, most := range p.most {
				if tenant == "" && most > o.Concurrent || tenant != "" && o.PerTenant > 0 && most > o.PerTenant {
					t.Errorf("seed %d, %+v: %d at once of %q", seed, o, most, tenant)
				}
			}
			<-time.After(time.Minute)
			began := time.Now()
			for i := range o.Concurrent {
				wg.Go(func() {
					if err := p.call(t.Context(), fmt.Sprint("new ", i), time.Second); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if time.Since(began) != time.Second {
				t.Errorf("seed %d, %+v: all places took %v, want a second", seed, o, time.Since(began))
			}
		})
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, o := range []fair.Options{{Concurrent: -1}, {PerTenant: -1}, {Waiting: -1}, {Share: -0.1}, {Share: math.NaN()}, {Share: math.Inf(1)}} {
		if _, err := fair.New(o); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// Without a gate, or with one that bounds nothing, nothing waits; to leave twice is to leave once.
func TestNoBounds(t *testing.T) {
	t.Parallel()
	for _, gate := range []*fair.Gate{nil, newGate(t, fair.Options{})} {
		for range 1000 {
			leave, err := gate.Enter(t.Context(), "loud")
			if err != nil {
				t.Fatal(err)
			}
			defer leave()
		}
	}
	gate := newGate(t, fair.Options{Concurrent: 1})
	for range 3 {
		leave, err := gate.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		leave()
		leave()
	}
	leave, err := gate.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := gate.Enter(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("to leave twice made two places: %v", err)
	}
}
