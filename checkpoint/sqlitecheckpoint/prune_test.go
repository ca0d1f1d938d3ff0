package sqlitecheckpoint_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// Prune leases only idle threads, because no run can begin on a leased thread. The first lease of a
// store creates the lock file.
func TestPruneLeasesIdleThreadsOnly(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/weft.db"
	store := open(t, path, options)
	put(t, store, small(1), "")
	for _, policy := range []checkpoint.PrunePolicy{
		{DeleteIdle: time.Hour},
		{Threads: []string{"t", "none"}, DeleteIdle: time.Hour, KeepLast: 1},
	} {
		_, err := store.Prune(t.Context(), policy)
		require.NoError(t, err)
	}
	assert.NoFileExists(t, path+"-lock")
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.FileExists(t, path+"-lock")
}

// The work of Prune grows linearly with the length of the thread. The test measures it by
// allocations, so it does not run in parallel with other tests.
func TestPruneIsLinear(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	work := func(steps int) float64 {
		store := open(t, sqlitecheckpoint.Memory, options)
		for n := 1; n <= steps; n++ {
			put(t, store, small(n), headOf(n-1))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		removed, err := store.Prune(context.Background(), checkpoint.PrunePolicy{})
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		require.Equal(t, steps-1, removed)
		return float64(after.Mallocs - before.Mallocs)
	}
	few, many := work(2_000), work(8_000)
	assert.Less(t, many/few, 5.0, "four times the checkpoints should be about four times the work")
}

// Another process may write between two transactions of Prune. If it puts a checkpoint whose
// parent Prune is about to remove, the checkpoint keeps its lineage. If the parent is already
// removed, Put fails.
func TestForksDuringPruneKeepTheirLineage(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := t.TempDir() + "/weft.db"
	pruning, other := open(t, path, options), open(t, path, options)
	const steps = 5000
	for n := 1; n <= steps; n++ {
		put(t, pruning, small(n), headOf(n-1))
	}
	done := make(chan error, 1)
	go func() {
		_, err := pruning.Prune(ctx, checkpoint.PrunePolicy{})
		done <- err
	}()
	// Fork from the second checkpoint until Prune has removed it.
	head := stepID(steps)
	var forks []string
	for n := steps + 1; ; n++ {
		c := small(n)
		c.Parent = stepID(2)
		err := other.Put(ctx, c, head)
		if err != nil {
			require.ErrorIs(t, err, checkpoint.ErrNotFound)
			break
		}
		head = c.ID
		forks = append(forks, c.ID)
	}
	require.NoError(t, <-done)
	c, err := other.Get(ctx, checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	if len(forks) == 0 {
		require.Len(t, c.Lineage, steps)
		return
	}
	var ids []string
	for _, d := range c.Lineage {
		ids = append(ids, d.ID)
	}
	assert.Equal(t, []string{stepID(1), stepID(2), forks[len(forks)-1]}, ids)
}

func TestPruneRemovesEndedCallsOfSubgraphs(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := open(t, sqlitecheckpoint.Memory, options)
	ids := func() []string {
		var ids []string
		for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", AllNamespaces: true}) {
			require.NoError(t, err)
			ids = append(ids, c.ID)
		}
		slices.Sort(ids)
		return ids
	}
	in := func(namespace, id, head string) {
		c := follower("t", id, head)
		c.Namespace = namespace
		put(t, store, c, head)
	}
	in("", "c1", "")
	in("research@c1", "r1", "")
	in("research@c1/search@r1", "s1", "")
	in("~notes", "n1", "")
	in("~notes/find@n1", "f1", "")
	in("research@gone", "g1", "") // the caller does not exist
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "t", Namespace: "research@c1", ID: "r1"},
		[]checkpoint.Write{{Task: "a"}}))

	keep := checkpoint.PrunePolicy{KeepFor: time.Hour, KeepPending: true}
	removed, err := store.Prune(ctx, keep)
	require.NoError(t, err)
	assert.Equal(t, 1, removed)
	assert.Equal(t, []string{"c1", "f1", "n1", "r1", "s1"}, ids(), "all calls can be resumed")

	in("", "c2", "c1")
	in("research@c2", "r2", "")
	in("~notes", "n2", "n1")
	removed, err = store.Prune(ctx, checkpoint.PrunePolicy{KeepPending: true})
	require.NoError(t, err)
	assert.Equal(t, 5, removed)
	assert.Equal(t, []string{"c2", "n2", "r2"}, ids(), "calls made at c1 and n1 have ended, nested ones too")
	for info, err := range store.ListThreads(ctx, "") {
		require.NoError(t, err)
		assert.Equal(t, 3, info.Checkpoints)
	}
}
