package drivertest

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var filterCases = []factCase{
	{name: "filters/kinds", promise: "Kinds selects the facts of any of the kinds", run: func(k *kit) {
		for _, kind := range driver.Kinds() {
			k.add(ann, string(kind), of(kind))
		}
		k.want(driver.FactQuery{Reach: ann.Only(), Kinds: []driver.Kind{driver.Episode}}, "episode")
		k.wantAny(driver.FactQuery{Reach: ann.Only(), Kinds: []driver.Kind{driver.Episode, driver.Profile, driver.Plain}}, "episode", "profile", "fact")
		k.wantAny(driver.FactQuery{Reach: ann.Only(), Kinds: driver.Kinds(), Limit: -1}, contents(k.find(all(ann)))...)
	}},
	{name: "filters/conversation", promise: "Conversation selects the facts of one conversation, by its exact name", run: func(k *kit) {
		for i, name := range alike {
			k.add(ann, fmt.Sprint("fact ", i), during(name, 1))
		}
		for i, name := range alike[1:] {
			k.want(driver.FactQuery{Reach: ann.Only(), Conversation: name}, fmt.Sprint("fact ", i+1))
		}
		k.want(driver.FactQuery{Reach: ann.Only(), Conversation: "none"})
	}},
	{name: "filters/ids", promise: "IDs selects the facts with any of the IDs, also a thousand", run: func(k *kit) {
		one, _, three := k.add(ann, "one"), k.add(ann, "two"), k.add(ann, "three", trusted(driver.Untrusted))
		k.want(driver.FactQuery{Reach: ann.Only(), IDs: []string{one, one, "none"}}, "one")
		k.want(driver.FactQuery{Reach: ann.Only(), IDs: []string{three}})
		ids := []string{three, one}
		for i := range 998 {
			ids = append(ids, idOf(10_000+i))
		}
		k.want(driver.FactQuery{Reach: ann.Only(), IDs: ids, Untrusted: true}, "three", "one")
		k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only(), IDs: []string{one}}, Terms: []string{"one", "two"}, Limit: 5}, "one")
	}},
	{name: "filters/trust", promise: "untrusted facts are found only if the query asks for them", run: func(k *kit) {
		k.add(ann, "stated here")
		k.add(ann, "inferred here", trusted(driver.Inferred))
		k.add(ann, "read here", trusted(driver.Untrusted), near("m", 1))
		k.want(driver.FactQuery{Reach: ann.Only()}, "inferred here", "stated here")
		k.want(driver.FactQuery{Reach: ann.Only(), Untrusted: true}, "read here", "inferred here", "stated here")
		s := driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"here"}, Embedding: []float32{1}, Model: "m", Limit: 5}
		if c := k.wantSearch(s, "inferred here", "stated here"); c.Facts != 2 || c.Frequency[0] != 2 {
			k.Errorf("got %d facts, frequency %d want 2", c.Facts, c.Frequency)
		}
		s.Query.Untrusted = true
		k.wantSearch(s, "read here", "inferred here", "stated here")
	}},
	{name: "filters/expiry", promise: "expired facts are left out, also facts that had expired at AsOf, but not with Closed", run: func(k *kit) {
		k.add(ann, "expired here", from(before), expiring(long))
		k.add(ann, "stays here", from(before), expiring(future))
		k.want(driver.FactQuery{Reach: ann.Only()}, "stays here")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: before}, "stays here", "expired here")
		for _, at := range []time.Time{long, after, time.Now()} {
			k.want(driver.FactQuery{Reach: ann.Only(), AsOf: at}, "stays here")
		}
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: future})
		k.want(driver.FactQuery{Reach: ann.Only(), Closed: true}, "stays here", "expired here")
		if c := k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"here"}, Limit: 5}, "stays here"); c.Facts != 1 {
			k.Errorf("got %d facts want 1", c.Facts)
		}
	}},
	{name: "filters/validity", promise: "AsOf selects the facts that were valid then: from ValidFrom on, and before ValidTo", run: func(k *kit) {
		k.add(ann, "past", from(before), to(long))
		k.add(ann, "since", from(long))
		k.add(ann, "to come", from(future))
		k.want(driver.FactQuery{Reach: ann.Only()}, "since")
		for at, want := range map[string][]string{"before": nil, "start": {"past"}, "last": {"past"}, "end": {"since"}, "future": {"to come", "since"}} {
			q := driver.FactQuery{Reach: ann.Only()}
			switch at {
			case "before":
				q.AsOf = before.Add(-1000)
			case "start":
				q.AsOf = before
			case "last":
				q.AsOf = long.Add(-1000)
			case "end":
				q.AsOf = long
			case "future":
				q.AsOf = future
			}
			k.want(q, want...)
			k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"past", "since", "come"}, Limit: 5}, want...)
		}
		k.want(driver.FactQuery{Reach: ann.Only(), Closed: true}, "to come", "since", "past")
		k.want(driver.FactQuery{Reach: ann.Only(), Closed: true, AsOf: before}, "to come", "since", "past")
	}},
	{name: "filters/zone", promise: "times are compared as instants, whatever their zones", run: func(k *kit) {
		id := k.add(ann, "since", from(long.In(east)), expiring(future.In(east)))
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: long.In(west)}, "since")
		k.want(driver.FactQuery{Reach: ann.Only(), AsOf: long.In(west).Add(-1000)})
		if got := k.get(ann, id); !got.ValidFrom.Equal(long) || !got.ExpiresAt.Equal(future) {
			k.Errorf("got from %v, expires at %v want %v, %v", got.ValidFrom, got.ExpiresAt, long, future)
		}
	}},
	{name: "filters/without", promise: "Without selects the facts that have no vector of the model", run: func(k *kit) {
		k.add(ann, "none")
		k.add(ann, "other", near("n", 1))
		id := k.add(ann, "has", near("m", 1))
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "m"}, "other", "none")
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "x"}, "has", "other", "none")
		k.apply(ann, k.changing(driver.Embed, id, "has"))
		k.want(driver.FactQuery{Reach: ann.Only(), Without: "m"}, "has", "other", "none")
	}},
	{name: "filters/together", promise: "all parts of a query must hold, for Search as for Find", run: func(k *kit) {
		mods := []mod{of(driver.Episode), during("c", 1), about(`{"n":1}`), near("m", 1)}
		k.add(ann, "wanted here", mods...)
		k.add(ann, "kind here", append(mods, of(driver.Plain))...)
		k.add(ann, "conversation here", append(mods, during("d", 1))...)
		k.add(ann, "metadata here", append(mods, about(`{"n":2}`))...)
		k.add(ann, "trust here", append(mods, trusted(driver.Untrusted))...)
		k.add(ann, "closed here", append(mods, from(before), to(long))...)
		k.add(bob, "scope here", mods...)
		q := driver.FactQuery{
			Reach: ann.Only(), Kinds: []driver.Kind{driver.Episode}, Conversation: "c", Where: []driver.Condition{driver.Where("n", driver.Equal, 1)},
		}
		k.want(q, "wanted here")
		for _, s := range []driver.FactSearch{{Terms: []string{"here"}}, {Embedding: []float32{1}, Model: "m"}} {
			s.Query, s.Limit = q, 9
			if c := k.wantSearch(s, "wanted here"); c.Facts != 1 || c.Terms != 2 {
				k.Errorf("got %d facts, %d terms want 1, 2", c.Facts, c.Terms)
			}
		}
	}},
}
