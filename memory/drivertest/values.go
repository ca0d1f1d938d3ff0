package drivertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// RunValues checks the stores that open returns. Each call of open must return a new, empty store, and
// close it with tb.Cleanup. Several tests call open at the same time. The tests store values with a time to
// live of some milliseconds.
func RunValues(t *testing.T, open func(tb testing.TB) driver.ValueStore) {
	t.Helper()
	for _, c := range allValueCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open)
		})
	}
}

func allValueCases() []valueCase {
	return slices.Concat(valueCases, valueFindCases, valueSearchCases, valueTimeCases, valueEmbedderCases)
}

// A valueCase tests one promise.
type valueCase struct {
	name    string // group/case
	promise string
	run     func(k *valueKit)
}

func (c valueCase) check(tb testing.TB, open func(tb testing.TB) driver.ValueStore) {
	tb.Helper()
	play(tb, c.promise, 5*time.Minute, open, func(ctx context.Context, store driver.ValueStore) {
		c.run(&valueKit{TB: tb, ctx: ctx, store: store})
	})
}

// A valueKit has the store and the helpers of a case.
type valueKit struct {
	testing.TB
	ctx   context.Context
	store driver.ValueStore
}

// putting returns a write to the address "label/label/key".
func putting(address, value string) driver.ValueWrite {
	labels := strings.Split(address, "/")
	w := driver.ValueWrite{Address: driver.Address{Namespace: labels[:len(labels)-1], Key: labels[len(labels)-1]}}
	if value != "" {
		w.Value = json.RawMessage(value)
	}
	return w
}

// removing returns a write that removes a value.
func removing(address string) driver.ValueWrite { return putting(address, "") }

func seen(version int64, w driver.ValueWrite) driver.ValueWrite {
	w.Version = version
	return w
}

func worded(w driver.ValueWrite, words string) driver.ValueWrite {
	w.Terms = strings.Fields(words)
	return w
}

func living(w driver.ValueWrite, ttl time.Duration, refresh bool) driver.ValueWrite {
	w.TTL, w.Refresh = ttl, refresh
	return w
}

func (k *valueKit) apply(s driver.Scope, writes ...driver.ValueWrite) []driver.Item {
	k.Helper()
	items, err := k.store.Apply(k.ctx, s, writes)
	if err != nil {
		k.Fatalf("apply %s: %v", brief(writes), err)
	}
	if len(items) != len(writes) {
		k.Fatalf("got %d items want %d", len(items), len(writes))
	}
	return items
}

func (k *valueKit) put(s driver.Scope, address, value string) driver.Item {
	k.Helper()
	return k.apply(s, putting(address, value))[0]
}

// refuse applies writes, and requires that the call returns the error want and changes no value.
func (k *valueKit) refuse(want error, s driver.Scope, writes ...driver.ValueWrite) {
	k.Helper()
	q := driver.ValueSelection{ValueQuery: driver.ValueQuery{Limit: -1}}
	before := fmt.Sprint(k.find(s, q))
	if items, err := k.store.Apply(k.ctx, s, writes); !errors.Is(err, want) {
		k.Errorf("apply %s: got %+v and %v want %v", brief(writes), items, err, want)
	}
	if after := fmt.Sprint(k.find(s, q)); after != before {
		k.Errorf("refused, and yet changed: %s was %s", after, before)
	}
}

func (k *valueKit) find(s driver.Scope, q driver.ValueSelection) []driver.Item {
	k.Helper()
	var list []driver.Item
	for item, err := range k.store.Find(k.ctx, s, q) {
		if err != nil {
			k.Fatalf("find %+v: %v", q, err)
		}
		list = append(list, item)
	}
	return list
}

// get returns the item at an address, or the zero Item if there is none.
func (k *valueKit) get(s driver.Scope, address string) driver.Item {
	k.Helper()
	list := k.find(s, driver.ValueSelection{Addresses: []driver.Address{putting(address, "").Address}})
	switch len(list) {
	case 0:
		return driver.Item{}
	case 1:
		return list[0]
	}
	k.Fatalf("got %d items at %s", len(list), address)
	return driver.Item{}
}

// wantValue requires a value at an address. If the argument value is empty, it requires that there is none.
func (k *valueKit) wantValue(s driver.Scope, address, value string) {
	k.Helper()
	if got := k.get(s, address); !equalJSON(got.Value, json.RawMessage(value)) || (value != "") != got.Known() {
		k.Errorf("%s: got %s, version %d want %s", address, got.Value, got.Version, value)
	}
}

func addresses(items []driver.Item) []string {
	var list []string
	for _, item := range items {
		list = append(list, strings.Join(append(slices.Clone(item.Namespace), item.Key), "/"))
	}
	return list
}

// want requires items at these addresses, in this order.
func (k *valueKit) want(s driver.Scope, q driver.ValueSelection, want ...string) {
	k.Helper()
	if got := addresses(k.find(s, q)); !slices.Equal(got, want) {
		k.Errorf("find %+v: got %q want %q", q, got, want)
	}
}

func (k *valueKit) wantNamespaces(s driver.Scope, q driver.NamespaceQuery, want ...string) {
	k.Helper()
	var got []string
	for labels, err := range k.store.Namespaces(k.ctx, s, q) {
		if err != nil {
			k.Fatalf("namespaces %+v: %v", q, err)
		}
		got = append(got, strings.Join(labels, "/"))
	}
	if !slices.Equal(got, want) {
		k.Errorf("namespaces %+v: got %q want %q", q, got, want)
	}
}

// within returns a selection of all values in a namespace.
func within(labels ...string) driver.ValueSelection {
	return driver.ValueSelection{ValueQuery: driver.ValueQuery{Order: driver.ByKey, Limit: -1}, Prefix: labels}
}
