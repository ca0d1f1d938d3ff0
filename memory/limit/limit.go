// Package limit limits the calls of each tenant, so that no tenant slows down others that share a backend.
//
//	b, err := limit.New(db, limit.Options{Concurrent: 8, PerTenant: 2, Rate: 50})
//	if err != nil {
//		return err
//	}
//	m, err := memory.New(b, memory.Options{})
//
// The tenant is [driver.Scope.Tenant]. Calls of a tenant begin in the order of their arrival. All memories
// of one database should share the backend that New returns.
package limit

import (
	"context"
	"fmt"
	"math"
	"sync"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/weft-go/weft/memory/driver"
)

// Options configures [New]. The zero value limits nothing.
type Options struct {
	// Concurrent is the maximum number of concurrent calls of all tenants. Zero means no limit. It should
	// not exceed the connections of the database pool.
	Concurrent int
	// PerTenant is the maximum number of concurrent calls of one tenant. Zero means no limit. It should be
	// less than Concurrent.
	PerTenant int
	// Rate is the maximum number of calls of one tenant per second, and Burst the number of calls that may
	// begin at once. A Rate of zero means no limit. A Burst of zero means the Rate, at least 1.
	Rate  float64
	Burst int
	// Waiting is the maximum number of waiting calls of one tenant. Further calls return [driver.ErrBusy].
	// Zero means 100.
	Waiting int
}

const (
	defaultWaiting = 100
	// sweepEvery is the number of calls after which tenants without calls are removed.
	sweepEvery = 1024
)

// New returns a backend that limits the calls of each tenant to another backend. A call waits until it may
// begin or its context ends. Searches and changes count for all limits. Listings count only for the Rate,
// because their caller may make other calls during the iteration. Dump, Restore, Scopes, Sweep and the
// queue of turns are not limited. New returns [driver.ErrInvalid] for negative options.
func New(b driver.Backend, o Options) (driver.Backend, error) {
	if o.Concurrent < 0 || o.PerTenant < 0 || o.Burst < 0 || o.Waiting < 0 || !(o.Rate >= 0) || math.IsInf(o.Rate, 0) {
		return nil, fmt.Errorf("limit: new: %+v has a negative limit: %w", o, driver.ErrInvalid)
	}
	if o.Waiting == 0 {
		o.Waiting = defaultWaiting
	}
	if o.Burst == 0 {
		o.Burst = max(1, int(o.Rate))
	}
	l := &limits{options: o, tenants: map[string]*tenant{}}
	if o.Concurrent > 0 {
		l.places = semaphore.NewWeighted(int64(o.Concurrent))
	}
	return driver.Stores{
		FactStore: facts{b.Facts(), l}, ValueStore: values{b.Values(), l}, DocumentStore: documents{b.Documents(), l},
		ConversationStore: conversations{b.Conversations(), l}, TurnStore: b.Turns(),
	}, nil
}

// limits has the state of all tenants.
type limits struct {
	options Options
	places  *semaphore.Weighted // nil without a limit

	mu      sync.Mutex
	tenants map[string]*tenant
	calls   int // since the last sweep
}

// A tenant has the state of one tenant.
type tenant struct {
	places *semaphore.Weighted // nil without a limit
	rate   *rate.Limiter       // nil without a limit
	calls  int                 // calls that wait or are at the backend
	wait   int                 // calls that wait
}

// join counts a waiting call of a tenant, or returns [driver.ErrBusy] if too many calls wait.
func (l *limits) join(name string) (*tenant, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls++; l.calls%sweepEvery == 0 {
		for name, t := range l.tenants {
			if t.calls == 0 && (t.rate == nil || t.rate.Tokens() >= float64(l.options.Burst)) {
				delete(l.tenants, name)
			}
		}
	}
	t := l.tenants[name]
	if t == nil {
		t = &tenant{}
		if l.options.PerTenant > 0 {
			t.places = semaphore.NewWeighted(int64(l.options.PerTenant))
		}
		if l.options.Rate > 0 {
			t.rate = rate.NewLimiter(rate.Limit(l.options.Rate), l.options.Burst)
		}
		l.tenants[name] = t
	}
	if t.wait >= l.options.Waiting {
		return nil, fmt.Errorf("limit: tenant %.60q: %d calls wait already: %w", name, t.wait, driver.ErrBusy)
	}
	t.calls++
	t.wait++
	return t, nil
}

func (l *limits) add(t *tenant, calls, wait int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.calls += calls
	t.wait += wait
}

// enter waits until a call may begin. The caller calls leave when the call has ended. If place is false,
// the call counts only for the rate.
func (l *limits) enter(ctx context.Context, name string, place bool) (leave func(), err error) {
	t, err := l.join(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		l.add(t, 0, -1)
		if err != nil {
			l.add(t, -1, 0)
			err = fmt.Errorf("limit: tenant %.60q: %w", name, err)
		}
	}()
	if t.rate != nil {
		if err := t.rate.Wait(ctx); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w: %w", driver.ErrBusy, err) // the context would end first
		}
	}
	if !place {
		return func() { l.add(t, -1, 0) }, ctx.Err()
	}
	if t.places != nil {
		if err := t.places.Acquire(ctx, 1); err != nil {
			return nil, err
		}
	}
	if l.places != nil {
		if err := l.places.Acquire(ctx, 1); err != nil {
			if t.places != nil {
				t.places.Release(1)
			}
			return nil, err
		}
	}
	return func() {
		if l.places != nil {
			l.places.Release(1)
		}
		if t.places != nil {
			t.places.Release(1)
		}
		l.add(t, -1, 0)
	}, nil
}
