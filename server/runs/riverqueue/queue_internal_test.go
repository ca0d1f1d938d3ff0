package riverqueue

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/pgtest"
	"github.com/weft-go/weft/server/runs"
)

// A gatedPool is a pool whose statements wait while its gate is locked, and fail while it is broken.
type gatedPool struct {
	*pgxpool.Pool
	gate   sync.RWMutex
	broken atomic.Bool
}

func newGatedPool(t *testing.T) *gatedPool {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.DirectURL(t))
	require.NoError(t, err)
	config.MaxConns = 8
	p := &gatedPool{}
	config.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) {
		p.gate.RLock()
		defer p.gate.RUnlock()
		if p.broken.Load() {
			return true, fmt.Errorf("the pool is broken")
		}
		return true, nil
	}
	p.Pool, err = pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// A recorder is a worker. Its jobs of threads last until the end of the test.
type recorder struct {
	begun   chan string   // the threads whose jobs have begun
	changed chan []string // the arguments of Changed
	ended   chan struct{}
}

// startQueue starts a queue on a schema. It calls change with the queue before the start.
func startQueue(t *testing.T, pool *pgxpool.Pool, o Options, change func(*Queue)) (*Queue, *recorder) {
	t.Helper()
	q, r := New(pool, o), &recorder{begun: make(chan string, 100), changed: make(chan []string, 10_000), ended: make(chan struct{})}
	change(q)
	require.NoError(t, q.Start(t.Context(), runs.Worker{
		Slots: 4,
		Do: func(ctx context.Context, j runs.Job) error {
			if j.Kind != runs.JobThread {
				return nil
			}
			r.begun <- j.Key
			select {
			case <-r.ended:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		},
		Done:    func(context.Context, runs.Job) {},
		Changed: func(threads ...string) { r.changed <- threads },
	}))
	t.Cleanup(func() {
		close(r.ended)
		assert.NoError(t, q.Close(context.Background()))
	})
	return q, r
}

func unchanged(*Queue) {}

// await returns the next value of a channel.
func await[T any](t *testing.T, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(30 * time.Second):
		require.Fail(t, "nothing came in 30 s")
	}
	return v
}

// A server checks for changes of all threads from time to time, even if messages never pause, because one of them may be
// lost.
func TestQueueLooksForChangesAmongManyMessages(t *testing.T) {
	t.Parallel()
	const look = 500 * time.Millisecond
	q, r := startQueue(t, newGatedPool(t).Pool, Options{Schema: pgtest.Schema(t)}, func(q *Queue) { q.look = look })
	assert.Empty(t, await(t, r.changed), "the look at the start")
	conn := pgtest.Connect(t, pgtest.DirectURL(t))
	looks, messages := 0, 0
	for begun := time.Now(); time.Since(begun) < 10*look && looks < 2; {
		_, err := conn.Exec(t.Context(), notify, q.channel(), "another thread")
		require.NoError(t, err)
		if threads := await(t, r.changed); len(threads) == 0 {
			looks++
		} else {
			messages++
		}
	}
	assert.Equal(t, 2, looks, "among %d messages", messages)
}

// pass waits in real time, because the clock of the database measures leases.
func pass(d time.Duration) { <-time.After(d) }

// A message that could not be sent is sent again.
func TestQueueSendsAMessageAgain(t *testing.T) {
	t.Parallel()
	schema, pool := pgtest.Schema(t), newGatedPool(t)
	q, _ := startQueue(t, pool.Pool, Options{Schema: schema}, unchanged)
	_, r := startQueue(t, newGatedPool(t).Pool, Options{Schema: schema}, unchanged)
	assert.Empty(t, await(t, r.changed), "the look at the start")
	pool.broken.Store(true)
	q.Tell("thread")
	require.Error(t, func() error { _, err := pool.Exec(t.Context(), "SELECT 1"); return err }())
	pass(2 * minBackOff) // sending the message fails in this time
	pool.broken.Store(false)
	for range 2 { // a check for changes may come first
		if threads := await(t, r.changed); len(threads) > 0 {
			assert.Equal(t, []string{"thread"}, threads)
			return
		}
	}
	assert.Fail(t, "the message did not come")
}

