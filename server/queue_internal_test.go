package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
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

// A heldQueue keeps the jobs that are added. Tests give them to a server.
type heldQueue struct {
	stats runs.QueueStats

	mu   sync.Mutex
	jobs []runs.Job
}

func (*heldQueue) Start(context.Context, runs.Worker) error { return nil }
func (*heldQueue) Tell(string)                              {}
func (*heldQueue) Close(context.Context) error              { return nil }

func (q *heldQueue) Stats(context.Context) (runs.QueueStats, error) { return q.stats, nil }

func (q *heldQueue) Add(_ context.Context, jobs ...runs.Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.jobs = append(q.jobs, jobs...)
	return nil
}

// take returns the jobs and forgets them.
func (q *heldQueue) take() []runs.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}

// replicaOf starts a server with a queue. It has the graph "words".
func replicaOf(t *testing.T, store runs.Store, node graph.NodeFunc, change func(*Options)) *Server {
	t.Helper()
	if node == nil {
		node = func(context.Context, state.View) (state.Update, error) { return state.Update{words.Put("done")}, nil }
	}
	o := Options{Graphs: map[string]*graph.Graph{"words": wordGraph(t, node)}, Runs: store, Queue: &heldQueue{}}
	if change != nil {
		change(&o)
	}
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

func threadRecord(id string) runs.Record {
	return runs.Record{Kind: runs.Thread, ID: id, Graph: "words", Status: threadIdle, Created: now(), Data: encoded(threadData{})}
}

func runRecord(thread string, d runData) runs.Record {
	d.Request.Input = json.RawMessage(`{"words":"x"}`)
	return runs.Record{Kind: runs.Run, ID: uuid.New(), Parent: thread, Graph: "words", Status: runPending, Created: now(), Data: encoded(d)}
}

// While the graphs of replicas differ, the run of a graph that a replica lacks waits for one that has it.
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

		// A client that cancels such a run does not wait for the graph.
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

// A replica without the graph of a run does not end a rollback of the run, whose checkpoints it cannot
// remove. It waits for a replica that has the graph.
func TestReplicaWithoutTheGraphLeavesARollbackToAnother(t *testing.T) {
	t.Parallel()
	for _, status := range []string{runRunning, runPending} { // its server has died, or was shut down
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

// The cron of a graph that a replica lacks waits for a replica that has it, and keeps its time.
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

// A cronlessStore fails once to change a cron.
type cronlessStore struct {
	*memruns.Store
	failed atomic.Bool
}

func (s *cronlessStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind == runs.Cron && !s.failed.Swap(true) {
		return 0, errors.New("the connection was lost")
	}
	return s.Store.Update(ctx, r)
}

// A job of a cron that is executed again, after the run of the cron has ended, does not start the run again.
func TestCronThatIsTriedAgainFiresOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, due, begun := &cronlessStore{Store: memruns.New()}, now(), 0
		cron := runs.Record{Kind: runs.Cron, ID: uuid.New(), Graph: "words", Data: encoded(cronData{
			Schedule: "0 0 1 1 *", Enabled: true, OnDone: "delete", Payload: json.RawMessage(`{"assistant_id":"words","input":{"words":"x"}}`), Next: &due,
		})}
		require.NoError(t, store.Insert(t.Context(), cron))
		queue := &heldQueue{}
		s := replicaOf(t, store, func(context.Context, state.View) (state.Update, error) {
			begun++
			return state.Update{words.Put("done")}, nil
		}, func(o *Options) { o.Queue = queue })
		job := runs.Job{Kind: runs.JobCron, Key: cron.ID, At: due}
		require.Error(t, s.work(t.Context(), job))
		work := func() {
			for _, j := range queue.take() {
				if j.Kind == runs.JobThread {
					require.NoError(t, s.work(t.Context(), j))
				}
			}
		}
		work()
		assert.Equal(t, 1, begun)
		time.Sleep(temporaryTime - time.Second)
		require.NoError(t, s.work(t.Context(), job))
		work()
		assert.Equal(t, 1, begun)

		time.Sleep(2 * time.Second)
		require.NoError(t, s.expire(t.Context()))
		_, n, err := store.Search(t.Context(), runs.Query{Kind: runs.Thread})
		require.NoError(t, err)
		assert.Zero(t, n, "the thread of the run stays")
	})
}

// A deletion that takes long keeps runs and other deletions away, and does not change when the thread expires.
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

// A server that stood still while it deleted a thread does not go on when another one has begun to delete it.
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

// A replica that ends does not say that a run has ended that another one executes, and does not delete its thread.
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

