package drivertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

var valueFindCases = []valueCase{
	{name: "find/prefix", promise: "a namespace contains its own values and those of the namespaces within it, by whole labels", run: func(k *valueKit) {
		k.apply(ann, putting("a/1", `1`), putting("a/b/2", `1`), putting("a/b/c/3", `1`), putting("ab/4", `1`), putting("b/a/5", `1`), putting("a.b/6", `1`))
		own := func(q driver.ValueSelection) driver.ValueSelection { q.Own = true; return q }
		k.want(ann, within(), "a/1", "a/b/2", "a/b/c/3", "a.b/6", "ab/4", "b/a/5")
		k.want(ann, within("a"), "a/1", "a/b/2", "a/b/c/3")
		k.want(ann, within("a", "b"), "a/b/2", "a/b/c/3")
		k.want(ann, own(within("a")), "a/1")
		k.want(ann, own(within("a", "b")), "a/b/2")
		k.want(ann, own(within("b")))
		k.want(ann, own(within()))
		k.want(ann, within("a.b"), "a.b/6")
		k.want(ann, within("none"))
		k.want(ann, within("a", "b", "c", "d"))
	}},
	{name: "find/keys", promise: "a prefix of keys is a text and not a pattern", run: func(k *valueKit) {
		k.apply(ann, putting("n/a", `1`), putting("n/a%", `1`), putting("n/a%b", `1`), putting("n/a_", `1`), putting("n/ab", `1`), putting("n/A", `1`), putting("n/á", `1`), putting(`n/a\`, `1`))
		for prefix, want := range map[string]string{
			"": `n/A n/a n/a% n/a%b n/a\ n/a_ n/ab n/á`, "a": `n/a n/a% n/a%b n/a\ n/a_ n/ab`, "a%": "n/a% n/a%b", "a_": "n/a_", "ab": "n/ab", "á": "n/á", `a\`: `n/a\`, "none": "",
		} {
			q := within("n")
			q.KeyPrefix = prefix
			k.want(ann, q, strings.Fields(want)...)
		}
	}},
	{name: "find/addresses", promise: "values are found by their addresses: those that exist, each once", run: func(k *valueKit) {
		k.apply(ann, putting("a/1", `1`), putting("a/2", `2`), putting("b/1", `3`))
		at := func(list ...string) (found []driver.Address) {
			for _, address := range list {
				found = append(found, putting(address, "").Address)
			}
			return found
		}
		got := addresses(k.find(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}, Addresses: at("b/1", "a/1", "none/1", "a/3", "b/1")}))
		if !sameSet(got, []string{"a/1", "b/1"}) {
			k.Errorf("got %q", got)
		}
		k.want(ann, driver.ValueSelection{Addresses: []driver.Address{}})
	}},
	{name: "find/order", promise: "the newest values come first, or with ByKey the least namespace and key; all of them without a limit", run: func(k *valueKit) {
		var written []string
		for i := range 25 {
			address := fmt.Sprintf("n%d/k%02d", i%3, (i*7)%25)
			k.put(ann, address, `1`)
			written = append(written, address)
		}
		k.put(ann, written[3], `2`)
		written = append(slices.Delete(slices.Clone(written), 3, 4), written[3])
		slices.Reverse(written)
		k.want(ann, driver.ValueSelection{}, written...)
		k.want(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}}, written...)
		k.want(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: 3}}, written[:3]...)
		sorted := slices.Sorted(slices.Values(written))
		k.want(ann, driver.ValueSelection{ValueQuery: driver.ValueQuery{Order: driver.ByKey, Limit: 7}}, sorted[:7]...)
	}},
	{name: "find/labels_order", promise: "namespaces are ordered by label and not as one text", run: func(k *valueKit) {
		k.apply(ann, putting("a/b/k", `1`), putting("a!/k", `1`), putting("a/k", `1`), putting("A/k", `1`), putting("á/k", `1`), putting("a\x01/k", `1`), putting("z/k", `1`), putting("\u2028/k", `1`), putting("\U0001f642/k", `1`))
		want := []string{"A/k", "a/k", "a/b/k", "a\x01/k", "a!/k", "z/k", "á/k", "\u2028/k", "\U0001f642/k"}
		k.want(ann, within(), want...)
		for i, address := range want {
			want[i] = strings.TrimSuffix(address, "/k")
		}
		k.wantNamespaces(ann, driver.NamespaceQuery{}, want...)
	}},
	{name: "find/pages", promise: "reading page by page yields every value once, in both orders, also of one write", run: func(k *valueKit) {
		var writes []driver.ValueWrite
		for i := range 40 {
			writes = append(writes, putting(fmt.Sprintf("n%d/m/k%02d", i%3, i), `1`))
		}
		k.apply(ann, writes[:30]...)
		for _, w := range writes[30:] {
			k.apply(ann, w)
		}
		for _, order := range []driver.Order{driver.Newest, driver.ByKey} {
			q := driver.ValueSelection{ValueQuery: driver.ValueQuery{Order: order, Limit: -1}}
			want := addresses(k.find(ann, q))
			if len(want) != 40 {
				k.Fatalf("got %d values want 40", len(want))
			}
			var got []string
			for q.Limit = 7; len(got) <= len(want); {
				page := k.find(ann, q)
				if len(page) == 0 {
					break
				}
				got = append(got, addresses(page)...)
				q.After = &page[len(page)-1]
			}
			if !slices.Equal(got, want) {
				k.Errorf("%v: got  %q\nwant %q", order, got, want)
			}
		}
	}},
	{name: "find/where", promise: "conditions compare numbers by value and texts by bytes, and only at their exact path", run: func(k *valueKit) {
		for name, data := range documents {
			if data != "" {
				k.apply(ann, driver.ValueWrite{Address: driver.Address{Namespace: []string{"d"}, Key: name}, Value: json.RawMessage(data), Terms: []string{"word"}})
			}
		}
		k.apply(ann, putting("d/a text", `"a"`), putting("d/a list", `[{"a":9}]`), putting("d/a number", `9`))
		for _, c := range conditions {
			var want []string
			for _, name := range strings.Fields(c.want) {
				want = append(want, "d/"+strings.ReplaceAll(name, "_", " "))
			}
			for _, one := range c.forms() {
				q := within("d")
				q.Where = []driver.Condition{one}
				if got := addresses(k.find(ann, q)); !sameSet(got, want) {
					k.Errorf("%q %s %s: got %q want %q", one.Path, c.op, c.value, got, want)
				}
				if found := k.search(ann, driver.ValueSearch{Selection: q, Terms: []string{"word"}}); len(found.Records) != len(want) || found.Values != int64(len(want)) {
					k.Errorf("%q %s %s: searched: got %d of %d want %d", one.Path, c.op, c.value, len(found.Records), found.Values, len(want))
				}
			}
		}
		q := within("d")
		q.Where = []driver.Condition{driver.Where("a", driver.GreaterEqual, 9), driver.Where("a", driver.Less, 10)}
		q.Order, q.Limit = driver.ByKey, 2
		k.want(ann, q, "d/0.9e1", "d/9")
	}},
	{name: "namespaces/patterns", promise: "each namespace is listed once, selected by its beginning and its end, and cut off at a depth", run: func(k *valueKit) {
		k.apply(ann, putting("a/b/c/1", `1`), putting("a/b/c/2", `1`), putting("a/x/c/1", `1`), putting("a/1", `1`), putting("b/c/1", `1`), putting("c/1", `1`))
		for _, test := range []struct {
			prefix, suffix []string
			depth          int
			want           string
		}{
			{nil, nil, 0, "a a/b/c a/x/c b/c c"},
			{[]string{"a"}, nil, 0, "a a/b/c a/x/c"},
			{[]string{"a", driver.Any}, nil, 0, "a/b/c a/x/c"},
			{[]string{driver.Any, "c"}, nil, 0, "b/c"},
			{nil, []string{"c"}, 0, "a/b/c a/x/c b/c c"},
			{nil, []string{"b", driver.Any}, 0, "a/b/c b/c"},
			{nil, []string{driver.Any, driver.Any, driver.Any}, 0, "a/b/c a/x/c"},
			{[]string{"a"}, []string{"c"}, 0, "a/b/c a/x/c"},
			{nil, nil, 1, "a b c"},
			{nil, nil, 2, "a a/b a/x b/c c"},
			{nil, []string{"c"}, 2, "a/b a/x b/c c"},
			{nil, nil, 9, "a a/b/c a/x/c b/c c"},
			{[]string{"none"}, nil, 0, ""},
			{[]string{"a", "b", "c", "d"}, nil, 0, ""},
		} {
			k.wantNamespaces(ann, driver.NamespaceQuery{Prefix: test.prefix, Suffix: test.suffix, MaxDepth: test.depth}, strings.Fields(test.want)...)
		}
		k.wantNamespaces(bob, driver.NamespaceQuery{})
		k.apply(ann, removing("b/c/1"))
		k.wantNamespaces(ann, driver.NamespaceQuery{Prefix: []string{"b"}})
	}},
	{name: "namespaces/pages", promise: "reading page by page lists every namespace once; all of them without a limit", run: func(k *valueKit) {
		var writes []driver.ValueWrite
		for i := range 130 {
			writes = append(writes, putting(fmt.Sprintf("n%03d/m%d/k", i/2, i%2), `1`))
		}
		k.apply(ann, writes...)
		list := func(q driver.NamespaceQuery) (found [][]string) {
			for labels, err := range k.store.Namespaces(k.ctx, ann, q) {
				if err != nil {
					k.Fatal(err)
				}
				found = append(found, labels)
			}
			return found
		}
		if got := list(driver.NamespaceQuery{}); len(got) != 130 {
			k.Errorf("got %d namespaces want 130", len(got))
		}
		if got := list(driver.NamespaceQuery{Limit: 9}); len(got) != 9 {
			k.Errorf("got %d namespaces want 9", len(got))
		}
		for depth, want := range []int{130, 65} {
			q := driver.NamespaceQuery{MaxDepth: depth, Limit: 9}
			var got [][]string
			for page := list(q); len(page) > 0 && len(got) <= want; page = list(q) {
				got = append(got, page...)
				q.After = page[len(page)-1]
			}
			all := list(driver.NamespaceQuery{MaxDepth: depth, Limit: -1})
			if len(got) != want || fmt.Sprint(got) != fmt.Sprint(all) {
				k.Errorf("depth %d: got %d namespaces want %d", depth, len(got), want)
			}
		}
	}},
	{name: "find/stop", promise: "a reader may stop early, and call other methods afterwards", run: func(k *valueKit) {
		k.apply(ann, putting("a/1", `1`), putting("a/2", `1`), putting("b/1", `1`))
		for range 50 {
			for item, err := range k.store.Find(k.ctx, ann, within()) {
				if err != nil || item.Key != "1" {
					k.Fatalf("got %+v and %v", item, err)
				}
				break
			}
			for labels, err := range k.store.Namespaces(k.ctx, ann, driver.NamespaceQuery{}) {
				if err != nil || labels[0] != "a" {
					k.Fatalf("got %q and %v", labels, err)
				}
				break
			}
		}
		k.put(ann, "a/1", `2`)
	}},
}

func (k *valueKit) search(s driver.Scope, q driver.ValueSearch) driver.ValueCandidates {
	k.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	c, err := k.store.Search(k.ctx, s, q)
	if err != nil {
		k.Fatalf("search %+v: %v", q, err)
	}
	if len(c.Frequency) != len(q.Terms) {
		k.Fatalf("got %d frequencies want %d", len(c.Frequency), len(q.Terms))
	}
	return c
}

// wantFound requires candidates at these addresses, in any order.
func (k *valueKit) wantFound(q driver.ValueSearch, want ...string) driver.ValueCandidates {
	k.Helper()
	c := k.search(ann, q)
	var got []driver.Item
	for _, r := range c.Records {
		got = append(got, r.Item)
	}
	if !sameSet(addresses(got), want) {
		k.Errorf("search %+v: got %q want %q", q, addresses(got), want)
	}
	return c
}

var valueSearchCases = []valueCase{
	{name: "search/words", promise: "a value is found by any of the words, and the counts of words include all selected values", run: func(k *valueKit) {
		k.apply(ann, worded(putting("a/1", `1`), "red apple"), worded(putting("a/2", `1`), "green pear pear"), worded(putting("b/1", `1`), "red plum"), worded(putting("b/2", `1`), "kiwi"), putting("b/3", `"red"`))
		c := k.wantFound(driver.ValueSearch{Terms: []string{"red", "pear", "none"}}, "a/1", "a/2", "b/1")
		if c.Values != 4 || c.Terms != 8 || !slices.Equal(c.Frequency, []int64{2, 1, 0}) {
			k.Errorf("got %d values, %d terms, frequency %d want 4, 8, [2 1 0]", c.Values, c.Terms, c.Frequency)
		}
		k.wantFound(driver.ValueSearch{Selection: driver.ValueSelection{Prefix: []string{"b"}}, Terms: []string{"red"}}, "b/1")
		k.wantFound(driver.ValueSearch{Selection: driver.ValueSelection{ValueQuery: driver.ValueQuery{KeyPrefix: "2"}}, Terms: []string{"red", "pear"}}, "a/2")
		k.apply(ann, worded(putting("a/1", `1`), "blue"))
		k.apply(ann, removing("b/1"))
		k.wantFound(driver.ValueSearch{Terms: []string{"red"}})
	}},
	{name: "search/vectors", promise: "the nearest vectors of the model are found, as many as exist up to the limit", run: func(k *valueKit) {
		near := func(address, model string, v ...float32) driver.ValueWrite {
			w := putting(address, `1`)
			w.Embedding, w.Model = v, model
			return w
		}
		k.apply(ann, near("a/1", "m", 1, 0), near("a/2", "m", 0.9, 0.1), near("a/3", "m", 0, 1), near("a/4", "other", 1, 0), near("a/5", "m", 1, 0, 0), worded(putting("a/6", `1`), "word"))
		k.wantFound(driver.ValueSearch{Embedding: []float32{1, 0}, Model: "m", Limit: 2}, "a/1", "a/2")
		k.wantFound(driver.ValueSearch{Embedding: []float32{1, 0}, Model: "m"}, "a/1", "a/2", "a/3")
		c := k.wantFound(driver.ValueSearch{Terms: []string{"word"}, Embedding: []float32{0, 1}, Model: "m", Limit: 1}, "a/3", "a/6")
		for _, r := range c.Records {
			if r.Key == "3" && (r.Model != "m" || !slices.Equal(r.Embedding, []float32{0, 1})) {
				k.Errorf("got %+v want its vector", r)
			}
		}
	}},
	{name: "search/limit", promise: "if more values match than the limit allows, those with the most words are returned", run: func(k *valueKit) {
		for i := range 60 {
			k.apply(ann, worded(putting(fmt.Sprint("a/", i), `1`), "common"))
		}
		k.apply(ann, worded(putting("a/both", `1`), "common rare"))
		c := k.search(ann, driver.ValueSearch{Terms: []string{"common", "rare"}, Limit: 5})
		if len(c.Records) != 5 || !slices.ContainsFunc(c.Records, func(r driver.ValueRecord) bool { return r.Key == "both" }) || c.Values != 61 {
			k.Errorf("got %d records of %d values", len(c.Records), c.Values)
		}
	}},
}

// soon is the time to live of values that expire in a test.
const soon = 50 * time.Millisecond

// until waits until the value at an address has expired.
func (k *valueKit) until(s driver.Scope, address string) {
	k.Helper()
	for deadline := time.Now().Add(time.Minute); k.get(s, address).Known(); {
		if time.Now().After(deadline) {
			k.Fatalf("%s does not expire", address)
		}
		select {
		case <-k.ctx.Done():
		case <-time.After(soon / 10):
		}
	}
}

var valueTimeCases = []valueCase{
	{name: "expiry/gone", promise: "no method finds an expired value", run: func(k *valueKit) {
		k.apply(ann, putting("b/stays", `1`), living(putting("b/long", `1`), time.Hour, true))
		first := k.apply(ann, living(worded(putting("a/k", `1`), "word"), soon, false))[0]
		if first.ExpiresAt.Sub(first.UpdatedAt) != soon {
			k.Errorf("got %v to %v want %v", first.UpdatedAt, first.ExpiresAt, soon)
		}
		k.until(ann, "a/k")
		k.want(ann, within(), "b/long", "b/stays")
		k.wantNamespaces(ann, driver.NamespaceQuery{}, "b")
		if c := k.search(ann, driver.ValueSearch{Terms: []string{"word"}}); len(c.Records) != 0 || c.Values != 0 {
			k.Errorf("got %d of %d want none", len(c.Records), c.Values)
		}
		k.refuse(driver.ErrConflict, ann, seen(first.Version, putting("a/k", `2`)))
		again := k.apply(ann, seen(driver.Absent, putting("a/k", `3`)))[0]
		if again.Version <= first.Version || again.CreatedAt.Before(first.ExpiresAt) || !again.ExpiresAt.IsZero() {
			k.Errorf("got %+v after %+v", again, first)
		}
	}},
	{name: "expiry/refresh", promise: "a read that refreshes extends a sliding value and reports it; other reads and other values change nothing", run: func(k *valueKit) {
		put := k.apply(ann, living(putting("a/on", `1`), time.Hour, true), living(putting("a/fixed", `1`), time.Hour, false), putting("a/ever", `1`))
		until := func(q driver.ValueSelection, key string) time.Time {
			k.Helper()
			for _, item := range k.find(ann, q) {
				if item.Key == key {
					return item.ExpiresAt
				}
			}
			k.Fatalf("%s is not there", key)
			return time.Time{}
		}
		if got := until(within(), "on"); !got.Equal(put[0].ExpiresAt) {
			k.Errorf("a read without refresh: got %v want %v", got, put[0].ExpiresAt)
		}
		<-time.After(soon)
		q := within()
		q.Refresh = true
		refreshed := until(q, "on")
		if !refreshed.After(put[0].ExpiresAt) {
			k.Errorf("a read with refresh: got %v want more than %v", refreshed, put[0].ExpiresAt)
		}
		if got := until(within(), "on"); got.Before(refreshed) {
			k.Errorf("after it: got %v want %v", got, refreshed)
		}
		if got := until(q, "fixed"); !got.Equal(put[1].ExpiresAt) {
			k.Errorf("a fixed one: got %v want %v", got, put[1].ExpiresAt)
		}
		if got := until(q, "ever"); !got.IsZero() {
			k.Errorf("one without end: got %v", got)
		}
		q = driver.ValueSelection{Addresses: []driver.Address{put[0].Address}, Refresh: true}
		if got := k.find(ann, q); len(got) != 1 || got[0].Version != put[0].Version || !got[0].UpdatedAt.Equal(put[0].UpdatedAt) {
			k.Errorf("got %+v want the version and the time of %+v", got, put[0])
		}
	}},
	{name: "expiry/sweep", promise: "sweeping removes expired values of all scopes, at most as many as the limit", run: func(k *valueKit) {
		for i, s := range []driver.Scope{ann, ann, ann, bob, {}} {
			k.apply(s, living(putting(fmt.Sprint("a/", i), `1`), soon, true), putting("a/stays", `1`), living(putting("a/long", `1`), time.Hour, true))
		}
		k.until(driver.Scope{}, "a/4")
		for _, want := range []int{2, 2, 1, 0} {
			if n, err := k.store.Sweep(k.ctx, 2); n != want || err != nil {
				k.Errorf("got %d and %v want %d", n, err, want)
			}
		}
		for _, s := range []driver.Scope{ann, bob, {}} {
			k.want(s, within(), "a/long", "a/stays")
		}
	}},
}
