package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-go/weft/memory/driver"
)

var valueCases = []valueCase{
	{name: "put/value", promise: "a value is read as the same JSON, with times of the store", run: func(k *valueKit) {
		for i, value := range []string{
			`{"b":1.50,"a":[null,true,{"c":"é\ud83d\ude42"}]}`, `null`, `true`, `0`, `-1.5e300`, `12345678901234567890`, `"text"`, `""`, `[]`, `{}`, `"\\u0000"`, `"<&>\u2028"`,
			`{"'; DROP TABLE x; --":"%_"}`, `"` + strings.Repeat("x", 1<<20) + `"`,
		} {
			address := "n/" + strconv.Itoa(i)
			put := k.put(ann, address, value)
			got := k.get(ann, address)
			if !equalJSON(got.Value, json.RawMessage(value)) || !equalJSON(put.Value, json.RawMessage(value)) {
				k.Errorf("got %s and %s want %s", brief(string(put.Value)), brief(string(got.Value)), brief(value))
			}
			if got.Version < 1 || got.Version != put.Version || got.CreatedAt.IsZero() || !got.UpdatedAt.Equal(got.CreatedAt) || !got.ExpiresAt.IsZero() || !got.UpdatedAt.Equal(put.UpdatedAt) {
				k.Errorf("got %s after %s", brief(got), brief(put))
			}
		}
	}},
	{name: "put/over", promise: "a put replaces the value, with a larger version", run: func(k *valueKit) {
		first, second := k.put(ann, "n/k", `1`), k.put(ann, "n/k", `2`)
		if second.Version <= first.Version || !second.CreatedAt.Equal(first.CreatedAt) || second.UpdatedAt.Before(first.UpdatedAt) {
			k.Errorf("got %+v after %+v", second, first)
		}
		k.wantValue(ann, "n/k", `2`)
		k.want(ann, within(), "n/k")
	}},
	{name: "put/names", promise: "labels and keys can be any text, and are never confused with each other", run: func(k *valueKit) {
		names := []string{"a", "A", "a.b", "a%", "a_", "%", "_", ".", "*", "a ", "'; DROP TABLE x; --", `"`, `\`, "{a,b}", "NULL", "é", "e\u0301", "日本", "\n", ",", strings.Repeat("x", 500)}
		var writes []driver.ValueWrite
		want := map[string]string{}
		for i, label := range names {
			for j, key := range names {
				if i != j && i > 2 && j > 2 {
					continue
				}
				value := fmt.Sprintf(`"%d.%d"`, i, j)
				writes = append(writes, driver.ValueWrite{Address: driver.Address{Namespace: []string{label}, Key: key}, Value: json.RawMessage(value)},
					driver.ValueWrite{Address: driver.Address{Namespace: []string{"a", label}, Key: key}, Value: json.RawMessage(`"in a"`)})
				want[label+"\x00"+key] = value
			}
		}
		k.apply(ann, writes...)
		for path, value := range want {
			label, key, _ := strings.Cut(path, "\x00")
			got := k.find(ann, driver.ValueSelection{Addresses: []driver.Address{{Namespace: []string{label}, Key: key}}})
			if len(got) != 1 || !equalJSON(got[0].Value, json.RawMessage(value)) || got[0].Key != key || !slices.Equal(got[0].Namespace, []string{label}) {
				k.Errorf("%q %q: got %s want %s", label, key, brief(got), value)
			}
		}
		for i, label := range names {
			q := within(label)
			q.Own = true
			n := 0
			for path := range want {
				if strings.HasPrefix(path, label+"\x00") {
					n++
				}
			}
			if got := k.find(ann, q); len(got) != n {
				k.Errorf("label %d, %q: got %d values want %d", i, label, len(got), n)
			}
		}
	}},
	{name: "put/scopes", promise: "a scope contains only its own values", run: func(k *valueKit) {
		scopes := []driver.Scope{ann, bob, {Tenant: "acme"}, {User: "ann"}, {}, {Tenant: "acme", User: "ann", Agent: "a"}, {Tenant: "acme", Workspace: "ann"}, {Tenant: "ACME", User: "ann"}}
		for i, s := range scopes {
			k.apply(s, worded(putting("n/k", strconv.Itoa(i)), "word"))
		}
		for i, s := range scopes {
			k.wantValue(s, "n/k", strconv.Itoa(i))
			k.want(s, within(), "n/k")
			k.wantNamespaces(s, driver.NamespaceQuery{}, "n")
			if c := k.search(s, driver.ValueSearch{Terms: []string{"word"}}); len(c.Records) != 1 || c.Values != 1 {
				k.Errorf("%s: found %d of %d want 1", s, len(c.Records), c.Values)
			}
		}
		k.apply(bob, removing("n/k"))
		k.wantValue(ann, "n/k", `0`)
	}},
	{name: "put/order", promise: "writes are applied in their order, each to the result of the one before", run: func(k *valueKit) {
		items := k.apply(ann, putting("n/k", `1`), removing("n/k"), seen(driver.Absent, putting("n/k", `2`)), putting("n/j", `3`), putting("n/k", `4`), removing("n/none"))
		if items[1].Known() || items[5].Known() || items[1].Key != "k" || !items[4].Known() || items[4].Version <= items[2].Version || items[2].Version <= items[0].Version {
			k.Errorf("got %+v", items)
		}
		k.wantValue(ann, "n/k", `4`)
		k.want(ann, within(), "n/j", "n/k")
	}},
	{name: "put/all_or_none", promise: "if a write is refused, no write of the call is applied", run: func(k *valueKit) {
		k.put(ann, "n/k", `1`)
		k.put(ann, "n/gone", `1`)
		k.refuse(driver.ErrConflict, ann, putting("n/k", `2`), putting("n/new", `2`), removing("n/gone"), putting("n/new", `3`), seen(driver.Absent, putting("n/k", `4`)))
	}},
	{name: "version/checked", promise: "a write with another version than the value's is refused", run: func(k *valueKit) {
		first := k.put(ann, "n/k", `1`)
		for _, version := range []int64{first.Version + 1, first.Version + 100, driver.Absent} {
			k.refuse(driver.ErrConflict, ann, seen(version, putting("n/k", `2`)))
			k.refuse(driver.ErrConflict, ann, seen(version, removing("n/k")))
		}
		k.refuse(driver.ErrConflict, ann, seen(1, putting("n/none", `2`)))
		second := k.apply(ann, seen(first.Version, putting("n/k", `2`)))[0]
		k.refuse(driver.ErrConflict, ann, seen(first.Version, putting("n/k", `3`)))
		k.apply(ann, seen(second.Version, removing("n/k")))
		k.wantValue(ann, "n/k", "")
		again := k.apply(ann, seen(driver.Absent, putting("n/k", `5`)))[0]
		if again.Version == first.Version || again.Version == second.Version || again.CreatedAt.Before(first.CreatedAt) {
			k.Errorf("a value that was removed and put again has version %d, as it had before", again.Version)
		}
	}},
	{name: "version/race", promise: "of concurrent writes with the same version, one succeeds", run: func(k *valueKit) {
		version := int64(driver.Absent)
		for round := range 10 {
			var won atomic.Int64
			err := parallel(8, func(i int) error {
				_, err := k.store.Apply(k.ctx, ann, []driver.ValueWrite{seen(version, putting("n/k", strconv.Itoa(i)))})
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, driver.ErrConflict) {
					return err
				}
				return nil
			})
			if err != nil || won.Load() != 1 {
				k.Fatalf("round %d: %d of 8 succeeded, %v", round, won.Load(), err)
			}
			version = k.get(ann, "n/k").Version
		}
	}},
	{name: "version/count", promise: "concurrent counters that use versions lose nothing", run: func(k *valueKit) {
		const writers, each = 4, 25
		k.put(ann, "n/k", `0`)
		err := parallel(writers, func(int) error {
			for done := 0; done < each; {
				items := []driver.Item{}
				for item, err := range k.store.Find(k.ctx, ann, driver.ValueSelection{Addresses: []driver.Address{{Namespace: []string{"n"}, Key: "k"}}}) {
					if err != nil {
						return err
					}
					items = append(items, item)
				}
				n, err := strconv.Atoi(string(items[0].Value))
				if err != nil {
					return err
				}
				_, err = k.store.Apply(k.ctx, ann, []driver.ValueWrite{seen(items[0].Version, putting("n/k", strconv.Itoa(n+1)))})
				if err == nil {
					done++
				} else if !errors.Is(err, driver.ErrConflict) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			k.Fatal(err)
		}
		k.wantValue(ann, "n/k", strconv.Itoa(writers*each))
	}},
	{name: "put/cancelled", promise: "a call with a context that has ended changes nothing", run: func(k *valueKit) {
		k.put(ann, "n/k", `1`)
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		if _, err := k.store.Apply(ctx, ann, []driver.ValueWrite{putting("n/k", `2`)}); !errors.Is(err, context.Canceled) {
			k.Errorf("apply: got %v", err)
		}
		if _, err := k.store.Forget(ctx, ann); !errors.Is(err, context.Canceled) {
			k.Errorf("forget: got %v", err)
		}
		if _, err := k.store.Search(ctx, ann, driver.ValueSearch{Terms: []string{"x"}, Limit: 1}); !errors.Is(err, context.Canceled) {
			k.Errorf("search: got %v", err)
		}
		for _, err := range k.store.Find(ctx, ann, within()) {
			if !errors.Is(err, context.Canceled) {
				k.Errorf("find: got %v", err)
			}
		}
		for _, err := range k.store.Namespaces(ctx, ann, driver.NamespaceQuery{}) {
			if !errors.Is(err, context.Canceled) {
				k.Errorf("namespaces: got %v", err)
			}
		}
		k.wantValue(ann, "n/k", `1`)
	}},
	{name: "put/own", promise: "the caller may modify arguments and results afterwards without changing stored data", run: func(k *valueKit) {
		w := worded(putting("n/k", `{"a":1}`), "word")
		w.Embedding, w.Model = []float32{1, 2}, "m"
		put := k.apply(ann, w)[0]
		scribble := func(item driver.Item) { item.Value[1], item.Namespace[0] = 'x', "x" }
		w.Value[1], w.Namespace[0], w.Terms[0], w.Embedding[0] = 'x', "x", "x", 9
		scribble(put)
		scribble(k.get(ann, "n/k"))
		r := k.search(ann, driver.ValueSearch{Terms: []string{"word"}}).Records[0]
		r.Terms[0], r.Embedding[0] = "x", 9
		scribble(r.Item)
		k.wantValue(ann, "n/k", `{"a":1}`)
		k.wantNamespaces(ann, driver.NamespaceQuery{}, "n")
		if r := k.search(ann, driver.ValueSearch{Terms: []string{"word"}}).Records[0]; r.Terms[0] != "word" || r.Embedding[0] != 1 {
			k.Errorf("got %+v", r)
		}
	}},
	{name: "forget/scope", promise: "Forget removes the values of a scope and returns their number; an empty part of the scope means any", run: func(k *valueKit) {
		scopes := []driver.Scope{
			ann, {Tenant: "acme", Workspace: "w", User: "ann"}, {Tenant: "acme", User: "ann", Agent: "a"}, bob, {Tenant: "acme"}, {User: "ann"}, {Tenant: "acme", User: "annabel"},
		}
		for _, s := range scopes {
			k.apply(s, worded(putting("n/k", `1`), "word"), putting("m/k", `1`))
		}
		n, err := k.store.Forget(k.ctx, ann)
		if n != 6 || err != nil {
			k.Errorf("got %d and %v want 6", n, err)
		}
		for i, s := range scopes {
			want := []string{"m/k", "n/k"}
			if i < 3 {
				want = nil
			}
			k.want(s, within(), want...)
			if c := k.search(s, driver.ValueSearch{Terms: []string{"word"}}); int(c.Values) != len(want)/2 {
				k.Errorf("%s: got %d values with words", s, c.Values)
			}
		}
		if n, err := k.store.Forget(k.ctx, ann); n != 0 || err != nil {
			k.Errorf("again: got %d and %v want 0", n, err)
		}
	}},
}
