package checkpoint_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
)

// A crashingStore simulates a process that is killed. Each change decrements left. The
// change that makes left zero, and every later change, returns errCrashed. If late is set,
// the change that makes left zero takes effect all the same.
type crashingStore struct {
	*innerStore
	left int
	late bool
	tags map[string]map[string]checkpoint.Key
}

var errCrashed = errors.New("the process was killed")

func (s *crashingStore) change(do func() error) error {
	if s.left <= 0 {
		return errCrashed
	}
	if s.left--; s.left > 0 {
		return do()
	}
	if s.late {
		_ = do()
	}
	return errCrashed
}

func (s *crashingStore) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	return s.change(func() error { return s.innerStore.Put(ctx, c, head) })
}

func (s *crashingStore) PutWrites(ctx context.Context, k checkpoint.Key, w []checkpoint.Write) error {
	return s.change(func() error { return s.innerStore.PutWrites(ctx, k, w) })
}

func (s *crashingStore) DeleteThread(ctx context.Context, thread string) error {
	return s.change(func() error {
		delete(s.tags, thread)
		return s.innerStore.DeleteThread(ctx, thread)
	})
}

func (s *crashingStore) DeleteRuns(ctx context.Context, thread string, runs ...string) error {
	return s.change(func() error { return s.innerStore.DeleteRuns(ctx, thread, runs...) })
}

func (s *crashingStore) CopyThread(ctx context.Context, from, to string) error {
	return s.change(func() error {
		err := s.innerStore.CopyThread(ctx, from, to)
		for tag, k := range s.tags[from] {
			k.Thread = to
			err = errors.Join(err, s.put(k, tag))
		}
		return err
	})
}

func (s *crashingStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	lease, err := s.innerStore.Lease(ctx, thread)
	if err != nil {
		return nil, err
	}
	return &crashingLease{crashingStore: s, lease: lease}, nil
}

type crashingLease struct {
	*crashingStore
	lease checkpoint.Lease
}

func (l *crashingLease) Release(ctx context.Context) error { return l.lease.Release(ctx) }

func (s *crashingStore) Tag(_ context.Context, k checkpoint.Key, tag string) error {
	return s.change(func() error { return s.put(k, tag) })
}

func (s *crashingStore) put(k checkpoint.Key, tag string) error {
	if s.tags[k.Thread] == nil {
		s.tags[k.Thread] = map[string]checkpoint.Key{}
	}
	s.tags[k.Thread][tag] = k
	return nil
}

func (s *crashingStore) Tags(_ context.Context, thread string) (map[string]checkpoint.Key, error) {
	return s.tags[thread], nil
}

// oldStore returns a store with the threads of putOldForm and a thread "t". Thread "thread"
// has a tag. Thread "t" has form 2 and the old key, and checkpoints were removed from it.
func oldStore(t *testing.T) *crashingStore {
	t.Helper()
	s := &crashingStore{innerStore: newInner(), tags: map[string]map[string]checkpoint.Key{}}
	putOldForm(t, s.innerStore)
	require.NoError(t, s.put(checkpoint.Key{Thread: "thread", ID: "4"}, "good"))
	newForm := mustEncrypt(t, s.innerStore, oldRing())
	putThread(t, newForm)
	_, err := newForm.Prune(t.Context(), checkpoint.PrunePolicy{Threads: []string{"t"}, KeepLast: 3})
	require.NoError(t, err)
	return s
}

// readAll returns every checkpoint of every thread, and for each thread the ids of its
// checkpoints in the order of List.
func readAll(t *testing.T, s *checkpoint.EncryptedStore) (map[checkpoint.Key]checkpoint.Checkpoint, map[string][]string) {
	t.Helper()
	all, order := map[checkpoint.Key]checkpoint.Checkpoint{}, map[string][]string{}
	for info, err := range s.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		list, err := listAll(t.Context(), s, info.ID)
		require.NoError(t, err)
		for _, c := range list {
			order[info.ID] = append(order[info.ID], c.ID)
		}
		for k, c := range getAll(t.Context(), t, s, info.ID) {
			c.Time = time.Unix(0, c.Time.UnixNano())
			all[k] = c
		}
	}
	return all, order
}

// wantResealed checks that every checkpoint can be read with only the new key, that no
// temporary thread is left, and that the tag remains.
func wantResealed(t *testing.T, s *crashingStore, want map[checkpoint.Key]checkpoint.Checkpoint, order map[string][]string) {
	t.Helper()
	got, gotOrder := readAll(t, mustEncrypt(t, s.innerStore, ring("new")))
	assert.Equal(t, order, gotOrder)
	require.Len(t, got, len(want))
	for k, c := range want {
		assert.Equal(t, c, got[k])
	}
	for info, err := range s.innerStore.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		assert.Contains(t, []string{"other", "t", "thread"}, info.ID)
	}
	assert.Equal(t, map[string]checkpoint.Key{"good": {Thread: "thread", ID: "4"}}, s.tags["thread"])
}

