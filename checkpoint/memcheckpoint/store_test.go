package memcheckpoint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
)

func newStore() *memcheckpoint.Store { return memcheckpoint.New(memcheckpoint.Options{}) }

func uuid(n int) string { return fmt.Sprintf("0190b5e4-7c1a-7e2f-8a3b-%012x", n) }

// putChain puts n checkpoints with the ids uuid(0) to uuid(n-1), each with one
// small change.
func putChain(tb testing.TB, store checkpoint.Store, thread string, n int) {
	tb.Helper()
	data := []byte(`[{"id":"m-00000000","role":"tool","text":"0123456789abcdef01234"}]`)
	head := ""
	for i := range n {
		c := checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: thread, ID: uuid(i)},
			Parent:  head,
			Step:    i,
			Source:  checkpoint.Loop,
			Run:     uuid(1 << 40),
			Version: "1",
			Control: []byte(`{"next":["tools"]}`),
			Changes: []checkpoint.Change{{Channel: "messages", Kind: 2, Data: data}},
		}
		require.NoError(tb, store.Put(context.Background(), c, head))
		head = c.ID
	}
}

func TestCheckpointTimesAreExactAndSurvivePrune(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, store := t.Context(), newStore()
		var want []time.Time
		head := ""
		for i, pause := range []time.Duration{0, time.Nanosecond, time.Millisecond, 99 * time.Millisecond, time.Second, 48 * time.Hour, time.Microsecond} {
			time.Sleep(pause)
			c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: uuid(i)}, Parent: head}
			require.NoError(t, store.Put(ctx, c, head))
			head = c.ID
			want = append(want, time.Now())
		}
		for i, w := range want {
			got, err := store.Get(ctx, checkpoint.Key{Thread: "t", ID: uuid(i)})
			require.NoError(t, err)
			assert.True(t, got.Time.Equal(w), "time of checkpoint %d: got %v want %v", i, got.Time, w)
		}
		removed, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepFor: 24 * time.Hour})
		require.NoError(t, err)
		assert.Equal(t, 5, removed)
		for info, err := range store.ListThreads(ctx, "") {
			require.NoError(t, err)
			assert.Equal(t, 2, info.Checkpoints)
			assert.True(t, info.Created.Equal(want[0]), "created: got %v want %v", info.Created, want[0])
			assert.True(t, info.Updated.Equal(want[6]), "updated: got %v want %v", info.Updated, want[6])
		}
	})
}

func TestListPagesThroughCheckpointsOfOneInstant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		putChain(t, store, "t", 50)
		q := checkpoint.Query{Thread: "t", Limit: 1}
		for i := 49; i >= 0; i-- {
			for c, err := range store.List(t.Context(), q) {
				require.NoError(t, err)
				require.Equal(t, uuid(i), c.ID)
				q.Before = c.ID
			}
		}
	})
}

func TestConcurrentRemovalLosesNoAcknowledgedCheckpoint(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), newStore()
	const rounds = 100
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := range rounds {
				putAfterNewest(t, store, fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	wait.Go(func() {
		for i := range rounds {
			var err error
			switch i % 4 {
			case 0:
				err = store.DeleteThread(ctx, "t")
			case 1:
				err = store.DeleteRuns(ctx, "t", "0", "1", "2", "3")
			case 2:
				_, err = store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 3})
			case 3:
				if err = store.CopyThread(ctx, "t", "copy"+strconv.Itoa(i)); errors.Is(err, checkpoint.ErrNotFound) {
					err = nil
				}
			}
			assert.NoError(t, err)
		}
	})
	wait.Go(func() {
		for range rounds {
			for _, err := range store.List(ctx, checkpoint.Query{Thread: "t", Writes: true}) {
				assert.NoError(t, err)
			}
			for _, err := range store.ListThreads(ctx, "") {
				assert.NoError(t, err)
			}
		}
	})
	wait.Wait()
	require.NoError(t, store.DeleteThread(ctx, "t"))
	for info, err := range store.ListThreads(ctx, "t") {
		assert.Fail(t, "a thread remains after DeleteThread", "%+v, error %v", info, err)
	}
}

