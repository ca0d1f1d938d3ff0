package drivertest

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/memory/driver"
)

// alike has names that a store could confuse.
var alike = []string{
	"", "a", "A", "a ", " a", "á", "a\u0301", "ａ", "a%", "a_", "a*", "a'", `a"`, `a\`, "a/b", "a:b", "a|b", "a,b", "a;--", "-",
	"0", "00", "1", "01", "1.0", "1e0", "null", "NULL", "true", "日本語", "🙂", "\u202eabc", "\ufeff", strings.Repeat("é", 256), strings.Repeat("é", 255),
}

var scopeCases = []factCase{
	{name: "scopes/names", promise: "scopes are kept apart by the exact text of each part", run: func(k *kit) {
		var scopes []driver.Scope
		for _, name := range alike {
			scopes = append(scopes, driver.Scope{Tenant: name, User: "u"}, driver.Scope{Tenant: "t", Workspace: name, User: "v"},
				driver.Scope{Tenant: "t", User: name}, driver.Scope{Tenant: "t", User: "u", Agent: name})
		}
		seen := map[driver.Scope]bool{}
		var different []driver.Scope
		for _, s := range scopes {
			if !seen[s] {
				seen[s] = true
				different = append(different, s)
			}
		}
		for i, s := range different {
			k.add(s, fmt.Sprint("fact ", i))
		}
		for i, s := range different {
			k.want(all(s), fmt.Sprint("fact ", i))
			k.wantSearch(driver.FactSearch{Query: driver.FactQuery{Reach: s.Only()}, Terms: []string{"fact"}, Limit: 5}, fmt.Sprint("fact ", i))
		}
	}},
	{name: "scopes/matrix", promise: "AnyWorkspace, AnyUser, AnyAgent and Inherit reach exactly the documented scopes, of one tenant", run: scopeMatrix},
	{name: "scopes/many", promise: "a query over many scopes finds the facts of all of them", run: func(k *kit) {
		n := k.size(200, 80)
		var texts []string
		for i := range n {
			texts = append(texts, fmt.Sprint("fact of ", i))
			k.add(driver.Scope{Tenant: "acme", User: fmt.Sprint("u", i)}, texts[i], near("m", 1, float32(i)))
			k.add(driver.Scope{Tenant: "else", User: fmt.Sprint("u", i)}, "a fact of another tenant", near("m", 1, float32(i)))
		}
		q := driver.FactQuery{Reach: driver.Reach{Scope: driver.Scope{Tenant: "acme"}, AnyUser: true}, Limit: -1}
		k.wantAny(q, texts...)
		c := k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"fact", "7"}, Limit: n}, texts...)
		if c.Facts != int64(n) || c.Terms != int64(3*n) || c.Frequency[0] != int64(n) || c.Frequency[1] != 1 {
			k.Errorf("got %d facts, %d terms, frequency %d want %d, %d, [%d 1]", c.Facts, c.Terms, c.Frequency, n, 3*n, n)
		}
		k.wantSearch(driver.FactSearch{Query: q, Embedding: []float32{1, 3}, Model: "m", Limit: n}, texts...)
	}},
}

// scopeMatrix queries from every scope with every reach, and checks that each query finds the facts of the right scopes.
func scopeMatrix(k *kit) {
	values := []string{"", "x", "y"}
	var scopes []driver.Scope
	for _, tenant := range []string{"", "t"} {
		for _, workspace := range values {
			for _, user := range values {
				for _, agent := range values {
					s := driver.Scope{Tenant: tenant, Workspace: workspace, User: user, Agent: agent}
					scopes = append(scopes, s)
					k.add(s, "fact of "+s.String())
				}
			}
		}
	}
	for _, s := range scopes {
		if s.Workspace == "y" || s.User == "y" || s.Agent == "y" {
			continue // a query for y would repeat the query for x
		}
		for way := range 16 {
			q := driver.FactQuery{Reach: driver.Reach{Scope: s, AnyWorkspace: way&1 != 0, AnyUser: way&2 != 0, AnyAgent: way&4 != 0, Inherit: way&8 != 0}, Limit: -1}
			var want []string
			for _, other := range scopes {
				if reaches(&q, other) {
					want = append(want, "fact of "+other.String())
				}
			}
			k.wantAny(q, want...)
			if way%5 == 0 {
				c := k.wantSearch(driver.FactSearch{Query: q, Terms: []string{"fact"}, Limit: 1000}, want...)
				if c.Facts != int64(len(want)) || c.Frequency[0] != int64(len(want)) {
					k.Errorf("%+v: got %d facts, frequency %d want %d", q, c.Facts, c.Frequency, len(want))
				}
			}
		}
	}
}

func reaches(q *driver.FactQuery, s driver.Scope) bool {
	fits := func(all bool, want, is string) bool { return all || is == want || q.Inherit && is == "" }
	return s.Tenant == q.Scope.Tenant && fits(q.AnyWorkspace, q.Scope.Workspace, s.Workspace) &&
		fits(q.AnyUser, q.Scope.User, s.User) && fits(q.AnyAgent, q.Scope.Agent, s.Agent)
}
