package checkpointtest_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/checkpointtest"
)

const maxValue = 100_000

func memory() *checkpoint.Memory {
	return checkpoint.NewMemory(checkpoint.MemoryOptions{MaxValue: maxValue})
}

func TestMemory(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open:     func(testing.TB) checkpoint.Store { return memory() },
		MaxValue: maxValue,
	}.Run(t)
}

func TestMemoryDefaultLimit(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(testing.TB) checkpoint.Store {
		return checkpoint.NewMemory(checkpoint.MemoryOptions{})
	})
}

func TestMemoryNoLimit(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open: func(testing.TB) checkpoint.Store {
			return checkpoint.NewMemory(checkpoint.MemoryOptions{MaxValue: -1})
		},
		MaxValue: -1,
	}.Run(t)
}

// unlimited is for the stores below an encrypted one, which adds more bytes to some
// values than to others. The tests of package checkpoint cover its limits.
func unlimited() *checkpoint.Memory {
	return checkpoint.NewMemory(checkpoint.MemoryOptions{MaxValue: -1})
}

func encrypted(tb testing.TB, inner checkpoint.Store) *checkpoint.EncryptedStore {
	tb.Helper()
	store, err := checkpoint.Encrypted(inner, checkpoint.KeyRing{
		Active: "key-1",
		Keys:   map[string][]byte{"key-1": make([]byte, checkpoint.KeySize)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	var inner sync.Map
	checkpointtest.Harness{
		Open: func(tb testing.TB) checkpoint.Store {
			damaged := &flipping{Memory: unlimited()}
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

// A store with no power at all, inside and out.
func TestBare(t *testing.T) {
	t.Parallel()
	checkpointtest.Harness{
		Open:     func(testing.TB) checkpoint.Store { return struct{ checkpoint.Store }{memory()} },
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

// flipping is a store whose values can be damaged, as they are read.
type flipping struct {
	*checkpoint.Memory
	mu      sync.Mutex
	damaged map[checkpoint.Key]map[int]bool
}

func (f *flipping) flip(tb testing.TB, k checkpoint.Key, offset int) bool {
	tb.Helper()
	c, err := f.Memory.Get(context.Background(), k)
	if err != nil {
		tb.Fatal(err)
	}
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
	c, err := f.Memory.Get(ctx, k)
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

func BenchmarkMemory(b *testing.B) {
	checkpointtest.Bench(b, func(testing.TB) checkpoint.Store { return memory() })
}

func BenchmarkEncrypted(b *testing.B) {
	checkpointtest.Bench(b, func(tb testing.TB) checkpoint.Store { return encrypted(tb, memory()) })
}

// The powers of an encrypted store say what is missing.
func TestEncryptedLacksPowers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := encrypted(t, struct{ checkpoint.Store }{memory()})
	_, err := store.Lease(ctx, "t")
	wantUnsupported(t, "lease", err)
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{})
	wantUnsupported(t, "prune", err)
	wantUnsupported(t, "delete runs", store.DeleteRuns(ctx, "t", "r"))
	wantUnsupported(t, "list threads", last(store.ListThreads(ctx, "")))
}

func wantUnsupported(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%s: got %v want ErrUnsupported", what, err)
	}
}

func last[T any](sequence iter.Seq2[T, error]) error {
	var failed error
	for _, err := range sequence {
		failed = err
	}
	return failed
}