// putAfterNewest puts a checkpoint after the newest checkpoint of thread t and
// checks the lineage that it finds there.
func putAfterNewest(t *testing.T, store *memcheckpoint.Store, id string) {
	t.Helper()
	ctx := context.Background()
	for {
		newest, err := store.Get(ctx, checkpoint.Key{Thread: "t"})
		if !errors.Is(err, checkpoint.ErrNotFound) && !assert.NoError(t, err) {
			return
		}
		for _, d := range newest.Lineage {
			assert.Equal(t, d.ID, string(d.Changes[0].Data))
		}
		c := checkpoint.Checkpoint{
			Key:     checkpoint.Key{Thread: "t", ID: id},
			Parent:  newest.ID,
			Run:     id[:1],
			Changes: []checkpoint.Change{{Channel: "id", Data: []byte(id)}},
		}
		err = store.Put(ctx, c, newest.ID)
		if !errors.Is(err, checkpoint.ErrConflict) {
			assert.NoError(t, err)
			if assert.NoError(t, ignoreNotFound(store.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: "task"}}))) {
				return
			}
		}
	}
}

func ignoreNotFound(err error) error {
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	return err
}

func TestListSkipsCheckpointsRemovedWhileItRuns(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	tests := []struct {
		name   string
		remove func(*memcheckpoint.Store) error
		want   []string
	}{
		{
			name:   "deleted thread",
			remove: func(s *memcheckpoint.Store) error { return s.DeleteThread(ctx, "t") },
			want:   []string{uuid(2)},
		},
		{
			name:   "deleted run",
			remove: func(s *memcheckpoint.Store) error { return s.DeleteRuns(ctx, "t", "run0") },
			want:   []string{uuid(2), uuid(1)},
		},
		{
			name: "pruned thread",
			remove: func(s *memcheckpoint.Store) error {
				_, err := s.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 2})
				return err
			},
			want: []string{uuid(2), uuid(1)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, head := newStore(), ""
			for i := range 3 {
				c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: uuid(i)}, Parent: head, Run: fmt.Sprint("run", i)}
				require.NoError(t, store.Put(ctx, c, head))
				require.NoError(t, store.PutWrites(ctx, c.Key, []checkpoint.Write{{Task: "task", Data: []byte(c.Run)}}))
				head = c.ID
			}
			var got []string
			for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", Writes: true}) {
				require.NoError(t, err)
				require.Len(t, c.Writes, 1)
				assert.Equal(t, c.Run, string(c.Writes[0].Data))
				if len(got) == 0 {
					require.NoError(t, tt.remove(store))
				}
				got = append(got, c.ID)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestCopyIsIndependentOfRemovalsInItsSource(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), newStore()
	putChain(t, store, "source", 10)
	_, err := store.Prune(ctx, checkpoint.PrunePolicy{KeepLast: 5})
	require.NoError(t, err)
	require.NoError(t, store.CopyThread(ctx, "source", "copy"))
	_, err = store.Prune(ctx, checkpoint.PrunePolicy{Threads: []string{"source"}})
	require.NoError(t, err)

	c, err := store.Get(ctx, checkpoint.Key{Thread: "copy", ID: uuid(7)})
	require.NoError(t, err)
	assert.Equal(t, uuid(6), c.Parent)
	assert.Equal(t, `{"next":["tools"]}`, string(c.Control))
	assert.Len(t, c.Lineage, 8)
}

func TestPruneRemovesCallsWithoutTheirCaller(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), newStore()
	put := func(namespace, id, parent string) {
		c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", Namespace: namespace, ID: id}, Parent: parent}
		require.NoError(t, store.Put(ctx, c, parent))
	}
	put("", "root", "")
	// Three namespaces belong to subgraph calls that cannot be resumed: one call was made at
	// a checkpoint of such a call, one at a checkpoint that does not exist, and one at a
	// checkpoint with an empty id.
	put("a@none/b@inner", "nested", "")
	put("a@none", "inner", "")
	put("a@", "unnamed", "")
	put("a@root", "kept", "")

	removed, err := store.Prune(ctx, checkpoint.PrunePolicy{})
	require.NoError(t, err)
	assert.Equal(t, 3, removed)
	var got []string
	for c, err := range store.List(ctx, checkpoint.Query{Thread: "t", AllNamespaces: true}) {
		require.NoError(t, err)
		got = append(got, c.ID)
	}
	assert.Equal(t, []string{"kept", "root"}, got)
}

