package checkpoint_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// A randomThread makes the same random calls to two stores.
type randomThread struct {
	t                *testing.T
	r                *rand.Rand
	plain, encrypted store
	reopen           func() *checkpoint.EncryptedStore
	ids              int
}

// A store is a [checkpoint.Store] that can also remove checkpoints.
type store interface {
	checkpoint.Store
	checkpoint.Pruner
	checkpoint.RunDeleter
}

// After the same random calls, an encrypted store returns the same checkpoints as a plain
// store.
func TestEncryptedEqualsPlain(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		inner := newInner()
		active := 0
		reopen := func() *checkpoint.EncryptedStore {
			active++
			return mustEncrypt(t, inner, ring(string(rune('a'+active%5)), "a", "b", "c", "d", "e"))
		}
		x := &randomThread{t: t, r: rand.New(rand.NewPCG(seed, 1)), plain: newInner(), encrypted: reopen(), reopen: reopen}
		for range 60 {
			x.step()
		}
		x.compare(seed)
	}
}

func (x *randomThread) step() {
	t := x.t
	ctx := t.Context()
	both := []store{x.plain, x.encrypted}
	list, err := listAll(ctx, x.plain, "t")
	require.NoError(t, err)
	switch n := x.r.IntN(20); {
	case n < 12:
		c := x.next(list)
		head := ""
		if newest, err := x.plain.Get(ctx, checkpoint.Key{Thread: "t", Namespace: c.Namespace}); err == nil {
			head = newest.ID
		}
		for _, s := range both {
			require.NoError(t, s.Put(ctx, c, head))
		}
	case n < 16 && len(list) > 0:
		k := list[x.r.IntN(len(list))].Key
		var writes []checkpoint.Write
		for i := range x.r.IntN(4) {
			writes = append(writes, checkpoint.Write{Task: fmt.Sprint(x.r.IntN(2)), Index: i, Channel: "c", Data: []byte(fmt.Sprint(x.r.Uint32()))})
		}
		for _, s := range both {
			require.NoError(t, s.PutWrites(ctx, k, writes))
		}
	case n < 17:
		policy := checkpoint.PrunePolicy{KeepLast: 1 + x.r.IntN(6), KeepPending: x.r.IntN(2) == 0}
		for _, s := range both {
			_, err := s.Prune(ctx, policy)
			require.NoError(t, err)
		}
	case n < 18:
		run := x.r.IntN(4)
		for _, s := range both {
			require.NoError(t, s.DeleteRuns(ctx, "t", fmt.Sprint("run", run)))
		}
	case n < 19:
		x.encrypted = x.reopen()
	default:
		_, err := x.encrypted.(*checkpoint.EncryptedStore).Reseal(ctx, checkpoint.ResealOptions{})
		require.NoError(t, err)
	}
}

func (x *randomThread) next(list []checkpoint.Checkpoint) checkpoint.Checkpoint {
	x.ids++
	c := threadStep(fmt.Sprint(x.ids), "", x.ids)
	c.Run, c.Namespace = fmt.Sprint("run", x.r.IntN(4)), []string{"", "n"}[x.r.IntN(2)]
	c.Settles = x.r.IntN(2) == 0
	for _, parent := range list { // newest first
		if parent.Namespace == c.Namespace && x.r.IntN(3) > 0 {
			c.Parent = parent.ID
			break
		}
	}
	switch x.r.IntN(8) {
	case 0:
		c.Snapshot = []checkpoint.Change{{Channel: "log", Kind: 1, Data: []byte("whole " + c.ID)}}
	case 1:
		c.Snapshot = []checkpoint.Change{}
	case 2:
		c.Changes = nil
	case 3:
		c.Changes = []checkpoint.Change{}
	}
	return c
}

func (x *randomThread) compare(seed uint64) {
	want := getAll(x.t.Context(), x.t, x.plain, "t")
	got := getAll(x.t.Context(), x.t, x.encrypted, "t")
	require.Equal(x.t, len(want), len(got), "checkpoints, seed %d", seed)
	for k, w := range want {
		g := got[k]
		w.Time, g.Time = time.Time{}, time.Time{}
		if len(w.Control) == 0 {
			w.Control, g.Control = nil, nil
		}
		assert.Equal(x.t, w, g, "seed %d, checkpoint %q", seed, k.ID)
	}
}
