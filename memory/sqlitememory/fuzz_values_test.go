package sqlitememory_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/kv"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// Whatever labels and keys are made of, what is listed, and in which order, is as it is in memory.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"a", "a.b", "A", "\x01", "\xc3\xa9", "'; DROP TABLE mem_value; --", "%", "_", `\`, "日本", "🙂", "z\x7f"} {
		f.Add(seed, "a", "b")
		f.Add("a", seed, seed)
		f.Add("a", "a"+seed, seed+"a")
	}
	sqlite, inMemory := open(f, sqlitememory.Memory, options).Values(), kv.NewInMemory(kv.InMemoryOptions{})
	var users atomic.Int64 // each time another
	f.Fuzz(func(t *testing.T, first, second, key string) {
		s := memory.Scope{User: fmt.Sprint(users.Add(1))}
		listed := make([][]string, 2)
		for i, store := range []kv.Store{sqlite, inMemory} {
			values, err := kv.New(store, kv.Options{})
			must(t, err)
			if _, err := kv.Put(t.Context(), values.In(s, first, second), key, 1, kv.PutOptions{}); err != nil {
				return // no name
			}
			for _, labels := range [][]string{{first}, {second}, {second, first}, {first + second}} {
				for _, key := range []string{key, first, key + "a"} {
					if _, err := kv.Put(t.Context(), values.In(s, labels...), key, 1, kv.PutOptions{}); err != nil {
						return
					}
				}
			}
			for _, labels := range [][]string{nil, {first}, {second}, {first, second}} {
				for _, q := range []kv.Query{{Limit: -1}, {Own: true}, {KeyPrefix: key}, {Order: kv.Newest, Limit: 4}} {
					listed[i] = append(listed[i], fmt.Sprintf("%q %+v", labels, q))
					if q.Limit <= 0 {
						q.Order = kv.ByKey
					}
					for item, err := range values.In(s, labels...).List(t.Context(), q) {
						must(t, err)
						listed[i] = append(listed[i], fmt.Sprintf("%q", append(slices.Clone(item.Namespace), item.Key)))
					}
				}
				for depth := range 3 {
					listed[i] = append(listed[i], fmt.Sprintf("%q depth %d", labels, depth))
					for labels, err := range values.In(s, labels...).Namespaces(t.Context(), kv.NamespaceQuery{MaxDepth: depth, Suffix: []string{kv.Any}}) {
						must(t, err)
						listed[i] = append(listed[i], fmt.Sprintf("%q", labels))
					}
				}
			}
			_, err = values.Forget(t.Context(), s)
			must(t, err)
		}
		if !slices.Equal(listed[0], listed[1]) {
			t.Errorf("%q %q %q:\ngot  %q\nwant %q", first, second, key, listed[0], listed[1])
		}
	})
}