// After a time with a slow database, a server does not take the jobs of others, because the database was slow for them
// too.
func TestQueueTakesNoJobsAfterASlowDatabase(t *testing.T) {
	t.Parallel()
	o := Options{Schema: pgtest.Schema(t), Lease: 2 * time.Second}
	pools := []*gatedPool{newGatedPool(t), newGatedPool(t)}
	executing, r := startQueue(t, pools[0].Pool, o, unchanged)
	require.NoError(t, executing.Add(t.Context(), runs.Job{Kind: runs.JobThread, Key: "thread"}))
	assert.Equal(t, "thread", await(t, r.begun))
	other, r2 := startQueue(t, pools[1].Pool, o, unchanged)

	pass(o.Lease) // the other server has used the database for the time of a lease
	pools[0].gate.Lock()
	pass(o.Lease / 2)
	pools[1].gate.Lock()
	pass(o.Lease * 3 / 4)
	pools[1].gate.Unlock()
	pass(o.Lease / 4) // the database works again for the other server first
	pools[0].gate.Unlock()
	pass(o.Lease / 2)
	assert.Zero(t, other.rescued.Load())
	assert.Empty(t, r2.begun)
}

// If a job is held although its user may execute it, a sweep releases it.
func TestSweepReleasesHeldJobs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cancel   bool // cancel the job that would release the held one, in River
		userRuns int  // the limit of the server that sweeps
		released bool
	}{
		"cancelled":      {cancel: true, userRuns: 1, released: true},
		"no bound":       {userRuns: -1, released: true},
		"a higher bound": {userRuns: 2, released: true},
		"not due":        {userRuns: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, pool := pgtest.Schema(t), newGatedPool(t).Pool
			first, r := startQueue(t, pool, Options{Schema: schema, UserRuns: 1}, unchanged)
			for _, thread := range []string{"first", "held"} {
				require.NoError(t, first.Add(t.Context(), runs.Job{Kind: runs.JobThread, Key: thread, Owner: "ann"}))
			}
			assert.Equal(t, "first", await(t, r.begun))
			if c.cancel {
				_, err := pool.Exec(t.Context(), first.sql(`UPDATE weft.river_job SET state = 'cancelled', finalized_at = now() WHERE args->>'thread' = 'first'`))
				require.NoError(t, err)
			}
			sweeping := New(pool, Options{Schema: schema, UserRuns: c.userRuns})
			sweeping.client = first.client
			require.NoError(t, sweeping.sweep(t.Context()))
			if c.released {
				assert.Equal(t, "held", await(t, r.begun))
				return
			}
			stats, err := first.Stats(t.Context())
			require.NoError(t, err)
			assert.Equal(t, 1, stats.Held)
		})
	}
}

// A sweep keeps only the last errors of a job.
func TestSweepCutsTheErrorsOfJobs(t *testing.T) {
	t.Parallel()
	q, _ := startQueue(t, newGatedPool(t).Pool, Options{Schema: pgtest.Schema(t)}, unchanged)
	at := time.Now().Add(time.Hour)
	require.NoError(t, q.Add(t.Context(), runs.Job{Kind: runs.JobRun, Key: "failing", At: at}, runs.Job{Kind: runs.JobRun, Key: "new", At: at}))
	_, err := q.pool.Exec(t.Context(), q.sql(`UPDATE weft.river_job SET state = 'retryable', attempt = 50,
		errors = ARRAY(SELECT jsonb_build_object('error', n) FROM generate_series(1, 50) n) WHERE args->>'key' = 'failing'`))
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, q.Add(t.Context(), runs.Job{Kind: runs.JobSweep}))
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			var first, last, n int
			err := q.pool.QueryRow(t.Context(), q.sql(`SELECT (errors[1]->>'error')::int, (errors[cardinality(errors)]->>'error')::int, cardinality(errors)
				FROM weft.river_job WHERE args->>'key' = 'failing'`)).Scan(&first, &last, &n)
			assert.NoError(c, err)
			assert.Equal(c, []int{41, 50, keepErrors}, []int{first, last, n})
		}, 10*time.Second, 10*time.Millisecond)
	}
}

// The time before a failed job is tried again grows with each attempt.
func TestRetriesOfAJobBackOff(t *testing.T) {
	t.Parallel()
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 7: time.Minute, maxAttempts: time.Minute} {
		before := time.Now()
		got := (&retryPolicy{}).NextRetry(&rivertype.JobRow{Attempt: attempt})
		assert.WithinRange(t, got, before.Add(want), time.Now().Add(want), "attempt %d", attempt)
	}
}

// A server can start while others store jobs, because it does not create an index that exists.
func TestQueueStartsWhileJobsAreStored(t *testing.T) {
	t.Parallel()
	schema, pool := pgtest.Schema(t), newGatedPool(t).Pool
	q, _ := startQueue(t, pool, Options{Schema: schema}, unchanged)
	require.NoError(t, q.Add(t.Context(), runs.Job{Kind: runs.JobRun, Key: "later", At: time.Now().Add(time.Hour)}))
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), q.sql(`UPDATE weft.river_job SET priority = 3 WHERE args->>'key' = 'later'`))
	require.NoError(t, err)
	setup, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	another := New(newGatedPool(t).Pool, Options{Schema: schema})
	require.NoError(t, another.migrate(setup))
}