func TestRandomSizesComeBackUnchanged(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), newStore()
	random := rand.New(rand.NewPCG(1, 1))
	value := func(most int) []byte {
		b := make([]byte, 1+random.IntN(most))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	var put []checkpoint.Checkpoint
	head := ""
	for i := range 300 {
		c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: uuid(i)}, Parent: head, Step: i * 1000, Control: value(700)}
		for range random.IntN(4) {
			c.Changes = append(c.Changes, checkpoint.Change{
				Channel: "ch" + strconv.Itoa(random.IntN(30)), Kind: byte(i), Data: value(1 << random.IntN(15)),
			})
		}
		if i%50 == 7 {
			c.Snapshot = []checkpoint.Change{{Channel: "s", Data: value(40_000)}}
		}
		require.NoError(t, store.Put(ctx, c, head))
		put, head = append(put, c), c.ID
	}
	for _, want := range put {
		got, err := store.Get(ctx, want.Key)
		require.NoError(t, err)
		got.Time, got.Lineage = time.Time{}, nil
		require.Equal(t, want, got)
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The memory of removed checkpoints is freed. The test is not parallel because it measures
// the heap.
func TestRemovedCheckpointsAreFreed(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name   string
		remove func(*memcheckpoint.Store) error
	}{
		{name: "pruned one by one", remove: func(s *memcheckpoint.Store) error {
			for keep := 99; keep >= 1; keep-- {
				if _, err := s.Prune(ctx, checkpoint.PrunePolicy{KeepLast: keep}); err != nil {
					return err
				}
			}
			return nil
		}},
		{name: "deleted", remove: func(s *memcheckpoint.Store) error { return s.DeleteThread(ctx, "t") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := newStore()
			lease, err := store.Lease(ctx, "t")
			require.NoError(t, err)
			before, head := heapInUse(), ""
			for i := range 100 {
				c := checkpoint.Checkpoint{
					Key: checkpoint.Key{Thread: "t", ID: uuid(i)}, Parent: head,
					Snapshot: []checkpoint.Change{{Channel: "c", Data: make([]byte, 64<<10)}},
				}
				require.NoError(t, lease.Put(ctx, c, head))
				head = c.ID
			}
			require.NoError(t, tt.remove(store))
			assert.Less(t, heapInUse()-before, int64(1<<20), "bytes kept of 6.4 MB")
			runtime.KeepAlive(store)
			runtime.KeepAlive(lease)
		})
	}
}

// A small checkpoint takes less than 450 bytes of the heap in a thread of 12 checkpoints, and
// less than 350 bytes in a longer thread. The test is not parallel because it measures the
// heap.
func TestHeapPerCheckpointIsSmall(t *testing.T) {
	for _, tt := range []struct {
		checkpoints int
		most        float64
	}{{12, 450}, {100, 350}, {1000, 350}, {10_000, 350}} {
		n := tt.checkpoints
		threads := max(1, 20_000/n)
		store := newStore()
		before := heapInUse()
		for i := range threads {
			putChain(t, store, strconv.Itoa(i), n)
		}
		got := float64(heapInUse()-before) / float64(n*threads)
		runtime.KeepAlive(store)
		t.Logf("%d checkpoints a thread: %.0f bytes each", n, got)
		assert.Less(t, got, tt.most, "bytes per checkpoint, in threads of %d checkpoints", n)
	}
}

