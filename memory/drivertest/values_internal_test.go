package drivertest

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
)

// Each of these stores breaks one promise, and the named case must fail.
var brokenValues = []struct {
	name, found string
	store       brokenValue
}{
	{"half of a call stays", "put/all_or_none", brokenValue{one: true}},
	{"versions are not checked", "version/checked", writing(func(w *driver.ValueWrite) { w.Version = 0 })},
	{"versions are not checked", "version/race", writing(func(w *driver.ValueWrite) { w.Version = 0 })},
	{"versions are not checked", "version/count", brokenValue{late: true, write: func(w *driver.ValueWrite) { w.Version = 0 }}},
	{"numbers are rounded", "put/value", writing(func(w *driver.ValueWrite) {
		var v any
		if w.Value != nil && json.Unmarshal(w.Value, &v) == nil {
			w.Value, _ = json.Marshal(v)
		}
	})},
	{"labels are joined by dots", "put/names", writing(func(w *driver.ValueWrite) { w.Namespace = strings.Split(strings.Join(w.Namespace, "."), ".") })},
	{"keys are of one case", "put/names", writing(func(w *driver.ValueWrite) { w.Key = strings.ToLower(w.Key) })},
	{"nothing is removed", "put/order", writing(func(w *driver.ValueWrite) {
		if w.Value == nil {
			w.Value = json.RawMessage(`null`)
		}
	})},
	{"nothing expires", "expiry/sweep", brokenValue{noSweep: true}},
	{"everything lives on", "expiry/refresh", writing(func(w *driver.ValueWrite) { w.Refresh = true })},
	{"nothing lives on", "expiry/refresh", writing(func(w *driver.ValueWrite) { w.Refresh = false })},
	{"every read refreshes", "expiry/refresh", selecting(func(q *driver.ValueSelection) { q.Refresh = true })},
	{"namespaces are not looked at", "find/prefix", selecting(func(q *driver.ValueSelection) { q.Prefix = nil })},
	{"those within are left out", "find/prefix", selecting(func(q *driver.ValueSelection) { q.Own = len(q.Prefix) > 0 })},
	{"those within are never left out", "find/prefix", selecting(func(q *driver.ValueSelection) { q.Own = false })},
	{"no prefix of keys", "find/keys", selecting(func(q *driver.ValueSelection) { q.KeyPrefix = "" })},
	{"conditions are left out", "find/where", selecting(func(q *driver.ValueSelection) { q.Where = nil })},
	{"one order", "find/order", selecting(func(q *driver.ValueSelection) { q.Order = driver.Newest })},
	{"no limit", "find/order", selecting(func(q *driver.ValueSelection) { q.Limit = -1 })},
	{"a limit that nobody set", "find/order", selecting(func(q *driver.ValueSelection) { q.Limit = cmp.Or(q.Limit, 20) })},
	{"pages by keys alone", "find/pages", selecting(func(q *driver.ValueSelection) {
		if q.After != nil {
			after := *q.After
			after.Namespace = []string{"n"}
			q.After = &after
		}
	})},
	{"addresses are left out", "find/addresses", selecting(func(q *driver.ValueSelection) { q.Addresses = nil })},
	{"addresses twice", "find/addresses", brokenValue{twice: true}},
	{"ordered as texts", "find/labels_order", brokenValue{texts: true}},
	{"no suffix", "namespaces/patterns", naming(func(q *driver.NamespaceQuery) { q.Suffix = nil })},
	{"no depth", "namespaces/patterns", naming(func(q *driver.NamespaceQuery) { q.MaxDepth = 0 })},
	{"no limit of namespaces", "namespaces/pages", naming(func(q *driver.NamespaceQuery) { q.Limit = -1 })},
	{"a limit of namespaces that nobody set", "namespaces/pages", naming(func(q *driver.NamespaceQuery) { q.Limit = cmp.Or(q.Limit, 100) })},
	{"scopes are not looked at", "put/scopes", brokenValue{scope: func(s *driver.Scope) { *s = driver.Scope{} }}},
	{"tenants of one case", "put/scopes", brokenValue{scope: func(s *driver.Scope) { s.Tenant = strings.ToLower(s.Tenant) }}},
	{"forgets one agent", "forget/scope", brokenValue{forget: func(s *driver.Scope) { s.Agent = "a" }}},
	{"the context is ignored", "put/cancelled", brokenValue{noContext: true}},
	{"models are not looked at", "search/vectors", writing(func(w *driver.ValueWrite) {
		if w.Model != "" {
			w.Model = "m"
		}
	})},
	{"statistics of a sample", "search/words", brokenValue{found: func(c *driver.ValueCandidates) { c.Values++ }}},
	{"fewer than there are", "search/vectors", brokenValue{found: func(c *driver.ValueCandidates) { c.Records = c.Records[:len(c.Records)/2] }}},
	{"not those with the most words", "search/limit", brokenValue{found: func(c *driver.ValueCandidates) {
		c.Records = slices.DeleteFunc(c.Records, func(r driver.ValueRecord) bool { return r.Key == "both" })
	}}},
	{"hands out what it keeps", "put/own", brokenValue{aliases: true}},
}

