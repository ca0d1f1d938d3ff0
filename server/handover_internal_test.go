package server

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// If a replica does not have the graph of a run, it hands the job over, and the run waits for a replica that has the
// graph.
func TestReplicaWithoutTheGraphHandsTheRunOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, thread := memruns.New(), threadRecord(uuid.New())
		run := runRecord(thread.ID, runData{})
		run.Graph = "new"
		require.NoError(t, store.Insert(t.Context(), thread, run))
		s := replicaOf(t, store, nil, nil)
		job := runs.Job{Kind: runs.JobThread, Key: thread.ID}
		err := s.work(t.Context(), job)
		require.ErrorIs(t, err, runs.ErrHandOver)
		later, ok := errors.AsType[*runs.HandOverError](err)
		require.True(t, ok, "the job would be tried again at once: %v", err)
		assert.GreaterOrEqual(t, later.After, time.Second)
		got, err := store.Get(t.Context(), runs.Run, run.ID)
		require.NoError(t, err)
		assert.Equal(t, runPending, got.Status)
		assert.Equal(t, int64(1), got.Revision, "the replica has claimed the run")

		// If a client cancels such a run, the run ends without the graph.
		got.Status = runRunning
		_, err = store.Update(t.Context(), got)
		require.NoError(t, err)
		require.NoError(t, s.cancelStored(t.Context(), run.ID, interruptRun))
		require.NoError(t, s.work(t.Context(), job))
		got, err = store.Get(t.Context(), runs.Run, run.ID)
		require.NoError(t, err)
		assert.Equal(t, runInterrupted, got.Status)
	})
}

// A replica without the graph of a run does not execute a rollback of the run, because it cannot remove the checkpoints.
// The rollback waits for a replica that has the graph.
func TestReplicaWithoutTheGraphLeavesARollbackToAnother(t *testing.T) {
	t.Parallel()
	for _, status := range []string{runRunning, runPending} { // the server of the run has died, or was shut down
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			store, thread, g := memruns.New(), threadRecord(uuid.New()), wordGraph(t, func(context.Context, state.View) (state.Update, error) {
				return state.Update{words.Put("done")}, nil
			})
			run := runRecord(thread.ID, runData{Attempt: 1, Found: []foundWrites{{}}})
			run.Status = status
			require.NoError(t, store.Insert(t.Context(), thread, run))
			_, err := g.Thread(thread.ID).With(graph.RunOptions{Metadata: map[string]string{metaRun: run.ID}}).Invoke(t.Context(), words.Put("x"))
			require.NoError(t, err)

			other := replicaOf(t, store, nil, func(o *Options) {
				o.Graphs = map[string]*graph.Graph{"other": o.Graphs["words"]}
			})
			job := runs.Job{Kind: runs.JobThread, Key: thread.ID}
			require.NoError(t, other.cancelStored(t.Context(), run.ID, rollbackRun))
			require.ErrorIs(t, other.work(t.Context(), job), runs.ErrHandOver)
			_, err = store.Get(t.Context(), runs.Run, run.ID)
			require.NoError(t, err, "the run has ended")

			one := replicaOf(t, store, nil, func(o *Options) { o.Graphs = map[string]*graph.Graph{"words": g} })
			require.NoError(t, one.work(t.Context(), job))
			_, err = store.Get(t.Context(), runs.Run, run.ID)
			require.ErrorIs(t, err, runs.ErrNotFound)
			_, err = g.Checkpoints().Get(t.Context(), checkpoint.Key{Thread: thread.ID})
			require.ErrorIs(t, err, checkpoint.ErrNotFound, "the checkpoints of the run are left")
		})
	}
}

