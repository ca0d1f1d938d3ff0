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

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/server/runs/memruns"
	"github.com/weft-go/weft/state"
)

// A heldQueue keeps the added jobs. Tests pass them to a server.
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

// take returns the kept jobs and removes them.
func (q *heldQueue) take() []runs.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	jobs := q.jobs
	q.jobs = nil
	return jobs
}

// replicaOf starts a server with a queue. The server has the graph "words".
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

// If the record of a run cannot be stored, the thread is not changed.
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

// A threadlessStore fails the given number of updates of threads. It calls meanwhile before the first failure.
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

// A stored run is executed once, even if the database fails before the status of its thread is stored. The client gets no
// error: otherwise it would start the run again.
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

// The limit of runs of a user counts the unfinished runs that the user has started, whoever owns their threads.
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

// The server refuses a run if too many runs wait, delayed ones included, or if its thread has too many runs.
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
			end := make(chan struct{})
			s := replicaOf(t, store, func(context.Context, state.View) (state.Update, error) {
				<-end
				return nil, nil
			}, func(o *Options) {
				o.Limits, o.Queue = c.limits, &heldQueue{stats: c.stats}
				if c.alone {
					o.Queue = nil
				}
			})
			t.Cleanup(func() { close(end) }) // before the server is closed, because Close waits for nodes that have begun
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

// A drained run is pending again, and the thread has its input. It is executed before a run that was accepted earlier and
// has not begun: otherwise that run would begin at the newest checkpoint instead.
func TestARunThatWasDrainedComesFirst(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Minute)
	list, err := ordered([]runs.Record{
		{ID: "waiting", Status: runPending, Created: at, Data: encoded(runData{})},
		{ID: "drained", Status: runPending, Created: at.Add(time.Millisecond), Data: encoded(runData{Started: true, Attempt: 1})},
	}, time.Now())
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "drained", list[0].ID)

	taken := []*activeRun{{id: "waiting", data: &runData{}}, {id: "drained", data: &runData{Started: true}}}
	begunFirst(taken) // the same order on a server without a queue
	assert.Equal(t, "drained", taken[0].id)
}
