package stored_test

import (
	"context"
	"iter"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// A damagedStore cannot read the thread b. Its list says so, if listed is set.
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

// A damaged thread is shown as an error, beside the other threads.
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
