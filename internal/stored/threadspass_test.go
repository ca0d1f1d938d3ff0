package stored_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A heldStore calls before, if not nil, before it reads the checkpoints of a thread.
type heldStore struct {
	*memcheckpoint.Store
	before *func()
	reads  *int
}

func (s heldStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	*s.reads++
	if *s.before != nil {
		(*s.before)()
	}
	if err := ctx.Err(); err != nil {
		return func(yield func(checkpoint.Checkpoint, error) bool) { yield(checkpoint.Checkpoint{}, err) }
	}
	return s.Store.List(ctx, q)
}

// waitingThreads returns the threads a, b, c and d, which wait for an answer, and a function that lists them.
func waitingThreads(t *testing.T) (s heldStore, threads *stored.Threads, list func(context.Context) (int, error)) {
	t.Helper()
	s = heldStore{memcheckpoint.New(memcheckpoint.Options{}), new(func()), new(int)}
	g := program(t, graph.Options{Checkpoints: s.Store})
	for _, id := range []string{"a", "b", "c", "d"} {
		_, err := g.Thread(id).Invoke(t.Context(), topic.Put("tea"))
		require.NoError(t, err)
	}
	threads, err := stored.NewThreads(memruns.New(), s, func(id string) string { return id })
	require.NoError(t, err)
	return s, threads, func(ctx context.Context) (int, error) {
		_, n, err := threads.Search(ctx, runs.Query{Kind: runs.Thread})
		return n, err
	}
}

// While one call reads the threads, another call returns the threads of the last pass. After a change through the same store,
// it waits until the threads are read again.
func TestAListDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, threads, list := waitingThreads(t)
		n, err := list(t.Context())
		require.NoError(t, err)
		require.Equal(t, 4, n)
		time.Sleep(time.Minute)
		held := make(chan struct{})
		*s.before = func() { <-held }
		first, second := make(chan int, 1), make(chan int, 1)
		listTo := func(to chan int) {
			n, err := list(t.Context())
			assert.NoError(t, err)
			to <- n
		}
		go listTo(first)
		synctest.Wait()
		n, err = list(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 4, n)
		assert.Empty(t, first, "the first call still reads")

		require.NoError(t, threads.Insert(t.Context(), runs.Record{Kind: runs.Thread, ID: "e", Status: stored.Interrupted}))
		go listTo(second)
		synctest.Wait()
		assert.Empty(t, second, "the change of the caller is not read yet")
		close(held)
		assert.Equal(t, 4, <-first)
		assert.Equal(t, 5, <-second)
	})
}

// A call that ends before it has read all threads leaves the rest to the next one.
func TestAListGoesOnWhereTheLastOneEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, list := waitingThreads(t)
		*s.reads = 0
		for range 2 { // first without known threads, then with all threads known
			ctx, cancel := context.WithCancel(t.Context())
			*s.before = func() {
				if *s.reads == 3 {
					cancel()
				}
			}
			_, err := list(ctx)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 3, *s.reads)
			n, err := list(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 4, n)
			assert.Equal(t, 5, *s.reads, "the third and the fourth thread were left")
			time.Sleep(time.Minute)
			*s.reads = 0
		}
	})
}
