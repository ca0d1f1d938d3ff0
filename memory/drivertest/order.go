package drivertest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

var orderCases = []factCase{
	{name: "order/newest", promise: "Find yields the newest facts first, by the time of storing, and then by ID", run: func(k *kit) {
		k.add(ann, "third", named(idOf(3)), from(future.AddDate(-1, 0, 0)))
		k.add(ann, "second", named(idOf(2)))
		k.add(ann, "first", named(idOf(1)), from(before))
		k.apply(ann, k.adding("b", named(idOf(12))), k.adding("c", named(idOf(13))), k.adding("a", named(idOf(11))))
		k.apply(ann, k.changing(driver.Update, idOf(3), "third, changed"))
		k.want(driver.FactQuery{Reach: ann.Only(), Closed: true}, "c", "b", "a", "first", "second", "third, changed")
	}},
	{name: "order/scopes", promise: "the same order holds over several scopes", run: func(k *kit) {
		var want []string
		for i := range 20 {
			text := fmt.Sprint("fact ", i)
			k.add(driver.Scope{Tenant: "acme", User: fmt.Sprint("u", i*7%5)}, text)
			want = append([]string{text}, want...)
		}
		q := driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}}
		k.want(q, want...)
		q.Limit = 3
		k.want(q, want[:3]...)
	}},
	{name: "order/limit", promise: "the limit is the maximum number of facts; zero and a negative number mean all", run: func(k *kit) {
		n := 45
		var want []string
		k.fill(ann, n)
		for i := range n {
			want = append([]string{fmt.Sprint("fact ", i)}, want...)
		}
		for limit, most := range map[int]int{0: 45, 1: 1, 7: 7, 44: 44, 45: 45, 46: 45, 1 << 40: 45, -1: 45, -7: 45} {
			k.want(driver.FactQuery{Reach: ann.Only(), Limit: limit}, want[:most]...)
		}
		q := driver.FactQuery{Reach: ann.Only(), Limit: 2, Where: []driver.Condition{driver.Where("a", driver.NotEqual, 1)}}
		k.want(q, want[:2]...)
	}},
	{name: "order/all", promise: "any number of facts is found, each once", run: func(k *kit) {
		n := k.size(2500, 700)
		for start := 0; start < n; start += 500 {
			var changes []driver.FactChange
			for i := start; i < min(start+500, n); i++ {
				changes = append(changes, k.adding(fmt.Sprint("fact ", i), about(fmt.Sprintf(`{"n":%d}`, i))))
			}
			k.apply(ann, changes...)
		}
		list := k.find(all(ann))
		seen := map[string]bool{}
		for _, r := range list {
			seen[r.ID] = true
		}
		if len(list) != n || len(seen) != n {
			k.Errorf("got %d facts, %d different want %d", len(list), len(seen), n)
		}
		if !slices.IsSortedFunc(list, func(a, b driver.FactRecord) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
		}) {
			k.Error("got facts that are not in order")
		}
		q := all(ann)
		q.Where = []driver.Condition{driver.Where("n", driver.Less, 3)}
		k.want(q, "fact 2", "fact 1", "fact 0")
	}},
	{name: "order/break", promise: "the caller may stop early, and call other methods afterwards", run: func(k *kit) {
		k.fill(ann, 300)
		for range 50 {
			for _, err := range k.store.Find(k.ctx, all(ann)) {
				k.wantNoErr(err)
				break
			}
		}
		k.add(ann, "one more")
		if got := len(k.find(all(ann))); got != 301 {
			k.Errorf("got %d facts want 301", got)
		}
	}},
	{name: "order/while_changing", promise: "the caller may call the store within the loop: unchanged facts are found once, in order", run: func(k *kit) {
		n := 400
		k.fill(ann, n)
		seen := map[string]int{}
		for r, err := range k.store.Find(k.ctx, driver.FactQuery{Reach: ann.Only(), Limit: -1}) {
			if err != nil {
				k.Fatal(err)
			}
			seen[r.Content]++
			var at int
			if _, err := fmt.Sscanf(r.Content, "fact %d", &at); err != nil {
				k.Fatal(err)
			}
			switch at % 4 {
			case 0: // no change
			case 1:
				k.apply(ann, deleting(r.ID))
			case 2:
				k.apply(ann, superseding(k.adding(fmt.Sprint("fact ", at+1000*4)), r.ID))
			case 3:
				k.apply(ann, k.changing(driver.Update, r.ID, fmt.Sprint("fact ", at+3000*4)))
			}
			if at == n-4 {
				k.search(driver.FactSearch{Query: driver.FactQuery{Reach: ann.Only()}, Terms: []string{"fact"}, Limit: 5})
			}
		}
		for i := range n {
			if got := seen[fmt.Sprint("fact ", i)]; got != 1 {
				k.Errorf("fact %d: found %d times want 1", i, got)
			}
		}
		if len(seen) != n {
			k.Errorf("got %d facts want %d", len(seen), n)
		}
		if got := len(k.find(driver.FactQuery{Reach: ann.Only(), Limit: -1})); got != n/4*3 {
			k.Errorf("afterwards: got %d facts want %d", got, n/4*3)
		}
	}},
	{name: "order/again", promise: "a Find can be repeated", run: func(k *kit) {
		k.add(ann, "one")
		find := k.store.Find(k.ctx, all(ann))
		for range 2 {
			n := 0
			for _, err := range find {
				k.wantNoErr(err)
				n++
			}
			if n != 1 {
				k.Errorf("got %d facts want 1", n)
			}
		}
	}},
}
