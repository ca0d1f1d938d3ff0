package server

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
)

// During a long deletion, the server refuses runs and other deletions of the thread, and the time when the thread expires
// does not change.
func TestLongDeletionKeepsItsMark(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, thread := memruns.New(), threadRecord(uuid.New())
		thread.Expires = now().Add(time.Hour)
		require.NoError(t, store.Insert(t.Context(), thread))
		var deletions atomic.Int32
		failed := errors.New("the program could not remove its part")
		onDelete := func(o *Options) {
			o.ThreadTTL = TTL{After: 100 * time.Hour}
			o.OnDelete = func(context.Context, string) error {
				deletions.Add(1)
				time.Sleep(6 * deletingTime)
				return failed
			}
		}
		a, b := replicaOf(t, store, nil, onDelete), replicaOf(t, store, nil, onDelete)
		ended := make(chan error, 1)
		go func() { ended <- a.deleteThread(t.Context(), thread.ID, "") }()
		time.Sleep(5 * deletingTime)
		_, refused := errors.AsType[*Refusal](b.deleteThread(t.Context(), thread.ID, ""))
		assert.True(t, refused)
		_, refused = errors.AsType[*Refusal](b.setBusy(t.Context(), thread.ID, uuid.New()))
		assert.True(t, refused)
		require.ErrorIs(t, <-ended, failed)
		assert.Equal(t, int32(1), deletions.Load())
		got, err := store.Get(t.Context(), runs.Thread, thread.ID)
		require.NoError(t, err)
		assert.Equal(t, thread.Expires, got.Expires)
		require.NoError(t, checkDeleting(&got), "after the error the thread can be used again")
	})
}

// A server that stood still during a deletion does not continue the deletion if another server has begun to delete the
// thread.
func TestDeletionThatLostItsMarkEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, thread := memruns.New(), threadRecord(uuid.New())
		require.NoError(t, store.Insert(t.Context(), thread))
		s := replicaOf(t, store, nil, func(o *Options) {
			o.OnDelete = func(ctx context.Context, _ string) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		ended := make(chan error, 1)
		go func() { ended <- s.deleteThread(t.Context(), thread.ID, "") }()
		synctest.Wait()
		other := now().Add(time.Microsecond)
		_, err := s.change(t.Context(), runs.Thread, thread.ID, func(r *runs.Record) error {
			r.Data = encoded(threadData{Deleting: other})
			return nil
		})
		require.NoError(t, err)
		_, refused := errors.AsType[*Refusal](<-ended)
		assert.True(t, refused)
		got, err := store.Get(t.Context(), runs.Thread, thread.ID)
		require.NoError(t, err)
		var d threadData
		require.NoError(t, json.Unmarshal(got.Data, &d))
		assert.True(t, other.Equal(d.Deleting), "the mark of the other server stays")
	})
}

// A run whose thread was deleted meanwhile is removed, and is not executed again.
func TestRunWithoutAThreadIsRemoved(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]runs.JobKind{"due": runs.JobThread, "delayed": runs.JobRun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memruns.New()
				run := runRecord(uuid.New(), runData{})
				require.NoError(t, store.Insert(t.Context(), run))
				s := replicaOf(t, store, nil, nil)
				key := run.Parent
				if job == runs.JobRun {
					key = run.ID
				}
				require.NoError(t, s.work(t.Context(), runs.Job{Kind: job, Key: key}))
				_, err := store.Get(t.Context(), runs.Run, run.ID)
				require.ErrorIs(t, err, runs.ErrNotFound)
			})
		})
	}
}

// A delayed run is refused if its thread is deleted at the same time.
func TestDelayedRunOfADeletedThreadIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		insert bool
	}{"deleted": {}, "being deleted": {true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, thread := memruns.New(), threadRecord(uuid.New())
			if thread.Data = encoded(threadData{Deleting: now()}); c.insert { // the mark is valid for ten seconds
				require.NoError(t, store.Insert(t.Context(), thread))
			}
			s := replicaOf(t, store, nil, nil)
			run := runRecord(thread.ID, runData{After: now().Add(time.Hour)})
			_, err := s.startRun(t.Context(), run, s.graphs["words"])
			require.Error(t, err)
			_, err = store.Get(t.Context(), runs.Run, run.ID)
			require.ErrorIs(t, err, runs.ErrNotFound)
		})
	}
}