// A run whose thread was deleted meanwhile is not executed again and again.
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
			if thread.Data = encoded(threadData{Deleting: now()}); c.insert { // the mark holds for ten seconds
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

// A run whose record is not stored leaves its thread as it was.
func TestRunThatIsNotStoredLeavesItsThread(t *testing.T) {
	t.Parallel()
	store, thread := memruns.New(), threadRecord(uuid.New())
	thread.Status, thread.Expires = threadInterrupted, now().Add(time.Hour)
	run := runRecord(thread.ID, runData{Request: runRequest{Multitask: multitaskReject}})
	there := run
	there.Parent, there.Status = uuid.New(), runSuccess
	require.NoError(t, store.Insert(t.Context(), thread, there))
	s := replicaOf(t, store, nil, nil)
	_, err := s.startRun(t.Context(), run, s.graphs["words"])
	require.ErrorIs(t, err, runs.ErrExists)
	got, err := store.Get(t.Context(), runs.Thread, thread.ID)
	require.NoError(t, err)
	assert.Equal(t, threadInterrupted, got.Status)
	assert.Equal(t, thread.Expires, got.Expires)
}

// A threadlessStore fails some times to change a thread. It calls meanwhile before the first failure.
type threadlessStore struct {
	*memruns.Store
	times     atomic.Int32
	meanwhile func()
}

func (s *threadlessStore) Update(ctx context.Context, r runs.Record) (int64, error) {
	if r.Kind != runs.Thread || s.times.Add(-1) < 0 {
		return s.Store.Update(ctx, r)
	}
	if f := s.meanwhile; f != nil {
		s.meanwhile = nil
		f()
	}
	return 0, errors.New("the connection was lost")
}

// A run that is stored is executed once, though the database fails before the status of its thread is stored. The client
// is not told of a failure: it would start the run again.
func TestStoredRunIsNotTakenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ alone, executed bool }{
		"one server": {alone: true}, "servers": {}, "another server executes the run": {executed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, thread := &threadlessStore{Store: memruns.New()}, threadRecord(uuid.New())
				require.NoError(t, store.Insert(t.Context(), thread))
				begun := 0
				node := func(context.Context, state.View) (state.Update, error) {
					begun++
					return state.Update{words.Put("done")}, nil
				}
				s := replicaOf(t, store, node, func(o *Options) {
					if c.alone {
						o.Queue = nil
					}
				})
				job := runs.Job{Kind: runs.JobThread, Key: thread.ID}
				if c.executed {
					store.meanwhile = func() { assert.NoError(t, s.work(t.Context(), job)) }
				}
				store.times.Store(3)
				run := runRecord(thread.ID, runData{})
				_, err := s.startRun(t.Context(), run, s.graphs["words"])
				require.NoError(t, err)
				if !c.alone {
					require.NoError(t, s.work(t.Context(), job))
				}
				<-s.endOfRun(t.Context(), thread.ID, run.ID)
				got, err := store.Get(t.Context(), runs.Run, run.ID)
				require.NoError(t, err)
				assert.Equal(t, runSuccess, got.Status)
				assert.Equal(t, 1, begun)
				require.NoError(t, s.Close(t.Context())) // the status of the thread is stored
				got, err = store.Get(t.Context(), runs.Thread, thread.ID)
				require.NoError(t, err)
				assert.Equal(t, threadIdle, got.Status)
			})
		})
	}
}

// A run at whose checkpoint servers die fails after some of them. A job that was handed over between them counts no
// server twice.
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

// A server that gets a run again before its first part has ended counts the run as often as it has ended.
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

// The limit of a user is about the runs that the user has started, on whose thread ever, and not about ended ones.
func TestLimitOfAUserCountsTheRunsOfTheUser(t *testing.T) {
	t.Parallel()
	store, thread := memruns.New(), threadRecord(uuid.New())
	thread.Owner = "team"
	require.NoError(t, store.Insert(t.Context(), thread))
	for owner, statuses := range map[string][]string{"ann": {runRunning, runPending, runSuccess}, "bob": {runPending, runSuccess, runError}} {
		for _, status := range statuses {
			r := runRecord(thread.ID, runData{})
			r.Owner, r.Status = owner, status
			require.NoError(t, store.Insert(t.Context(), r))
		}
	}
	s := replicaOf(t, store, nil, func(o *Options) { o.Limits.UserRuns = 2 })
	for user, want := range map[string]bool{"ann": true, "bob": false, "team": false} {
		c := &call{s: s, r: httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/runs", nil), user: User{ID: user}}
		_, refused := errors.AsType[*Refusal](c.roomFor(1))
		assert.Equal(t, want, refused, user)
	}
}

// Delayed runs and the runs of one thread do not fill the queue.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits Limits
		alone  bool
		stats  runs.QueueStats
	}{
		"delayed runs":             {limits: Limits{QueuedRuns: 3}, stats: runs.QueueStats{Waiting: 1, Held: 1, Delayed: 1}},
		"runs of a thread":         {limits: Limits{ThreadRuns: 2}},
		"the same, and one server": {limits: Limits{ThreadRuns: 2}, alone: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, thread := memruns.New(), threadRecord(uuid.New())
			require.NoError(t, store.Insert(t.Context(), thread))
			s := replicaOf(t, store, func(ctx context.Context, _ state.View) (state.Update, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}, func(o *Options) {
				o.Limits, o.Queue = c.limits, &heldQueue{stats: c.stats}
				if c.alone {
					o.Queue = nil
				}
			})
			begin := func() error {
				_, err := s.startRun(t.Context(), runRecord(thread.ID, runData{}), s.graphs["words"])
				return err
			}
			if c.limits.ThreadRuns > 0 {
				require.NoError(t, begin())
				require.NoError(t, begin())
			} else {
				s.queued.Store(&c.stats)
			}
			refusal, ok := errors.AsType[*Refusal](begin())
			require.True(t, ok)
			assert.Equal(t, http.StatusServiceUnavailable, refusal.Status)
			assert.Equal(t, time.Second, refusal.RetryAfter)
		})
	}
}
