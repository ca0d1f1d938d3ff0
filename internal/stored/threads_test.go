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
	"github.com/weft-go/weft/state"
)

// A damagedStore returns ErrCorrupt for the checkpoints of the thread b. If listed is set, its list of threads does too.
type damagedStore struct {
	*memcheckpoint.Store
	listed bool
}

func (s damagedStore) ListThreads(ctx context.Context, prefix string) iter.Seq2[checkpoint.ThreadInfo, error] {
	return func(yield func(checkpoint.ThreadInfo, error) bool) {
		for info, err := range s.Store.ListThreads(ctx, prefix) {
			if s.listed && info.ID == "b" {
				info, err = checkpoint.ThreadInfo{ID: "b"}, checkpoint.ErrCorrupt
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (s damagedStore) List(ctx context.Context, q checkpoint.Query) iter.Seq2[checkpoint.Checkpoint, error] {
	if q.Thread == "b" {
		return func(yield func(checkpoint.Checkpoint, error) bool) {
			yield(checkpoint.Checkpoint{}, checkpoint.ErrCorrupt)
		}
	}
	return s.Store.List(ctx, q)
}

// A damaged thread is listed with the status error, and the other threads with their own.
func TestADamagedThreadDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{false, true} {
		store := damagedStore{memcheckpoint.New(memcheckpoint.Options{}), listed}
		g := program(t, graph.Options{Checkpoints: store.Store})
		for _, id := range []string{"a", "b", "c"} {
			_, err := g.Thread(id).Invoke(t.Context(), topic.Put("tea"))
			require.NoError(t, err)
		}
		threads, err := stored.NewThreads(memruns.New(), store, func(id string) string { return id })
		require.NoError(t, err)
		found, n, err := threads.Search(t.Context(), runs.Query{Kind: runs.Thread})
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		status := map[string]string{}
		for _, r := range found {
			status[r.ID] = r.Status
		}
		assert.Equal(t, map[string]string{"a": "interrupted", "b": "error", "c": "interrupted"}, status)
	}
}

// The status of a thread that no server has stored follows its pending writes, even without a new checkpoint: a drained run
// leaves the thread busy, and the question of the next run interrupts it.
func TestTheStatusOfAThreadFollowsItsPendingWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memcheckpoint.New(memcheckpoint.Options{})
		ask := graph.NewInterrupt[string, string]("ask")
		ctx, drain := context.WithCancelCause(t.Context())
		b := graph.New("g", state.Last[string]("note"))
		b.Node("first", func(context.Context, state.View) (state.Update, error) {
			drain(graph.ErrDrained)
			return nil, nil
		})
		b.Node("second", func(ctx context.Context, _ state.View) (state.Update, error) {
			_, err := ask.Wait(ctx, "why?")
			return nil, err
		})
		b.Edge(graph.Start, "first")
		b.Edge("first", "second")
		g, err := b.Compile(graph.Options{Checkpoints: store})
		require.NoError(t, err)
		threads, err := stored.NewThreads(memruns.New(), store, func(thread string) string { return thread })
		require.NoError(t, err)
		status := func() string {
			time.Sleep(time.Minute)
			r, err := threads.Get(t.Context(), runs.Thread, "t")
			require.NoError(t, err)
			return r.Status
		}
		_, err = g.Thread("t").Invoke(ctx, graph.Begin())
		require.ErrorIs(t, err, graph.ErrDrained)
		assert.Equal(t, stored.Busy, status())
		snap, err := g.Thread("t").Invoke(t.Context())
		require.NoError(t, err)
		require.Len(t, snap.Pauses, 1)
		assert.Equal(t, stored.Interrupted, status())
		require.NoError(t, stored.Answer(t.Context(), store, "t", snap.Pauses[0].ID, []byte(`"so"`)))
		assert.Equal(t, stored.Busy, status())
	})
}
