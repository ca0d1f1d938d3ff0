package sqlitecheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

// The sparse index of ids finds every stored id and no other, for ids in any order and with
// removals. The test compares the store with package memcheckpoint.
func TestIDsInAnyOrderAreFound(t *testing.T) {
	t.Parallel()
	makers := map[string]func(r *rand.Rand, n int) string{
		"born in order":  func(_ *rand.Rand, n int) string { return stepID(n) },
		"backwards":      func(_ *rand.Rand, n int) string { return stepID(1<<20 - n) },
		"at random":      func(r *rand.Rand, _ int) string { return stepID(r.IntN(1 << 12)) },
		"few, again":     func(r *rand.Rand, _ int) string { return stepID(r.IntN(60)) },
		"text":           func(r *rand.Rand, _ int) string { return fmt.Sprint(r.IntN(1 << 12)) },
		"text and UUIDs": textOrID,
		"two clocks":     func(r *rand.Rand, n int) string { return stepID(n + r.IntN(2)<<18) },
		"by the tick":    func(r *rand.Rand, n int) string { return stepID(n/20<<8 + r.IntN(1<<8)) },
		"almost ordered": func(r *rand.Rand, n int) string { return stepID(8*n + r.IntN(40)) },
	}
	for name, id := range makers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			o := newOracle(t, seed)
			for n := range 400 {
				o.step(id(o.rand, n+1))
			}
			o.compare()
			if t.Failed() {
				t.Logf("seed: %d", seed)
			}
		})
	}
}

func textOrID(r *rand.Rand, n int) string {
	if r.IntN(3) == 0 {
		return fmt.Sprint("step ", n)
	}
	return stepID(n)
}

type powerful interface {
	checkpoint.Store
	checkpoint.Pruner
	checkpoint.RunDeleter
}

// An oracle makes the same calls to a store in memory and to a file, and compares the
// results. Two stores have the file open and take random turns, so neither can rely on its
// caches.
type oracle struct {
	*testing.T
	rand   *rand.Rand
	memory powerful
	files  [2]powerful
	ids    []string // the ids of all calls of step
	run    int
}

func newOracle(t *testing.T, seed uint64) *oracle {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weft.db")
	return &oracle{
		T:      t,
		rand:   rand.New(rand.NewPCG(seed, 0)),
		memory: memcheckpoint.New(memcheckpoint.Options{}),
		files:  [2]powerful{open(t, path, options), open(t, path, options)},
	}
}

func (o *oracle) step(id string) {
	o.Helper()
	ctx := context.Background()
	o.ids = append(o.ids, id)
	seen := o.ids[o.rand.IntN(len(o.ids))]
	switch o.rand.IntN(60) {
	case 0:
		run := fmt.Sprint(max(1, o.run-o.rand.IntN(4)))
		o.both("delete run", func(s powerful) error { return s.DeleteRuns(ctx, "t", run) })
	case 1:
		policy := checkpoint.PrunePolicy{KeepLast: 1 + o.rand.IntN(60)}
		o.both("prune", func(s powerful) error { _, err := s.Prune(ctx, policy); return err })
	case 2:
		if o.rand.IntN(2) == 0 {
			o.compare()
		}
	case 3:
		o.both("put writes", func(s powerful) error {
			return s.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: seen}, []checkpoint.Write{{Task: id}})
		})
	case 4:
		if o.rand.IntN(4) == 0 {
			o.both("delete", func(s powerful) error { return s.DeleteThread(ctx, "t") })
		}
	default:
		o.put(id)
	}
	o.both("get "+seen, func(s powerful) error {
		_, err := s.Get(ctx, checkpoint.Key{Thread: "t", ID: seen})
		return err
	})
}

func (o *oracle) put(id string) {
	o.Helper()
	ctx := context.Background()
	k := checkpoint.Key{Thread: "t"}
	if o.rand.IntN(5) == 0 {
		k.Namespace = "sub"
	}
	newest, _ := o.memory.Get(ctx, k)
	if o.rand.IntN(12) == 0 {
		o.run++
	}
	c := checkpoint.Checkpoint{
		Key: checkpoint.Key{Thread: "t", Namespace: k.Namespace, ID: id}, Parent: newest.ID, Source: checkpoint.Loop, Run: fmt.Sprint(o.run),
		Changes: []checkpoint.Change{{Channel: "c", Data: []byte(id)}},
	}
	if o.rand.IntN(10) == 0 && len(newest.Lineage) > 0 {
		c.Parent = newest.Lineage[o.rand.IntN(len(newest.Lineage))].ID
	}
	if c.Parent == id {
		return
	}
	c.Settles = o.rand.IntN(2) == 0
	o.both("put "+id, func(s powerful) error { return s.Put(ctx, c, newest.ID) })
}

// both calls the function do with the store in memory and with one of the two stores of the
// file. The two calls must return the same kind of error.
func (o *oracle) both(what string, do func(s powerful) error) {
	o.Helper()
	want, got := do(o.memory), do(o.files[o.rand.IntN(4)/3])
	for _, sentinel := range []error{nil, checkpoint.ErrConflict, checkpoint.ErrNotFound} {
		if errors.Is(want, sentinel) {
			assert.ErrorIs(o, got, sentinel, what)
			return
		}
	}
	assert.Fail(o, "unexpected error", "%s: %v", what, want)
}

// compare fails unless the store in memory and the file have the same checkpoints and lineages.
func (o *oracle) compare() {
	o.Helper()
	var spelled [2][]string
	for i, store := range []powerful{o.memory, o.files[0]} {
		for c, err := range store.List(context.Background(), checkpoint.Query{Thread: "t", AllNamespaces: true, Writes: true}) {
			require.NoError(o, err)
			full, err := store.Get(context.Background(), c.Key)
			require.NoError(o, err)
			line := fmt.Sprintf("%s %q after %s, run %s, %d writes:", c.ID, c.Namespace, c.Parent, c.Run, len(c.Writes))
			for _, d := range full.Lineage {
				line += " " + d.ID
			}
			spelled[i] = append(spelled[i], line)
		}
	}
	assert.Equal(o, spelled[0], spelled[1])
}
