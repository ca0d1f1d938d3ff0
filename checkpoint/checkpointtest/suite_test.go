package checkpointtest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

const maxValue = 100_000

func newStore() *memcheckpoint.Store {
	return memcheckpoint.New(memcheckpoint.Options{MaxValue: maxValue})
}

// unlimited returns the inner store of an encrypted store. It has no limit, because
// encryption adds a different number of bytes to each kind of value. The tests of package
// checkpoint cover the limits.
func unlimited() *memcheckpoint.Store {
	return memcheckpoint.New(memcheckpoint.Options{MaxValue: -1})
}

func encrypted(tb testing.TB, inner checkpoint.Store) *checkpoint.EncryptedStore {
	tb.Helper()
	store, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{
		Active: "key-1",
		Keys:   map[string][]byte{"key-1": make([]byte, checkpoint.KeySize)},
	})
	require.NoError(tb, err)
	return store
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	var inner sync.Map
	checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store {
			damaged := &flipping{Store: unlimited()}
			store := encrypted(tb, damaged)
			inner.Store(store, damaged)
			return store
		},
		Reopen: func(tb testing.TB, store checkpoint.Store) checkpoint.Store {
			damaged, _ := inner.Load(store)
			again := encrypted(tb, damaged.(*flipping))
			inner.Store(again, damaged)
			return again
		},
		Corrupt: func(tb testing.TB, store checkpoint.Store, k checkpoint.Key, offset int) bool {
			damaged, _ := inner.Load(store)
			return damaged.(*flipping).flip(tb, k, offset)
		},
		MaxValue: -1,
	}.Run(t)
}

// TestBare runs the suite with a store that has no optional interface.
func TestBare(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open:     func(testing.TB) checkpoint.Store { return struct{ checkpoint.Store }{newStore()} },
		MaxValue: maxValue,
	}.Run(t)
}

func TestEncryptedBare(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store {
			return encrypted(tb, struct{ checkpoint.Store }{unlimited()})
		},
		MaxValue: -1,
	}.Run(t)
}

// flipping is a store that flips bits of the values that Get returns.
type flipping struct {
	*memcheckpoint.Store
	mu      sync.Mutex
	damaged map[checkpoint.Key]map[int]bool
}

func (f *flipping) flip(tb testing.TB, k checkpoint.Key, offset int) bool {
	tb.Helper()
	c, err := f.Store.Get(context.Background(), k)
	require.NoError(tb, err)
	size := 0
	for _, value := range values(&c) {
		size += len(value)
	}
	if offset >= size {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.damaged == nil {
		f.damaged = map[checkpoint.Key]map[int]bool{}
	}
	if f.damaged[k] == nil {
		f.damaged[k] = map[int]bool{}
	}
	f.damaged[k][offset] = !f.damaged[k][offset]
	return true
}

func (f *flipping) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	c, err := f.Store.Get(ctx, k)
	if err != nil {
		return c, err
	}
	for i, d := range c.Lineage {
		if d.ID != c.ID {
			c.Lineage[i].Changes = f.damage(&checkpoint.Checkpoint{
				Key: checkpoint.Key{Thread: c.Thread, Namespace: c.Namespace, ID: d.ID}, Changes: d.Changes,
			}).Changes
		}
	}
	return *f.damage(&c), nil
}

func (f *flipping) damage(c *checkpoint.Checkpoint) *checkpoint.Checkpoint {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := 0
	for _, value := range values(c) {
		for i := range value {
			if f.damaged[c.Key][at+i] {
				value[i] ^= 4
			}
		}
		at += len(value)
	}
	return c
}

func values(c *checkpoint.Checkpoint) [][]byte {
	var all [][]byte
	for _, changes := range [][]checkpoint.Change{c.Changes, c.Snapshot} {
		for _, change := range changes {
			all = append(all, change.Data)
		}
	}
	all = append(all, c.Control)
	for _, w := range c.Writes {
		all = append(all, w.Data)
	}
	return all
}

func BenchmarkEncrypted(b *testing.B) {
	checkpointtest.Bench(b, func(tb testing.TB) checkpoint.Store { return encrypted(tb, newStore()) })
}

func TestEncryptedStoreReportsMissingInterfaces(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := encrypted(t, struct{ checkpoint.Store }{unlimited()})
	_, err := store.Lease(ctx, "t")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorIs(t, store.DeleteRuns(ctx, "t", "r"), errors.ErrUnsupported)
	for _, err := range store.ListThreads(ctx, "") {
		require.ErrorIs(t, err, errors.ErrUnsupported)
	}
}
