package memorytest

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/kv"
)

// Each of these stores breaks one promise, and the case named has to fail on it.
var brokenValues = []struct {
	name, found string
	store       brokenValue
}{
	{"half of a call stays", "put/all_or_none", brokenValue{one: true}},
	{"versions are not checked", "version/checked", writing(func(w *kv.Write) { w.Version = 0 })},
	{"versions are not checked", "version/race", writing(func(w *kv.Write) { w.Version = 0 })},
	{"versions are not checked", "version/count", brokenValue{late: true, write: func(w *kv.Write) { w.Version = 0 }}},
	{"numbers are rounded", "put/value", writing(func(w *kv.Write) {
		var v any
		if w.Value != nil && json.Unmarshal(w.Value, &v) == nil {
			w.Value, _ = json.Marshal(v)
		}
	})},
	{"labels are joined by dots", "put/names", writing(func(w *kv.Write) { w.Namespace = strings.Split(strings.Join(w.Namespace, "."), ".") })},
	{"keys are of one case", "put/names", writing(func(w *kv.Write) { w.Key = strings.ToLower(w.Key) })},
	{"nothing is removed", "put/order", writing(func(w *kv.Write) {
		if w.Value == nil {
			w.Value = json.RawMessage(`null`)
		}
	})},
	{"nothing expires", "expiry/sweep", brokenValue{noSweep: true}},
	{"everything lives on", "expiry/refresh", writing(func(w *kv.Write) { w.Refresh = true })},
	{"nothing lives on", "expiry/refresh", writing(func(w *kv.Write) { w.Refresh = false })},
	{"every read refreshes", "expiry/refresh", selecting(func(q *kv.Selection) { q.Refresh = true })},
	{"namespaces are not looked at", "find/prefix", selecting(func(q *kv.Selection) { q.Prefix = nil })},
	{"those within are left out", "find/prefix", selecting(func(q *kv.Selection) { q.Own = len(q.Prefix) > 0 })},
	{"those within are never left out", "find/prefix", selecting(func(q *kv.Selection) { q.Own = false })},
	{"no prefix of keys", "find/keys", selecting(func(q *kv.Selection) { q.KeyPrefix = "" })},
	{"conditions are left out", "find/where", selecting(func(q *kv.Selection) { q.Where = nil })},
	{"one order", "find/order", selecting(func(q *kv.Selection) { q.Order = kv.Newest })},
	{"no limit", "find/order", selecting(func(q *kv.Selection) { q.Limit = -1 })},
	{"pages by keys alone", "find/pages", selecting(func(q *kv.Selection) {
		if q.After != nil {
			after := *q.After
			after.Namespace = []string{"n"}
			q.After = &after
		}
	})},
	{"addresses are left out", "find/addresses", selecting(func(q *kv.Selection) { q.Addresses = nil })},
	{"addresses twice", "find/addresses", brokenValue{twice: true}},
	{"ordered as texts", "find/labels_order", brokenValue{texts: true}},
	{"no suffix", "namespaces/patterns", naming(func(q *kv.NamespaceQuery) { q.Suffix = nil })},
	{"no depth", "namespaces/patterns", naming(func(q *kv.NamespaceQuery) { q.MaxDepth = 0 })},
	{"no limit of namespaces", "namespaces/pages", naming(func(q *kv.NamespaceQuery) { q.Limit = -1 })},
	{"scopes are not looked at", "put/scopes", brokenValue{scope: func(s *memory.Scope) { *s = memory.Scope{} }}},
	{"tenants of one case", "put/scopes", brokenValue{scope: func(s *memory.Scope) { s.Tenant = strings.ToLower(s.Tenant) }}},
	{"forgets one agent", "forget/scope", brokenValue{forget: func(s *memory.Scope) { s.Agent = "a" }}},
	{"the context is ignored", "put/cancelled", brokenValue{noContext: true}},
	{"models are not looked at", "search/vectors", writing(func(w *kv.Write) {
		if w.Model != "" {
			w.Model = "m"
		}
	})},
	{"statistics of a sample", "search/words", brokenValue{found: func(c *kv.Candidates) { c.Values++ }}},
	{"fewer than there are", "search/vectors", brokenValue{found: func(c *kv.Candidates) { c.Records = c.Records[:len(c.Records)/2] }}},
	{"not those with the most words", "search/limit", brokenValue{found: func(c *kv.Candidates) {
		c.Records = slices.DeleteFunc(c.Records, func(r kv.Record) bool { return r.Key == "both" })
	}}},
	{"hands out what it keeps", "put/own", brokenValue{aliases: true}},
}

