package fair

import (
	"sync"
	"time"
)

// A tenant is known as long as it has calls inside or waiting, and until it is forgotten.
type tenant struct {
	name   string
	queue  []*ticket
	inside int
	// used is the time of its calls, from the level at which it came, and typical how long one of them
	// takes. Tenants go by what they used.
	used, typical time.Duration
	// paid is when its share will have made up for what it used, and last when it was here.
	paid, last time.Time
}

// A ticket is a call that waits.
type ticket struct {
	tenant   *tenant
	number   int64
	admitted chan *pass // has room for one
}

// tenant returns the one of a name. Who was away comes back at the level of those that are there, so that
// nobody saves up a claim on the store.
func (g *Gate) tenant(name string, now time.Time) *tenant {
	t := g.tenants[name]
	if t == nil {
		t = &tenant{name: name, paid: now, typical: g.typical}
		g.tenants[name] = t
		if g.sweep.IsZero() {
			g.sweep = now.Add(window)
		}
	}
	if t.idle() {
		t.used = max(t.used, g.level)
	}
	t.last = now
	return t
}

func (t *tenant) idle() bool { return t.inside == 0 && len(t.queue) == 0 }

// may says whether there may be one more call of the tenant inside.
func (t *tenant) may(o *Options) bool { return o.PerTenant == 0 || t.inside < o.PerTenant }

// due is from when on the tenant's share allows another call.
func (t *tenant) due() time.Time { return t.paid.Add(-window) }

// before says whether the tenant goes before another one.
func (t *tenant) before(other *tenant) bool {
	if t.used != other.used {
		return t.used < other.used
	}
	return t.queue[0].number < other.queue[0].number
}

// charge counts what a call takes, or gives it back.
func (t *tenant) charge(o *Options, took time.Duration) {
	t.used += took
	if o.Share > 0 {
		t.paid = t.paid.Add(time.Duration(float64(took) / o.Share))
	}
}

// forget forgets tenants that have gone.
func (g *Gate) forget(now time.Time) {
	for name, t := range g.tenants {
		if t.idle() && !t.paid.After(now) && now.Sub(t.last) >= window {
			delete(g.tenants, name)
		}
	}
	g.sweep = now.Add(window)
	if len(g.tenants) == 0 {
		g.sweep = time.Time{}
		g.tenants, g.queues = map[string]*tenant{}, map[*tenant]struct{}{} // as small as at first
	}
}

// A pass is a call that is inside.
type pass struct {
	gate   *Gate
	tenant *tenant
	since  time.Time
	// charged is what it was thought to take: many that are let in at once are not free until they end.
	charged time.Duration
	once    sync.Once
}

func (g *Gate) admit(t *tenant, now time.Time) *pass {
	g.inside++
	t.inside++
	g.level = max(g.level, t.used)
	if t.paid.Before(now) {
		t.paid = now
	}
	t.charge(&g.options, t.typical)
	return &pass{gate: g, tenant: t, since: now, charged: t.typical}
}

func (p *pass) leave() {
	p.once.Do(func() {
		g := p.gate
		g.mu.Lock()
		defer g.mu.Unlock()
		now := time.Now()
		took := now.Sub(p.since)
		p.end(now, took)
		p.tenant.typical += (took - p.tenant.typical) / 8
		g.typical += (took - g.typical) / 8
		g.plan(now)
	})
}

// end makes room, and charges what the call took.
func (p *pass) end(now time.Time, took time.Duration) {
	p.gate.inside--
	p.tenant.inside--
	p.tenant.last = now
	p.tenant.charge(&p.gate.options, took-p.charged)
}
