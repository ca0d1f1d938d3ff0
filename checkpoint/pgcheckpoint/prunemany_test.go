package pgcheckpoint_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// Threads that are pruned in one transaction lose the same checkpoints as threads that are pruned
// alone, and keep the same lineages.
func TestThreadsPrunedTogetherKeepTheSameAsThreadsPrunedAlone(t *testing.T) {
	t.Parallel()
	store := newPlace(t).open(t)
	r := rand.New(rand.NewPCG(17, 18))
	const threads = 24
	var together []string
	for i := range threads {
		thread := fmt.Sprint("t", i)
		together = append(together, thread)
		putRandom(t, store, thread, r, 2+r.IntN(40))
		require.NoError(t, store.CopyThread(t.Context(), thread, "alone "+thread))
	}
	for _, p := range []checkpoint.PrunePolicy{{KeepLast: 8, KeepPending: true}, {KeepLast: 3}, {}} {
		p.Threads = together
		n, err := store.Prune(t.Context(), p)
		require.NoError(t, err)
		alone := 0
		for _, thread := range together {
			p.Threads = []string{"alone " + thread}
			n, err := store.Prune(t.Context(), p)
			require.NoError(t, err)
			alone += n
			require.Equal(t, contents(t, store, "alone "+thread), contents(t, store, thread))
		}
		assert.Equal(t, alone, n)
		assert.Positive(t, n)
	}
	for _, thread := range together {
		c := newest(t, store, thread)
		next := step(thread, 1000)
		next.Parent = c.ID
		require.NoError(t, store.Put(t.Context(), next, c.ID))
	}
}

// putRandom stores checkpoints with forks, snapshots, pending writes, tags and calls of subgraphs.
func putRandom(t *testing.T, store *pgcheckpoint.Store, thread string, r *rand.Rand, n int) {
	t.Helper()
	ids := map[string][]string{} // by namespace
	for i := 1; i <= n; i++ {
		c := step(thread, i)
		c.Parent, c.Run = "", fmt.Sprint("run ", i/7)
		if root := ids[""]; len(root) > 0 && r.IntN(3) == 0 {
			c.Namespace = "sub@" + root[r.IntN(len(root))]
		}
		head := ""
		if before := ids[c.Namespace]; len(before) > 0 {
			head = before[len(before)-1]
			if c.Parent = head; r.IntN(4) == 0 {
				c.Parent = before[r.IntN(len(before))]
			}
		}
		if c.Parent == "" || r.IntN(9) == 0 {
			c.Snapshot = []checkpoint.Change{{Channel: "messages", Kind: 2, Data: fmt.Appendf(nil, `["all until %d"]`, i)}}
		}
		require.NoError(t, store.Put(t.Context(), c, head))
		ids[c.Namespace] = append(ids[c.Namespace], c.ID)
		if r.IntN(5) == 0 {
			require.NoError(t, store.PutWrites(t.Context(), c.Key, []checkpoint.Write{write("a")}))
		}
		if r.IntN(20) == 0 {
			require.NoError(t, store.Tag(t.Context(), c.Key, fmt.Sprint("tag ", i)))
		}
	}
}

// contents returns all checkpoints of a thread, without the name of the thread.
func contents(t *testing.T, store checkpoint.Store, thread string) []checkpoint.Checkpoint {
	t.Helper()
	var all []checkpoint.Checkpoint
	for c, err := range store.List(t.Context(), checkpoint.Query{Thread: thread, AllNamespaces: true}) {
		require.NoError(t, err)
		c, err = store.Get(t.Context(), c.Key)
		require.NoError(t, err)
		c.Thread = ""
		all = append(all, c)
	}
	return all
}

// The number of round trips does not grow with the number of threads, as long as their
// checkpoints fit into one transaction.
func TestRoundTripsOfPruneDoNotGrowWithTheThreads(t *testing.T) {
	t.Parallel()
	store, trips := countedStore(t, newPlace(t), pgx.QueryExecModeExec)
	count := func(first, n int) int {
		for i := range n {
			putAll(t, store, fmt.Sprint("t", first+i), 4)
		}
		trips.take()
		removed, err := store.Prune(t.Context(), checkpoint.PrunePolicy{})
		require.NoError(t, err)
		require.Equal(t, 3*n, removed)
		return trips.take()
	}
	one := count(0, 1)
	assert.Equal(t, one, count(1, 40))
}

// Prune removes the old checkpoints of all threads except those that it cannot read. These threads
// keep their rows, and the errors name them.
func TestADamagedThreadDoesNotStopPrune(t *testing.T) {
	t.Parallel()
	for name, threads := range map[string][]string{"all": nil, "named": {"t0", "t1", "t2", "t3", "t4"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := p.open(t)
			for i := range 5 {
				putAll(t, store, fmt.Sprint("t", i), 4)
			}
			const damage = `UPDATE weft.cp_step SET changes = %s WHERE seq = 2 AND thread = (SELECT key FROM weft.cp_thread WHERE id = '%s')`
			do(t, p, fmt.Sprintf(damage, `substr(changes, 1, 3)`, "t2"))
			do(t, p, fmt.Sprintf(damage, `set_byte(changes, 0, 99)`, "t4"))
			n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{Threads: threads})
			require.ErrorIs(t, err, checkpoint.ErrCorrupt)
			require.ErrorIs(t, err, checkpoint.ErrFormat)
			require.ErrorContains(t, err, `thread "t2"`)
			require.ErrorContains(t, err, `thread "t4"`)
			assert.Equal(t, 3*3, n)
			for i, want := range []int{1, 1, 4, 1, 4} {
				wantSteps(t, store, fmt.Sprint("t", i), want)
			}
		})
	}
}

// Prune of all threads skips a thread that another transaction has locked. Prune of named threads
// waits for it.
func TestPruneWaitsForALockedThreadIfItIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	for _, thread := range []string{"a", "b", "c"} {
		putAll(t, store, thread, 3)
	}
	tx, err := p.conn(t).Begin(t.Context())
	require.NoError(t, err)
	var holder int
	require.NoError(t, tx.QueryRow(t.Context(), p.sql(`SELECT pg_backend_pid() FROM weft.cp_thread WHERE id = 'b' FOR UPDATE`)).Scan(&holder))
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{})
	require.NoError(t, err)
	assert.Equal(t, 4, n)

	var removed int
	var wait sync.WaitGroup
	wait.Go(func() {
		n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{Threads: []string{"a", "b", "c"}})
		assert.NoError(t, err)
		removed = n
	})
	for !ask[bool](t, p, `SELECT EXISTS (SELECT FROM pg_locks l WHERE $1::int = ANY (pg_blocking_pids(l.pid)))`, holder) {
		require.NoError(t, t.Context().Err())
	}
	require.NoError(t, tx.Rollback(t.Context()))
	wait.Wait()
	assert.Equal(t, 2, removed)
}