func TestResealReplacesKeysAndForms(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := oldStore(t)
	want, order := readAll(t, mustEncrypt(t, s.innerStore, oldRing()))
	s.left = 1000
	store := mustEncrypt(t, s, oldRing("new"))

	result, err := store.Reseal(ctx, checkpoint.ResealOptions{DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, checkpoint.ResealResult{Threads: 3, Resealed: 3}, result)
	wantStored(t, mustEncrypt(t, s.innerStore, oldRing()))

	var seen []checkpoint.ResealProgress
	result, err = store.Reseal(ctx, checkpoint.ResealOptions{Progress: func(p checkpoint.ResealProgress) { seen = append(seen, p) }})
	require.NoError(t, err)
	assert.Equal(t, checkpoint.ResealResult{Threads: 3, Resealed: 3}, result)
	assert.Equal(t, []checkpoint.ResealProgress{
		{Thread: "other", Checkpoints: 1, Resealed: true, Done: 1, Total: 3},
		{Thread: "t", Checkpoints: 4, Resealed: true, Done: 2, Total: 3},
		{Thread: "thread", Checkpoints: 4, Resealed: true, Done: 3, Total: 3},
	}, seen)
	wantResealed(t, s, want, order)

	// A second Reseal changes nothing.
	left := s.left
	result, err = store.Reseal(ctx, checkpoint.ResealOptions{})
	require.NoError(t, err)
	assert.Equal(t, checkpoint.ResealResult{Threads: 3}, result)
	assert.Equal(t, left, s.left, "it changes nothing")

	// The threads can be continued, also with a store that has cached their digests.
	for id, head := range map[string]string{"thread": "6", "t": "5"} {
		next := threadStep("z", head, 9)
		next.Thread = id
		require.NoError(t, store.Put(ctx, next, head))
		_, err = store.Get(ctx, checkpoint.Key{Thread: id})
		require.NoError(t, err)
	}
}

func TestResealContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		crashes := 0
		for n := 1; ; n++ {
			s := oldStore(t)
			want, order := readAll(t, mustEncrypt(t, s.innerStore, oldRing()))
			s.left, s.late = n, late
			_, err := mustEncrypt(t, s, oldRing("new")).Reseal(t.Context(), checkpoint.ResealOptions{})
			if err == nil {
				break
			}
			crashes++
			require.ErrorIs(t, err, errCrashed)
			s.left = n/2 + 1 // crash while recovering
			_, _ = mustEncrypt(t, s, oldRing("new")).Reseal(t.Context(), checkpoint.ResealOptions{})
			s.left, s.late = 1000, false
			_, err = mustEncrypt(t, s, oldRing("new")).Reseal(t.Context(), checkpoint.ResealOptions{})
			require.NoError(t, err, "after a crash at change %d", n)
			wantResealed(t, s, want, order)
			require.False(t, t.Failed(), "after a crash at change %d, late %v", n, late)
		}
		assert.Greater(t, crashes, 20)
	}
}

func TestResealNamesTheMissingKeyAndContinues(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := oldStore(t)
	s.left = 1000
	later := threadStep("1", "", 0)
	later.Thread = "with-next"
	require.NoError(t, mustEncrypt(t, s, ring("next")).Put(ctx, later, ""))
	keys := ring("new", "next")
	for _, dry := range []bool{true, false} {
		result, err := mustEncrypt(t, s, keys).Reseal(ctx, checkpoint.ResealOptions{DryRun: dry})
		require.ErrorIs(t, err, checkpoint.ErrDecrypt)
		assert.ErrorContains(t, err, `key "old"`)
		assert.Equal(t, checkpoint.ResealResult{Threads: 4, Resealed: 1, Failed: 3}, result)
	}
	wantStored(t, mustEncrypt(t, s.innerStore, oldRing()))
}

// A faultyList lists one thread with an error.
type faultyList struct {
	*crashingStore
	thread string
}

