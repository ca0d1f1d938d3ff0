package fair

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
)

// Options configures [New]. Of its zero value, nothing waits.
type Options struct {
	// Concurrent is how many calls are at the store at once, of all tenants together: not
	// more than its pool has connections. Zero means any number.
	Concurrent int
	// PerTenant is how many of them may be of one tenant. Zero means any number. It should be
	// less than Concurrent, so that others find a place at once.
	PerTenant int
	// Share is how much time the calls of one tenant may take at the store, beside each
	// other or one after the other, for each second that goes by: with 0.2, one of
	// 10 ms every 50 ms. Up to a second's share may be taken at once, so that nobody waits
	// who asks now and then. Zero means any time. It holds also where nobody else is there, as
	// who comes then would find the store taken.
	Share float64
	// Waiting is how many calls of one tenant may wait. What comes then is refused with a
	// [*BusyError]. Zero stands for [DefaultWaiting].
	Waiting int
}

// DefaultWaiting is how many calls of a tenant may wait that nobody says otherwise of.
const DefaultWaiting = 100

// window is the time over which a share is averaged, and for which it is known what a tenant used that
// has gone.
const window = time.Second

// A Gate lets calls of tenants go to a database, each tenant its share. It is safe for use by
// any number of goroutines. A nil Gate lets everything pass.
type Gate struct {
	options Options

	mu      sync.Mutex
	inside  int
	tenants map[string]*tenant
	queues  map[*tenant]struct{} // those with calls that wait
	tickets int64                // how many there were
	// level is what the tenant had used that was let in last, and typical how long a call takes.
	level, typical time.Duration

	timer *time.Timer // nil until it is needed
	wake  time.Time   // when it is due; zero if it is not set
	sweep time.Time   // when to look for tenants to forget; zero without tenants
}

// New returns a gate. Options that can not be are a [memory.ErrInvalid].
func New(o Options) (*Gate, error) {
	if o.Concurrent < 0 || o.PerTenant < 0 || o.Waiting < 0 || !(o.Share >= 0) || math.IsInf(o.Share, 0) {
		return nil, fmt.Errorf("fair: new: %+v: %w", o, memory.ErrInvalid)
	}
	if o.Waiting == 0 {
		o.Waiting = DefaultWaiting
	}
	return &Gate{options: o, tenants: map[string]*tenant{}, queues: map[*tenant]struct{}{}}, nil
}

// A BusyError says that a call was refused, as so many of its tenant wait already. It is a
// [memory.ErrBusy].
type BusyError struct {
	Tenant  string
	Waiting int
}

// Error names the tenant and the limit.
func (e *BusyError) Error() string {
	return fmt.Sprintf("fair: tenant %.60q: %d calls wait already: %v", e.Tenant, e.Waiting, memory.ErrBusy)
}

// Unwrap returns [memory.ErrBusy].
func (e *BusyError) Unwrap() error { return memory.ErrBusy }

// Enter waits until the tenant may make a call, which ends when leave is called; calling that
// again does nothing. It is for calls that no store of the gate makes. Who is inside must not
// enter again. It returns a [*BusyError], or the error of a context that ends before.
func (g *Gate) Enter(ctx context.Context, tenant string) (leave func(), err error) {
	return g.enter(ctx, tenant, true)
}

// enter is Enter for a call that may be refused, or must not be, as it is one of several that were begun.
func (g *Gate) enter(ctx context.Context, name string, refuse bool) (leave func(), err error) {
	if g == nil {
		return func() {}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("fair: tenant %.60q: %w", name, err)
	}
	w, err := g.ask(name, refuse)
	if err != nil {
		return nil, err
	}
	select {
	case p := <-w.admitted:
		return p.leave, nil
	case <-ctx.Done():
		g.giveUp(w)
		return nil, fmt.Errorf("fair: waiting for other calls of the tenant %.60q: %w", name, ctx.Err())
	}
}

// ask takes a ticket, with which a call may be let in at once.
func (g *Gate) ask(name string, refuse bool) (*ticket, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	t := g.tenant(name, now)
	if refuse && len(t.queue) >= g.options.Waiting {
		return nil, &BusyError{name, g.options.Waiting}
	}
	g.tickets++
	w := &ticket{tenant: t, number: g.tickets, admitted: make(chan *pass, 1)}
	t.queue = append(t.queue, w)
	g.queues[t] = struct{}{}
	g.plan(now)
	return w, nil
}

// giveUp takes back a call that waits. One that was let in meanwhile has cost nothing.
func (g *Gate) giveUp(w *ticket) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	select {
	case p := <-w.admitted:
		p.end(now, 0)
	default:
		g.drop(w)
	}
	g.plan(now)
}

// drop takes a ticket out of its queue.
func (g *Gate) drop(w *ticket) {
	t := w.tenant
	if i := slices.Index(t.queue, w); i >= 0 {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
	if len(t.queue) == 0 {
		t.queue = nil
		delete(g.queues, t)
	}
}

func (g *Gate) room() bool {
	return g.options.Concurrent == 0 || g.inside < g.options.Concurrent
}

// plan lets in whoever may, and sets the timer to when somebody else may.
func (g *Gate) plan(now time.Time) {
	for g.room() {
		t := g.next(now)
		if t == nil {
			break
		}
		w := t.queue[0]
		g.drop(w)
		w.admitted <- g.admit(t, now)
	}
	g.set(now)
}

// next returns the tenant that goes first: of those that may, the one that has used least, and then the
// one that has waited longest.
func (g *Gate) next(now time.Time) *tenant {
	var first *tenant
	for t := range g.queues {
		if t.may(&g.options) && !t.due().After(now) && (first == nil || t.before(first)) {
			first = t
		}
	}
	return first
}

// set sets the timer.
func (g *Gate) set(now time.Time) {
	at := g.sweep
	if g.room() {
		for t := range g.queues {
			if due := t.due(); t.may(&g.options) && due.Before(at) {
				at = due
			}
		}
	}
	switch {
	case at.Equal(g.wake):
	case at.IsZero():
		g.timer.Stop()
	case g.timer == nil:
		g.timer = time.AfterFunc(at.Sub(now), g.tick)
	default:
		g.timer.Reset(at.Sub(now))
	}
	g.wake = at
}

// tick is what the timer does. It may come late, or once more than it is needed.
func (g *Gate) tick() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	g.wake = time.Time{}
	if !g.sweep.IsZero() && !g.sweep.After(now) {
		g.forget(now)
	}
	g.plan(now)
}
