package drivertest

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// brokenStores test the suite itself: each store breaks one promise, and the named case
// must fail.
var brokenStores = []struct {
	name, found string
	store       broken
}{
	{"half of a call stays", "apply/all_or_none", broken{apply: func(m *inmemory.Facts, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
		var all []driver.Applied
		for _, c := range changes {
			applied, err := m.Apply(context.Background(), s, []driver.FactChange{c})
			if err != nil {
				return nil, err
			}
			all = append(all, applied...)
		}
		return all, nil
	}}},
	{"versions are not checked", "versions/conflict", each(func(c *driver.FactChange) { c.Record.Version = 0 })},
	{"versions are not checked", "apply/parallel_updates", each(func(c *driver.FactChange) { c.Record.Version = 0 })},
	{"nothing is the same", "dedupe/same", each(func(c *driver.FactChange) { c.Record.Key = [16]byte([]byte(c.Record.ID[20:])) })},
	{"nothing is the same", "dedupe/one_fact", each(func(c *driver.FactChange) { c.Record.Key = [16]byte([]byte(c.Record.ID[20:])) })},
	{"everything is trusted", "filters/trust", each(func(c *driver.FactChange) { c.Record.Trust = driver.Stated })},
	{"nothing expires", "filters/expiry", each(func(c *driver.FactChange) { c.Record.ExpiresAt = time.Time{} })},
	{"nothing is superseded", "supersede/many", each(func(c *driver.FactChange) { c.Supersedes = nil })},
	{"jobs are done again", "jobs/once", each(func(c *driver.FactChange) { c.Job = "" })},
	{"what was erased stays in the history", "erase/history", each(func(c *driver.FactChange) {
		if c.Kind == driver.Erase {
			c.Kind = driver.Delete
		}
	})},
	{"what was forgotten comes back", "forget/said_before", each(func(c *driver.FactChange) { c.Said = time.Time{} })},
	{"no metadata", "conditions/exact", each(func(c *driver.FactChange) { c.Record.Metadata = nil })},
	{"one kind", "filters/kinds", each(func(c *driver.FactChange) { c.Record.Kind = driver.Plain })},
	{"one model", "vectors/models", each(func(c *driver.FactChange) {
		if c.Record.Model != "" {
			c.Record.Model = "m"
		}
	})},
	{"users see each other", "foreign/queries", query(func(q *driver.FactQuery) { q.AnyUser = true })},
	{"tenants see each other", "scopes/names", query(func(q *driver.FactQuery) { q.Scope.Tenant = "t" })},
	{"nothing is inherited", "scopes/matrix", query(func(q *driver.FactQuery) { q.Inherit = false })},
	{"AsOf is now", "filters/validity", query(func(q *driver.FactQuery) { q.AsOf = time.Time{} })},
	{"conditions are left out", "conditions/table", query(func(q *driver.FactQuery) { q.Where = nil })},
	{"no limit", "order/limit", query(func(q *driver.FactQuery) { q.Limit = -1 })},
	{"a limit that nobody set", "order/limit", query(func(q *driver.FactQuery) { q.Limit = cmp.Or(q.Limit, 20) })},
	{"ids are left out", "filters/ids", query(func(q *driver.FactQuery) { q.IDs = nil })},
	{"fewer vectors than there are", "vectors/never_fewer", found(func(c *driver.FactCandidates) { c.Records = c.Records[:len(c.Records)/2] })},
	{"not the nearest", "vectors/nearest", found(func(c *driver.FactCandidates) {
		if len(c.Records) > 1 {
			c.Records[0] = c.Records[1]
		}
	})},
	{"statistics of a sample", "search/statistics", found(func(c *driver.FactCandidates) { c.Facts++ })},
	{"frequencies of a sample", "search/statistics", found(func(c *driver.FactCandidates) {
		for i := range c.Frequency {
			c.Frequency[i]++
		}
	})},
	{"candidates twice", "search/both", found(func(c *driver.FactCandidates) { c.Records = append(c.Records, c.Records...) })},
	{"answers differ", "model/random", found(func(c *driver.FactCandidates) {
		if c.Facts > 3 {
			c.Terms++
		}
	})},
	{"the oldest first", "order/newest", broken{find: func(list []driver.FactRecord) { slices.Reverse(list) }}},
	{"hands out what it keeps", "apply/owns_nothing", broken{aliases: true}},
	{"the context is ignored", "context/cancelled", broken{noContext: true}},
	{"forgets the wrong ones", "forget/parts", broken{forget: func(s *driver.Scope) { s.Agent = "" }}},
}

func each(change func(*driver.FactChange)) broken {
	return broken{apply: func(m *inmemory.Facts, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
		changes = slices.Clone(changes)
		for i := range changes {
			change(&changes[i])
		}
		return m.Apply(context.Background(), s, changes)
	}}
}

func query(change func(*driver.FactQuery)) broken { return broken{query: change} }

func found(change func(*driver.FactCandidates)) broken { return broken{found: change} }

func TestSuiteFindsBrokenStores(t *testing.T) {
	t.Parallel()
	for _, b := range brokenStores {
		t.Run(b.name+"/"+b.found, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(factCases(), func(c factCase) bool { return c.name == b.found })
			require.GreaterOrEqual(t, i, 0, "no case %s", b.found)
			assert.True(t, fails(factCases()[i], b.store), "%s does not see it", b.found)
		})
	}
}

// fails runs a case in a recorded test, and reports whether it fails.
func fails(c factCase, b broken) bool {
	return recorded(func(tb testing.TB) {
		c.check(tb, func(testing.TB) driver.FactStore {
			b := b
			b.Facts = inmemory.NewFacts(inmemory.Options{})
			return &b
		}, 1)
	})
}

// broken is a correct store, except for the faults that its fields set.
type broken struct {
	*inmemory.Facts
	apply     func(*inmemory.Facts, driver.Scope, []driver.FactChange) ([]driver.Applied, error)
	query     func(*driver.FactQuery)
	find      func([]driver.FactRecord)
	found     func(*driver.FactCandidates)
	forget    func(*driver.Scope)
	noContext bool
	aliases   bool
	given     driver.FactRecord
}

func (b *broken) Apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
	if err := ctx.Err(); err != nil && !b.noContext {
		return nil, err
	}
	if b.noContext {
		ctx = context.Background()
	}
	if b.aliases {
		b.given = changes[0].Record
	}
	if b.apply != nil {
		return b.apply(b.Facts, s, changes)
	}
	return b.Facts.Apply(ctx, s, changes)
}

func (b *broken) Find(ctx context.Context, q driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	if b.query != nil {
		b.query(&q)
	}
	if b.find == nil && !b.aliases {
		return b.Facts.Find(ctx, q)
	}
	return func(yield func(driver.FactRecord, error) bool) {
		var list []driver.FactRecord
		for r, err := range b.Facts.Find(ctx, q) {
			if err != nil {
				yield(r, err)
				return
			}
			if b.aliases {
				r.Terms = b.given.Terms
			}
			list = append(list, r)
		}
		if b.find != nil {
			b.find(list)
		}
		for _, r := range list {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func (b *broken) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	if b.query != nil {
		b.query(&s.Query)
	}
	c, err := b.Facts.Search(ctx, s)
	if err == nil && b.found != nil {
		b.found(&c)
	}
	return c, err
}

func (b *broken) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if b.forget != nil {
		b.forget(&s)
	}
	return b.Facts.Forget(ctx, s)
}