// If a replica does not have the graph of a cron, it hands the job over, and the cron keeps its time.
func TestReplicaWithoutTheGraphHandsTheCronOver(t *testing.T) {
	t.Parallel()
	store, due := memruns.New(), now()
	cron := runs.Record{Kind: runs.Cron, ID: uuid.New(), Graph: "new", Data: encoded(cronData{
		Assistant: uuid.New(), Schedule: "0 0 1 1 *", Enabled: true, Payload: json.RawMessage(`{}`), Next: &due,
	})}
	require.NoError(t, store.Insert(t.Context(), cron))
	s := replicaOf(t, store, nil, nil)
	require.ErrorIs(t, s.work(t.Context(), runs.Job{Kind: runs.JobCron, Key: cron.ID, At: due}), runs.ErrHandOver)
	got, err := store.Get(t.Context(), runs.Cron, cron.ID)
	require.NoError(t, err)
	assert.Equal(t, int64(1), got.Revision)
}

// If a replica shuts down while another one executes a run, it does not report the run as ended, and does not delete the
// thread.
func TestReplicaThatEndsDoesNotTakeRunsForEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, thread := memruns.New(), threadRecord(uuid.New())
		run := runRecord(thread.ID, runData{})
		run.Status = runRunning
		require.NoError(t, store.Insert(t.Context(), thread, run))
		s := replicaOf(t, store, nil, nil)
		canceled, deleted := make(chan error, 1), make(chan error, 1)
		go func() { canceled <- s.cancelRuns(t.Context(), []string{run.ID}, false, true) }()
		go func() { deleted <- s.deleteThread(t.Context(), thread.ID, "") }()
		synctest.Wait()
		require.NoError(t, s.Close(t.Context()))
		for _, c := range []chan error{canceled, deleted} {
			_, refused := errors.AsType[*Refusal](<-c)
			assert.True(t, refused)
		}
		_, err := store.Get(t.Context(), runs.Thread, thread.ID)
		require.NoError(t, err)
	})
}

// A run fails after several servers have died at the same checkpoint. If a job was handed over in between, each server
// counts once.
func TestRunThatKillsServersFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, thread := memruns.New(), threadRecord(uuid.New())
		run := runRecord(thread.ID, runData{})
		require.NoError(t, store.Insert(t.Context(), thread, run))
		begun := 0
		s := replicaOf(t, store, func(ctx context.Context, _ state.View) (state.Update, error) {
			begun++
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		die := func(rescued int) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			ended := make(chan error, 1)
			go func() {
				ended <- s.work(ctx, runs.Job{Kind: runs.JobThread, Key: thread.ID, Rescued: rescued})
			}()
			synctest.Wait()
			cancel(errors.New("the server has died"))
			return <-ended
		}
		for rescued := range maxDeaths {
			for range 2 { // the second time after a hand-over
				require.Error(t, die(rescued), "after %d deaths", rescued)
			}
		}
		assert.Equal(t, 2*maxDeaths, begun)
		require.NoError(t, die(maxDeaths))
		assert.Equal(t, 2*maxDeaths, begun)
		got, err := store.Get(t.Context(), runs.Run, run.ID)
		require.NoError(t, err)
		assert.Equal(t, runError, got.Status)
		assert.Contains(t, string(got.Data), "5 servers have died")
	})
}

// If a server gets a run again before its first execution has ended, the user's count of runs is zero after both have
// ended.
func TestRunThatAServerGetsAgainIsCountedOnce(t *testing.T) {
	t.Parallel()
	store, thread := memruns.New(), threadRecord(uuid.New())
	run := runRecord(thread.ID, runData{})
	run.Owner = "ann"
	require.NoError(t, store.Insert(t.Context(), thread, run))
	s := replicaOf(t, store, nil, nil)
	var parts []*activeRun
	for range 2 {
		a, err := s.claim(t.Context(), run.ID, notCanceled)
		require.NoError(t, err)
		require.NoError(t, s.activate(a))
		parts = append(parts, a)
	}
	for _, a := range parts {
		s.leave(a)
		s.running.Done()
	}
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	assert.Zero(t, s.accounts.of("ann").runs)
	assert.Empty(t, s.active)
}