func writing(write func(*kv.Write)) brokenValue { return brokenValue{write: write} }

func selecting(find func(*kv.Selection)) brokenValue { return brokenValue{find: find} }

func naming(names func(*kv.NamespaceQuery)) brokenValue { return brokenValue{names: names} }

func TestSuiteFindsBrokenValues(t *testing.T) {
	t.Parallel()
	cases := slices.Concat(valueCases, valueFindCases, valueSearchCases, valueTimeCases)
	for _, b := range brokenValues {
		t.Run(b.name+"/"+b.found, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(cases, func(c valueCase) bool { return c.name == b.found })
			if i < 0 {
				t.Fatalf("no case %s", b.found)
			}
			found := recorded(func(tb testing.TB) {
				cases[i].check(tb, func(testing.TB) kv.Store {
					store := b.store
					store.before = &read{}
					store.InMemory = kv.NewInMemory(kv.InMemoryOptions{})
					return &store
				})
			})
			if !found {
				t.Errorf("%s does not see it", b.found)
			}
		})
	}
}

// A store that does not check versions loses changes of documents.
func TestSuiteFindsBrokenProfiles(t *testing.T) {
	t.Parallel()
	i := slices.IndexFunc(profileCases, func(c profileCase) bool { return c.name == "document/version" })
	found := recorded(func(tb testing.TB) {
		profileCases[i].check(tb, func(testing.TB) kv.Store {
			return &brokenValue{InMemory: kv.NewInMemory(kv.InMemoryOptions{}), late: true, before: &read{}, write: func(w *kv.Write) { w.Version = 0 }}
		})
	})
	if !found {
		t.Error("a store that does not check versions passes")
	}
}

// A brokenValue is a store that does what it should, but for what is set.
type brokenValue struct {
	*kv.InMemory
	write     func(*kv.Write)
	find      func(*kv.Selection)
	names     func(*kv.NamespaceQuery)
	found     func(*kv.Candidates)
	forget    func(*memory.Scope)
	scope     func(*memory.Scope)
	one       bool
	late      bool // what is read has changed since
	before    *read
	twice     bool
	texts     bool
	noSweep   bool
	noContext bool
	aliases   bool
	given     kv.Write
}

// A read is what was read last, if that was something.
type read struct {
	mu   sync.Mutex
	list []kv.Item
}

func (r *read) swap(list []kv.Item) []kv.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.list; len(before) > 0 {
		r.list = list
		return before
	}
	r.list = list
	return list
}

func (b *brokenValue) in(s memory.Scope) memory.Scope {
	if b.scope != nil {
		b.scope(&s)
	}
	return s
}

func (b *brokenValue) Apply(ctx context.Context, s memory.Scope, writes []kv.Write) ([]kv.Item, error) {
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
		return b.InMemory.Apply(ctx, b.in(s), writes)
	}
	var items []kv.Item
	for _, w := range writes {
		one, err := b.InMemory.Apply(ctx, b.in(s), []kv.Write{w})
		if err != nil {
			return nil, err
		}
		items = append(items, one...)
	}
	return items, nil
}

func (b *brokenValue) Find(ctx context.Context, s memory.Scope, q kv.Selection) iter.Seq2[kv.Item, error] {
	if b.find != nil {
		b.find(&q)
	}
	return func(yield func(kv.Item, error) bool) {
		var list []kv.Item
		for item, err := range b.InMemory.Find(ctx, b.in(s), q) {
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
			slices.SortFunc(list, func(x, y kv.Item) int {
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

func (b *brokenValue) Search(ctx context.Context, s memory.Scope, q kv.Search) (kv.Candidates, error) {
	c, err := b.InMemory.Search(ctx, b.in(s), q)
	if err == nil && b.found != nil {
		b.found(&c)
	}
	return c, err
}

func (b *brokenValue) Namespaces(ctx context.Context, s memory.Scope, q kv.NamespaceQuery) iter.Seq2[[]string, error] {
	if b.names != nil {
		b.names(&q)
	}
	return b.InMemory.Namespaces(ctx, b.in(s), q)
}

func (b *brokenValue) Forget(ctx context.Context, s memory.Scope) (int, error) {
	if b.forget != nil {
		b.forget(&s)
	}
	return b.InMemory.Forget(ctx, b.in(s))
}

func (b *brokenValue) Sweep(ctx context.Context, limit int) (int, error) {
	if b.noSweep {
		return 0, nil
	}
	return b.InMemory.Sweep(ctx, limit)
}
