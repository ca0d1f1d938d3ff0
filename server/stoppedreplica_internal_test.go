package server

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A stop blocks its first caller until it is opened.
type stop struct {
	reached atomic.Bool
	open    chan struct{}
}

func newStop() *stop { return &stop{open: make(chan struct{})} }

func (s *stop) wait() {
	if !s.reached.Swap(true) {
		<-s.open
	}
}

// A beginStore stops a replica after the replica has stored that it begins this attempt of a run.
type beginStore struct {
	runs.Store
	attempt int
	at      *stop
}

func (s *beginStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	revision, err := s.Store.Update(ctx, r)
	if r.Kind == runs.Run && r.Status == runRunning {
		if d, rerr := readRun(&r); rerr == nil && d.Attempt == s.attempt {
			s.at.wait()
		}
	}
	return revision, err
}

// An inputStore stops a run just before the run stores its first checkpoint or its first pending writes.
type inputStore struct {
	*memcheckpoint.Store
	at *stop
}

func newInputStore() *inputStore {
	return &inputStore{memcheckpoint.New(memcheckpoint.Options{}), newStop()}
}

func (s *inputStore) Lease(ctx context.Context, thread string) (checkpoint.Lease, error) {
	l, err := s.Store.Lease(ctx, thread)
	return &inputLease{l, s.at}, err
}

// An inputLease is a lease of an inputStore.
type inputLease struct {
	checkpoint.Lease
	at *stop
}

func (l *inputLease) Put(ctx context.Context, c checkpoint.Checkpoint, head string) error {
	l.at.wait()
	return l.Lease.Put(ctx, c, head)
}

func (l *inputLease) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	l.at.wait()
	return l.Lease.PutWrites(ctx, k, writes)
}

// A stoppedRun is a run that two replicas execute. Both have the graph "words" with the same checkpoint store.
type stoppedRun struct {
	t        *testing.T
	store    *memruns.Store
	graph    *graph.Graph
	thread   runs.Record
	run      runs.Record
	attempts int // the number of times that the node passed its question
}

func newStoppedRun(t *testing.T, checkpoints checkpoint.Store, d runData) *stoppedRun {
	t.Helper()
	r := &stoppedRun{t: t, store: memruns.New(), thread: threadRecord(uuid.New())}
	r.run = runRecord(r.thread.ID, d)
	if d.Request.Command != nil {
		r.run.Data = encoded(d) // the run has no input
	}
	require.NoError(t, r.store.Insert(t.Context(), r.thread, r.run))
	question := graph.NewInterrupt[string, string]("ask")
	b := graph.New("words", words)
	b.Node("node", func(ctx context.Context, s state.View) (state.Update, error) {
		if said := words.Get(s); said[0] == "ask" {
			if _, err := question.WaitKey(ctx, "first", "go on?"); err != nil {
				return nil, err
			}
		}
		r.attempts++
		return state.Update{words.Put("done")}, nil
	})
	b.Edge(graph.Start, "node")
	b.Edge("node", graph.End)
	g, err := b.Compile(graph.Options{Checkpoints: checkpoints})
	require.NoError(t, err)
	r.graph = g
	return r
}

// replica starts a replica.
func (r *stoppedRun) replica(store runs.Store) *Server {
	r.t.Helper()
	return replicaOf(r.t, store, nil, func(o *Options) { o.Graphs = map[string]*graph.Graph{"words": r.graph} })
}

// work makes a replica execute the job of the run. The channel receives the error.
func (r *stoppedRun) work(s *Server) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.work(r.t.Context(), runs.Job{Kind: runs.JobThread, Key: r.thread.ID}) }()
	synctest.Wait()
	return done
}

// check checks that the run has succeeded, that its node ran once, and that the thread has these words.
func (r *stoppedRun) check(want ...string) {
	r.t.Helper()
	got, err := r.store.Get(r.t.Context(), runs.Run, r.run.ID)
	require.NoError(r.t, err)
	assert.Equal(r.t, runSuccess, got.Status)
	snap, err := r.graph.Thread(r.thread.ID).Snapshot(r.t.Context())
	require.NoError(r.t, err)
	assert.Equal(r.t, want, words.Get(snap.View))
	assert.Equal(r.t, 1, r.attempts, "the number of times that the node ran")
}

// A replica was stopped before it stored the input of a run. When it continues, another replica has claimed the run, and
// it leaves the run to that replica.
func TestReplicaThatWakesUpLeavesItsRunToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRun(t, memcheckpoint.New(memcheckpoint.Options{}), runData{})
		first, second := &beginStore{r.store, 1, newStop()}, &beginStore{r.store, 2, newStop()}
		one := r.work(r.replica(first))
		require.True(t, first.at.reached.Load())
		two := r.work(r.replica(second)) // this replica finds no checkpoint of the run
		require.True(t, second.at.reached.Load())
		close(first.at.open)
		require.NoError(t, <-one)
		close(second.at.open)
		require.NoError(t, <-two)
		r.check("x", "done")
	})
}

// A replica takes over a run and waits for the thread, while the previous replica stores the input. The input is not
// stored a second time.
func TestReplicaContinuesWhatAnotherStoredWhileItWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checkpoints := newInputStore()
		r := newStoppedRun(t, checkpoints, runData{})
		one := r.work(r.replica(r.store))
		require.True(t, checkpoints.at.reached.Load())
		two := r.work(r.replica(r.store))
		close(checkpoints.at.open)
		require.NoError(t, <-one)
		require.NoError(t, <-two)
		r.check("x", "done")
	})
}

// A replica takes over a run with a command and waits for the thread, while the previous replica stores the command as
// pending writes of the newest checkpoint. The update of the command is applied once.
func TestReplicaAppliesACommandOnceThatAnotherStoredWhileItWaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checkpoints := newInputStore()
		r := newStoppedRun(t, checkpoints, runData{Request: runRequest{Command: &command{
			Resume: json.RawMessage(`"yes"`), Update: json.RawMessage(`{"words":"y"}`),
		}}})
		checkpoints.at.reached.Store(true) // do not stop the first run
		_, err := r.graph.Thread(r.thread.ID).Invoke(t.Context(), words.Put("ask"))
		require.NoError(t, err)
		checkpoints.at.reached.Store(false)
		one := r.work(r.replica(r.store))
		require.True(t, checkpoints.at.reached.Load())
		two := r.work(r.replica(r.store))
		close(checkpoints.at.open)
		require.NoError(t, <-one)
		require.NoError(t, <-two)
		r.check("ask", "y", "done")
	})
}

// A replica was stopped before it stored the input of a run. Another replica waits for it, and then rolls the run back. No
// checkpoint of the run is left.
func TestRollbackWaitsForAReplicaThatStoresTheInput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checkpoints := newInputStore()
		r := newStoppedRun(t, checkpoints, runData{})
		one := r.work(r.replica(r.store))
		require.True(t, checkpoints.at.reached.Load())
		other := r.replica(r.store)
		require.NoError(t, other.cancelStored(t.Context(), r.run.ID, rollbackRun))
		two := r.work(other)
		close(checkpoints.at.open)
		require.NoError(t, <-one)
		require.NoError(t, <-two)
		_, err := r.store.Get(t.Context(), runs.Run, r.run.ID)
		require.ErrorIs(t, err, runs.ErrNotFound)
		_, err = checkpoints.Get(t.Context(), checkpoint.Key{Thread: r.thread.ID})
		require.ErrorIs(t, err, checkpoint.ErrNotFound, "a checkpoint of the run is left")
	})
}
