package sqlitememory_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/inmemory"
	"github.com/weft-go/weft/memory/sqlitememory"
)

// For any labels and keys, the store returns the same values in the same order as package
// inmemory.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"a", "a.b", "A", "\x01", "\xc3\xa9", "'; DROP TABLE mem_value; --", "%", "_", `\`, "日本", "🙂", "z\x7f"} {
		f.Add(seed, "a", "b")
		f.Add("a", seed, seed)
		f.Add("a", "a"+seed, seed+"a")
	}
	sqlite, inMemory := open(f, sqlitememory.Memory, options).Values(), inmemory.NewValues(inmemory.Options{})
	var users atomic.Int64 // each run uses a new user
	f.Fuzz(func(t *testing.T, first, second, key string) {
		s := driver.Scope{User: fmt.Sprint(users.Add(1))}
		listed := make([][]string, 2)
		for i, store := range []driver.ValueStore{sqlite, inMemory} {
			m, err := memory.New(inmemory.Fill(driver.Stores{ValueStore: store}), memory.Options{})
			require.NoError(t, err)
			values := m.Values()
			if _, err := memory.PutValue(t.Context(), values.In(s, first, second), key, 1, memory.PutOptions{}); err != nil {
				return // not a valid name
			}
			for _, labels := range [][]string{{first}, {second}, {second, first}, {first + second}} {
				for _, key := range []string{key, first, key + "a"} {
					if _, err := memory.PutValue(t.Context(), values.In(s, labels...), key, 1, memory.PutOptions{}); err != nil {
						return
					}
				}
			}
			for _, labels := range [][]string{nil, {first}, {second}, {first, second}} {
				for _, q := range []driver.ValueQuery{{Limit: -1}, {Own: true}, {KeyPrefix: key}, {Order: driver.Newest, Limit: 4}} {
					listed[i] = append(listed[i], fmt.Sprintf("%q %+v", labels, q))
					if q.Limit <= 0 {
						q.Order = driver.ByKey
					}
					for item, err := range values.In(s, labels...).List(t.Context(), q) {
						require.NoError(t, err)
						listed[i] = append(listed[i], fmt.Sprintf("%q", append(slices.Clone(item.Namespace), item.Key)))
					}
				}
				for depth := range 3 {
					listed[i] = append(listed[i], fmt.Sprintf("%q depth %d", labels, depth))
					for labels, err := range values.In(s, labels...).Namespaces(t.Context(), driver.NamespaceQuery{MaxDepth: depth, Suffix: []string{driver.Any}}) {
						require.NoError(t, err)
						listed[i] = append(listed[i], fmt.Sprintf("%q", labels))
					}
				}
			}
			_, err = values.Forget(t.Context(), s)
			require.NoError(t, err)
		}
		assert.Equal(t, listed[1], listed[0], "%q %q %q:\ngot  %q\nwant %q", first, second, key, listed[0], listed[1])
	})
}
