package pgcheckpoint_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/pgcheckpoint"
)

// age makes the first n checkpoints of the only thread, and the thread, older by an interval.
func age(t *testing.T, p place, n int, by string) {
	t.Helper()
	do(t, p, `UPDATE weft.cp_step SET time = time - $2::text::interval WHERE seq <= $1::int`, n, by)
	do(t, p, `UPDATE weft.cp_thread SET created = created - $1::text::interval`, by)
}

func TestPruneKeepsWhatThePolicyKeeps(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const steps = 20
	for name, c := range map[string]struct {
		policy checkpoint.PrunePolicy
		want   []int
	}{
		"last":             {checkpoint.PrunePolicy{KeepLast: 3}, []int{7, 18, 19, 20}},
		"days":             {checkpoint.PrunePolicy{KeepFor: 24 * time.Hour}, []int{7, 16, 17, 18, 19, 20}},
		"interrupted":      {checkpoint.PrunePolicy{KeepPending: true}, []int{4, 7, 20}},
		"tagged only":      {checkpoint.PrunePolicy{}, []int{7, 20}},
		"all of these":     {checkpoint.PrunePolicy{KeepLast: 3, KeepFor: 24 * time.Hour, KeepPending: true}, []int{4, 7, 16, 17, 18, 19, 20}},
		"of other threads": {checkpoint.PrunePolicy{Threads: []string{"u"}}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			store := p.open(t)
			putAll(t, store, "t", steps)
			age(t, p, 15, "2 days")
			wantNoErr(t, "writes", store.PutWrites(ctx, checkpoint.Key{Thread: "t", ID: stepID(4)}, []checkpoint.Write{write("a")}))
			wantNoErr(t, "tag", store.Tag(ctx, checkpoint.Key{Thread: "t", ID: stepID(7)}, "milestone"))
			n, err := store.Prune(ctx, c.policy)
			require.NoError(t, err)
			assert.Equal(t, steps-len(c.want), n)
			wantSteps(t, store, "t", len(c.want))
			for _, i := range c.want {
				got, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: stepID(i)})
				require.NoError(t, err)
				assert.Len(t, got.Lineage, i)
			}
			st, err := store.Stats(ctx)
			require.NoError(t, err)
			assert.Equal(t, int64(len(c.want)), st.Checkpoints)
		})
	}
}

// While several goroutines prune, every lineage stays complete. Together they remove each
// old checkpoint once.
func TestPruneWhileRunning(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	stores := []*pgcheckpoint.Store{p.open(t), p.open(t)}
	const threads, steps = 4, 150
	var running atomic.Int32
	var wait sync.WaitGroup
	for i := range threads {
		running.Add(1)
		wait.Go(func() {
			defer running.Add(-1)
			thread := fmt.Sprint("t", i)
			for n := 1; n <= steps; n++ {
				put(t, stores[i%2], thread, n)
				assert.Len(t, newest(t, stores[(i+1)%2], thread).Lineage, n, "thread %q, step %d", thread, n)
			}
		})
	}
	removed := make([]int, 3)
	for i := range removed {
		wait.Go(func() {
			for running.Load() > 0 {
				n, err := stores[i%2].Prune(ctx, checkpoint.PrunePolicy{KeepLast: 5})
				wantNoErr(t, "prune", err)
				removed[i] += n
			}
		})
	}
	wait.Wait()
	n, err := stores[0].Prune(ctx, checkpoint.PrunePolicy{KeepLast: 5})
	wantNoErr(t, "prune", err)
	total := n
	for _, n := range removed {
		total += n
	}
	assert.Equal(t, threads*(steps-5), total)
	for i := range threads {
		wantSteps(t, stores[0], fmt.Sprint("t", i), 5)
	}
}

func TestPruneRemovesALongThreadInBatches(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	const steps = 2500
	putAll(t, store, "t", steps)
	n, err := store.Prune(ctx, checkpoint.PrunePolicy{})
	require.NoError(t, err)
	assert.Equal(t, steps-1, n)
	c := newest(t, store, "t")
	assert.Len(t, c.Lineage, steps)
	assert.Empty(t, c.Parent)
	put(t, store, "t", steps+1)
}

// Prune deletes the row of a thread without checkpoints, which a crashed run can leave. It
// keeps the row while a lease is valid.
func TestPruneDropsEmptyThreads(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	p := newPlace(t)
	store := p.open(t)
	lease(t, store, "held")
	lease(t, store, "gone")
	do(t, p, `UPDATE weft.cp_thread SET until = clock_timestamp() - interval '1 hour' WHERE id = 'gone'`)
	_, err := store.Prune(ctx, checkpoint.PrunePolicy{})
	wantNoErr(t, "prune", err)
	assert.Equal(t, "held", ask[string](t, p, `SELECT string_agg(id, ',') FROM weft.cp_thread`))
}

func TestTagsAreMovedCopiedAndRemoved(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newPlace(t).open(t)
	putAll(t, store, "t", 3)
	at := func(n int) checkpoint.Key { return checkpoint.Key{Thread: "t", ID: stepID(n)} }
	wantNoErr(t, "tag", store.Tag(ctx, at(1), "start"))
	wantNoErr(t, "tag", store.Tag(ctx, at(1), "good"))
	wantNoErr(t, "move", store.Tag(ctx, at(2), "good"))
	wantErr(t, "missing", store.Tag(ctx, at(9), "good"), checkpoint.ErrNotFound)
	wantErr(t, "no tag", store.Tag(ctx, at(1), ""), checkpoint.ErrInvalid)
	wantErr(t, "no id", store.Tag(ctx, checkpoint.Key{Thread: "t"}, "x"), checkpoint.ErrInvalid)
	want := func(thread string, tags map[string]int) {
		t.Helper()
		got, err := store.Tags(ctx, thread)
		require.NoError(t, err)
		assert.Len(t, got, len(tags))
		for name, n := range tags {
			assert.Equal(t, stepID(n), got[name].ID, name)
			assert.Equal(t, thread, got[name].Thread, name)
		}
	}
	want("t", map[string]int{"start": 1, "good": 2})
	wantNoErr(t, "copy", store.CopyThread(ctx, "t", "copy"))
	want("copy", map[string]int{"start": 1, "good": 2})
	wantNoErr(t, "untag", store.Untag(ctx, "t", "good"))
	wantNoErr(t, "untag what is not there", store.Untag(ctx, "t", "good"))
	want("t", map[string]int{"start": 1})
	wantNoErr(t, "delete runs", store.DeleteRuns(ctx, "t", "run"))
	want("t", nil)
}
