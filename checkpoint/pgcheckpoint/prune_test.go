package pgcheckpoint_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// After the migration, ListStatus lists the threads that waited or had failed in an older version.
func TestMigrationFindsTheStatusOfOldThreads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	put(t, store, "done", 1)
	for thread, w := range map[string]checkpoint.Write{
		"asks":   {Task: "review[2]~k", Index: -1, Channel: "$ask", Data: []byte(`[{"kind":"question","node":"review"}]`)},
		"failed": {Task: "send", Index: -2, Channel: "$error", Data: []byte("no connection")},
		"static": {Index: -4, Channel: "$stop", Data: []byte(`[{"kind":"before","node":"größe","path":"größe"},{"kind":"before","node":"y","path":"y"}]`)},
	} {
		putAll(t, store, thread, 2)
		require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: thread, ID: stepID(2)}, []checkpoint.Write{w}))
	}
	putAll(t, store, "went on", 1)
	require.NoError(t, store.PutWrites(ctx, checkpoint.Key{Thread: "went on", ID: stepID(1)}, []checkpoint.Write{{Task: "old", Index: -1, Channel: "$ask"}}))
	put(t, store, "went on", 2)
	want := listed(t, store)
	require.Equal(t, []string{"paused größe static", "paused review asks", "paused y static", "failed send failed"}, want)

	do(t, p, `DELETE FROM weft.cp_open`)
	do(t, p, `UPDATE weft.cp_thread SET open = false`)
	do(t, p, `DELETE FROM weft.cp_migration WHERE version = 6`)
	require.Empty(t, listed(t, store))
	later := p.open(t)
	assert.Equal(t, want, listed(t, later))
	put(t, later, "asks", 3)
	assert.Equal(t, []string{"paused größe static", "paused y static", "failed send failed"}, listed(t, later))
}

// listed returns the status, node and thread of all listed threads.
func listed(t *testing.T, store checkpoint.StatusLister) []string {
	t.Helper()
	var found []string
	for _, status := range []checkpoint.Status{checkpoint.Paused, checkpoint.Failed} {
		for one, err := range store.ListStatus(t.Context(), checkpoint.StatusQuery{Status: status}) {
			require.NoError(t, err)
			found = append(found, fmt.Sprint(one.Status, " ", one.Node, " ", one.Thread))
		}
	}
	return found
}

// Idle threads are deleted in the order of their creation, in transactions of a bounded size.
// After an interrupted call, the next call deletes the rest.
func TestIdleThreadsAreDeletedInSmallTransactions(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	const threads = 1200
	do(t, p, `INSERT INTO weft.cp_thread (tenant, id, created, at, seq, steps) SELECT '', 'z' || 10000 - n, now() - interval '9 days', now() - interval '9 days', 2, 2
		FROM generate_series(1, $1::int) n`, threads)
	do(t, p, `INSERT INTO weft.cp_step (thread, time, step, seq, parent, branch, root, space, origin, epoch, whole, id, source, control, changes)
		SELECT key, now() - interval '9 days', s, s, s - 1, 1, 1, 0, 1, 0, false, gen_random_uuid(), 'loop', '', '' FROM weft.cp_thread, generate_series(1, 2) s`)
	putAll(t, store, "new", 3)
	lease(t, store, "z9999") // the first one

	ctx, cancel := context.WithCancel(t.Context())
	policy := checkpoint.PrunePolicy{DeleteIdle: 24 * time.Hour, KeepLast: 100}
	var seen []checkpoint.PruneProgress
	policy.Progress = func(p checkpoint.PruneProgress) {
		seen = append(seen, p)
		cancel()
	}
	n, err := store.Prune(ctx, policy)
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, []checkpoint.PruneProgress{{Threads: 500 - 1, Checkpoints: 1000 - 2}}, seen)
	assert.Equal(t, 998, n)
	assert.Equal(t, threads-500, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_thread WHERE id <= 'z9499' AND id > 'z'`))

	seen, policy.Progress = nil, func(p checkpoint.PruneProgress) { seen = append(seen, p) }
	n, err = store.Prune(t.Context(), policy)
	require.NoError(t, err)
	assert.Equal(t, 2*(threads-500), n)
	assert.Equal(t, checkpoint.PruneProgress{Threads: threads - 500, Checkpoints: 2 * (threads - 500)}, seen[len(seen)-1])
	assert.Len(t, seen, 2, "one report for each transaction")
	assert.Equal(t, 2, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_thread`))
	assert.Equal(t, 5, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_step`))
}

// A thread with more checkpoints than one transaction removes is deleted completely.
func TestALongIdleThreadIsDeletedInBatches(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	putAll(t, store, "long", 1100)
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	require.NoError(t, err)
	assert.Equal(t, 1100, n)
	assert.Zero(t, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_thread`))
	assert.Zero(t, ask[int](t, p, `SELECT count(*)::int FROM weft.cp_step`))
}

// A thread that another transaction has locked, and one with a tag, are not deleted.
func TestIdleThreadsThatAreNotDeleted(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	for _, thread := range []string{"locked", "tagged", "idle"} {
		put(t, store, thread, 1)
	}
	require.NoError(t, store.Tag(t.Context(), checkpoint.Key{Thread: "tagged", ID: stepID(1)}, "milestone"))
	conn := p.conn(t)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), p.sql(`SELECT FROM weft.cp_thread WHERE id = 'locked' FOR NO KEY UPDATE`))
	require.NoError(t, err)
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	require.NoError(t, tx.Rollback(t.Context()))
	n, err = store.Prune(t.Context(), checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, "tagged", ask[string](t, p, `SELECT string_agg(id, ' ') FROM weft.cp_thread`))
}

// Prune removes no checkpoint of a long thread that it must not delete.
func TestALongThreadThatIsNotDeletedKeepsItsHistory(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	store := p.open(t)
	const steps = 1100
	for _, thread := range []string{"held", "tagged"} {
		putAll(t, store, thread, steps)
	}
	require.NoError(t, store.Tag(t.Context(), checkpoint.Key{Thread: "tagged", ID: stepID(1)}, "milestone"))
	lease(t, store, "held")
	n, err := store.Prune(t.Context(), checkpoint.PrunePolicy{DeleteIdle: time.Nanosecond})
	require.NoError(t, err)
	assert.Zero(t, n)
	wantSteps(t, store, "held", steps)
	wantSteps(t, store, "tagged", steps)
}