// Put makes at most 8 allocations, in a short thread and in a long one. The test is not
// parallel because it counts allocations.
func TestPutAllocatesTheSameInLongThreads(t *testing.T) {
	ctx := context.Background()
	for _, n := range []int{100, 20_000} {
		store := newStore()
		putChain(t, store, "t", n)
		head, next := uuid(n-1), n
		got := testing.AllocsPerRun(100, func() {
			c := checkpoint.Checkpoint{Key: checkpoint.Key{Thread: "t", ID: uuid(next)}, Parent: head, Changes: []checkpoint.Change{{Data: []byte("1")}}}
			next++
			require.NoError(t, store.Put(ctx, c, head))
			head = c.ID
		})
		assert.LessOrEqual(t, got, 8.0, "allocations of one Put after %d checkpoints", n)
	}
}

// PutWrites allocates less than three times as many bytes for a checkpoint with 90,000
// pending writes as for a checkpoint with few. The test is not parallel because it counts
// allocations.
func TestPutWritesAllocatesTheSameWithManyPending(t *testing.T) {
	ctx, store := context.Background(), newStore()
	putChain(t, store, "t", 1)
	k := checkpoint.Key{Thread: "t", ID: uuid(0)}
	var before, after runtime.MemStats
	put := func(from, to int) float64 {
		runtime.ReadMemStats(&before)
		for i := from; i < to; i++ {
			require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "task", Index: i, Data: []byte("result")}}))
		}
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / float64(to-from)
	}
	few := put(0, 10_000)
	put(10_000, 90_000)
	many := put(90_000, 100_000)
	assert.Less(t, many, 3*few, "bytes allocated for one write with 90,000 pending")

	c, err := store.Get(ctx, k)
	require.NoError(t, err)
	require.Len(t, c.Writes, 100_000)
	assert.True(t, slices.IsSortedFunc(c.Writes, func(a, b checkpoint.Write) int { return a.Index - b.Index }))
}

// Get makes at most 20 allocations, for few pending writes and for many. The test is not
// parallel because it counts allocations.
func TestGetAllocatesTheSameWithManyPending(t *testing.T) {
	ctx, store := context.Background(), newStore()
	putChain(t, store, "t", 1)
	k := checkpoint.Key{Thread: "t", ID: uuid(0)}
	for _, n := range []int{10, 1_000} {
		for i := range n {
			require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "ask[" + strconv.Itoa(i) + "]", Channel: "$ask", Data: []byte("question")}}))
		}
		got := testing.AllocsPerRun(10, func() {
			c, err := store.Get(ctx, k)
			require.NoError(t, err)
			require.Len(t, c.Writes, n)
		})
		assert.LessOrEqual(t, got, 20.0, "allocations of one Get with %d pending writes", n)
	}
}

// A pending write that replaces an earlier one does not change a copy of the thread, nor a
// checkpoint that was read before. Appending to the data of one write does not change
// another write.
func TestPendingWritesOfACopyAreItsOwn(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), newStore()
	putChain(t, store, "t", 1)
	k := checkpoint.Key{Thread: "t", ID: uuid(0)}
	want := []checkpoint.Write{{Task: "a", Channel: "c", Data: []byte("1")}, {Task: "b", Channel: "c", Data: []byte("2")}}
	require.NoError(t, store.PutWrites(ctx, k, want))
	require.NoError(t, store.CopyThread(ctx, "t", "copy"))
	read, err := store.Get(ctx, k)
	require.NoError(t, err)

	require.NoError(t, store.PutWrites(ctx, k, []checkpoint.Write{{Task: "b", Channel: "c", Data: []byte("3")}, {Task: "aa", Channel: "c"}}))
	_ = append(read.Writes[0].Data, "xx"...)
	assert.Equal(t, want, read.Writes)
	copied, err := store.Get(ctx, checkpoint.Key{Thread: "copy", ID: uuid(0)})
	require.NoError(t, err)
	assert.Equal(t, want, copied.Writes)
	now, err := store.Get(ctx, k)
	require.NoError(t, err)
	assert.Equal(t, []checkpoint.Write{want[0], {Task: "aa", Channel: "c"}, {Task: "b", Channel: "c", Data: []byte("3")}}, now.Writes)
}