func writing(write func(*driver.ValueWrite)) brokenValue { return brokenValue{write: write} }

func selecting(find func(*driver.ValueSelection)) brokenValue { return brokenValue{find: find} }

func naming(names func(*driver.NamespaceQuery)) brokenValue { return brokenValue{names: names} }

func TestSuiteFindsBrokenValues(t *testing.T) {
	t.Parallel()
	cases := slices.Concat(valueCases, valueFindCases, valueSearchCases, valueTimeCases)
	for _, b := range brokenValues {
		t.Run(b.name+"/"+b.found, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(cases, func(c valueCase) bool { return c.name == b.found })
			require.GreaterOrEqual(t, i, 0, "no case %s", b.found)
			found := recorded(func(tb testing.TB) {
				cases[i].check(tb, func(testing.TB) driver.ValueStore {
					store := b.store
					store.before = &read{}
					store.Values = inmemory.NewValues(inmemory.Options{})
					return &store
				})
			})
			assert.True(t, found, "%s does not see it", b.found)
		})
	}
}

// A brokenValue is a correct store, except for the faults that its fields set.
type brokenValue struct {
	*inmemory.Values
	write     func(*driver.ValueWrite)
	find      func(*driver.ValueSelection)
	names     func(*driver.NamespaceQuery)
	found     func(*driver.ValueCandidates)
	forget    func(*driver.Scope)
	scope     func(*driver.Scope)
	one       bool
	late      bool // a read returns the items of the previous read, if there were any
	before    *read
	twice     bool
	texts     bool
	noSweep   bool
	noContext bool
	aliases   bool
	given     driver.ValueWrite
}

// A read stores the items of the previous read.
type read struct {
	mu   sync.Mutex
	list []driver.Item
}

func (r *read) swap(list []driver.Item) []driver.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.list; len(before) > 0 {
		r.list = list
		return before
	}
	r.list = list
	return list
}

func (b *brokenValue) in(s driver.Scope) driver.Scope {
	if b.scope != nil {
		b.scope(&s)
	}
	return s
}

func (b *brokenValue) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	if b.noContext {
		ctx = context.Background()
	}
	if b.aliases {
		b.given = writes[0]
	}
	writes = slices.Clone(writes)
	if b.write != nil {
		for i := range writes {
			b.write(&writes[i])
		}
	}
	if !b.one {
		return b.Values.Apply(ctx, b.in(s), writes)
	}
	var items []driver.Item
	for _, w := range writes {
		one, err := b.Values.Apply(ctx, b.in(s), []driver.ValueWrite{w})
		if err != nil {
			return nil, err
		}
		items = append(items, one...)
	}
	return items, nil
}

func (b *brokenValue) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	if b.find != nil {
		b.find(&q)
	}
	return func(yield func(driver.Item, error) bool) {
		var list []driver.Item
		for item, err := range b.Values.Find(ctx, b.in(s), q) {
			if err != nil {
				yield(item, err)
				return
			}
			if b.aliases {
				item.Value = b.given.Value
			}
			list = append(list, item)
			if b.twice {
				list = append(list, item)
			}
		}
		if b.late {
			list = b.before.swap(list)
		}
		if b.texts {
			slices.SortFunc(list, func(x, y driver.Item) int {
				return strings.Compare(strings.Join(x.Namespace, "/"), strings.Join(y.Namespace, "/"))
			})
		}
		for _, item := range list {
			if !yield(item, nil) {
				return
			}
		}
	}
}

func (b *brokenValue) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	c, err := b.Values.Search(ctx, b.in(s), q)
	if err == nil && b.found != nil {
		b.found(&c)
	}
	return c, err
}

func (b *brokenValue) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	if b.names != nil {
		b.names(&q)
	}
	return b.Values.Namespaces(ctx, b.in(s), q)
}

func (b *brokenValue) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if b.forget != nil {
		b.forget(&s)
	}
	return b.Values.Forget(ctx, b.in(s))
}

func (b *brokenValue) Sweep(ctx context.Context, limit int) (int, error) {
	if b.noSweep {
		return 0, nil
	}
	return b.Values.Sweep(ctx, limit)
}