func (s faultyList) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		for info, err := range s.crashingStore.ListThreads(ctx, prefix) {
			if info.ID == s.thread {
				err = checkpoint.ErrCorrupt
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// Reseal encrypts every thread again, even if ListThreads yields one with an error.
func TestResealGoesOnAfterAFaultInTheList(t *testing.T) {
	t.Parallel()
	s := oldStore(t)
	s.left = 1000
	var threads []string
	for info, err := range s.ListThreads(t.Context(), "") {
		require.NoError(t, err)
		threads = append(threads, info.ID)
	}
	result, err := mustEncrypt(t, faultyList{s, threads[0]}, oldRing("new")).Reseal(t.Context(), checkpoint.ResealOptions{})
	require.NoError(t, err)
	assert.Equal(t, checkpoint.ResealResult{Threads: len(threads), Resealed: len(threads)}, result)
}

func TestResealSkipsAThreadThatARunHolds(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := oldStore(t)
	s.left = 1000
	lease, err := s.innerStore.Lease(ctx, "thread")
	require.NoError(t, err)
	store := mustEncrypt(t, s, oldRing("new"))
	result, err := store.Reseal(ctx, checkpoint.ResealOptions{})
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	assert.Equal(t, checkpoint.ResealResult{Threads: 3, Resealed: 2, Busy: 1}, result)
	wantStored(t, store)
	require.NoError(t, lease.Release(ctx))
	_, err = store.Reseal(ctx, checkpoint.ResealOptions{})
	require.NoError(t, err)
}

// A lateWriter calls write once, before the first Put. In a Reseal, the thread has then
// been read but not replaced.
type lateWriter struct {
	*innerStore
	write func()
}

func (s *lateWriter) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	if s.write != nil {
		s.write()
		s.write = nil
	}
	return s.innerStore.Put(ctx, c, head)
}

func TestResealLeavesAThreadThatWasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := &lateWriter{innerStore: newInner()}
	putOldForm(t, s.innerStore)
	s.write = func() {
		writes := []checkpoint.Write{{Task: "late", Channel: "c", Data: []byte("late")}}
		require.NoError(t, mustEncrypt(t, s.innerStore, oldRing()).PutWrites(ctx, checkpoint.Key{Thread: "thread", ID: "6"}, writes))
	}
	store := mustEncrypt(t, s, oldRing("new"))
	_, err := store.Reseal(ctx, checkpoint.ResealOptions{Prefix: "thread"})
	require.ErrorIs(t, err, checkpoint.ErrConflict)
	_, err = store.Reseal(ctx, checkpoint.ResealOptions{Prefix: "thread"})
	require.NoError(t, err)
	six, err := mustEncrypt(t, s, ring("new")).Get(ctx, checkpoint.Key{Thread: "thread"})
	require.NoError(t, err)
	assert.Len(t, six.Writes, 4)
}

// If a new thread takes the id of a thread that an interrupted Reseal deleted, the next
// Reseal keeps both threads.
func TestResealKeepsBothThreadsOfOneID(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	found := false
	for n := 1; n < 100 && !found; n++ {
		s := oldStore(t)
		s.left = n
		_, err := mustEncrypt(t, s, oldRing("new")).Reseal(ctx, checkpoint.ResealOptions{Prefix: "thread"})
		if err == nil {
			break
		}
		if _, err := s.innerStore.Get(ctx, checkpoint.Key{Thread: "thread"}); err == nil {
			continue
		}
		found = true
		s.left = 1000
		store := mustEncrypt(t, s, oldRing("new"))
		fresh := threadStep("fresh", "", 0)
		fresh.Thread = "thread"
		require.NoError(t, store.Put(ctx, fresh, ""))
		_, err = store.Reseal(ctx, checkpoint.ResealOptions{})
		require.ErrorIs(t, err, checkpoint.ErrConflict)
		assert.ErrorContains(t, err, `"weft-reseal/thread"`)
		got, err := store.Get(ctx, checkpoint.Key{Thread: "thread"})
		require.NoError(t, err)
		assert.Equal(t, "fresh", got.ID)
		require.NoError(t, store.DeleteThread(ctx, "thread"))
		_, err = store.Reseal(ctx, checkpoint.ResealOptions{})
		require.NoError(t, err)
		wantStored(t, mustEncrypt(t, s.innerStore, ring("new")))
	}
	assert.True(t, found, "no crash left the thread missing")
}

func TestResealNeedsItsPowers(t *testing.T) {
	t.Parallel()
	store := mustEncrypt(t, struct{ checkpoint.Store }{newInner()}, ring("a"))
	_, err := store.Reseal(t.Context(), checkpoint.ResealOptions{})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}

// Reseal encrypts a thread again even if only a removed ancestor has values with an old key.
func TestResealFindsOldValuesOfRemovedAncestors(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	inner := newInner()
	old := threadStep("1", "", 0)
	require.NoError(t, mustEncrypt(t, inner, ring("old")).Put(ctx, old, ""))
	store := mustEncrypt(t, inner, ring("new", "old"))
	require.NoError(t, store.Put(ctx, threadStep("2", "1", 1), "1"))
	_, err := store.Prune(ctx, checkpoint.PrunePolicy{})
	require.NoError(t, err)
	result, err := store.Reseal(ctx, checkpoint.ResealOptions{})
	require.NoError(t, err)
	assert.Equal(t, 1, result.Resealed)
	got, err := mustEncrypt(t, inner, ring("new")).Get(ctx, checkpoint.Key{Thread: "t"})
	require.NoError(t, err)
	assert.True(t, slices.Contains(lineageData(got.Lineage), "first 1"))
}
