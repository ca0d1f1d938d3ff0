package riverqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/server/runs"
)

// threadArgs are the arguments of a job that executes the next run of a thread.
type threadArgs struct {
	Thread    string `json:"thread" river:"unique"`
	Owner     string `json:"owner,omitempty"`
	Graph     string `json:"graph,omitempty"`
	Assistant string `json:"assistant,omitempty"`
	Rescued   int    `json:"rescued,omitempty"`
}

// taskArgs are the arguments of any other job.
type taskArgs struct {
	What runs.JobKind `json:"what" river:"unique"`
	Key  string       `json:"key" river:"unique"`
	At   time.Time    `json:"at" river:"unique"`
}

const (
	threadKind = "weft_thread"
	taskKind   = "weft_task"
)

// Kind implements [river.JobArgs].
func (threadArgs) Kind() string { return threadKind }

// Kind implements [river.JobArgs].
func (taskArgs) Kind() string { return taskKind }

// live are the states of jobs that have not ended.
var live = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

// insertion returns the arguments and options with which River inserts a job.
func (q *Queue) insertion(j *runs.Job) (river.JobArgs, *river.InsertOpts) {
	opts := &river.InsertOpts{
		MaxAttempts: maxAttempts, Queue: otherQueue, ScheduledAt: j.At, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: live},
	}
	if j.Kind != runs.JobThread {
		return taskArgs{What: j.Kind, Key: j.Key, At: j.At.UTC()}, opts
	}
	opts.Queue, opts.Priority = runQueue, q.priority(j)
	return threadArgs{Thread: j.Key, Owner: j.Owner, Graph: j.Graph, Assistant: j.Assistant, Rescued: j.Rescued}, opts
}

const defaultPriority = 2

func (q *Queue) priority(j *runs.Job) int {
	for _, name := range []string{j.Assistant, j.Graph} {
		if p, ok := q.o.Priorities[name]; ok {
			return min(max(p, river.PriorityDefault), 4)
		}
	}
	return defaultPriority
}

// Add implements [runs.Queue].
func (q *Queue) Add(ctx context.Context, jobs ...runs.Job) error {
	err := q.add(ctx, jobs)
	if err != nil {
		return fmt.Errorf("riverqueue: add: %w", err)
	}
	return nil
}

func (q *Queue) add(ctx context.Context, jobs []runs.Job) (err error) {
	if q.client == nil {
		return errors.New("the queue is not started")
	}
	if len(jobs) > 1 { // the jobs of a sweep, most of which are in the queue
		if jobs, err = q.missing(ctx, jobs); err != nil {
			return err
		}
	}
	for i := range jobs {
		// The insertion can be sent again, because it has no effect if the queue has the job.
		err := retries.Do(ctx, statementTime, pgdb.AnyFault, func(ctx context.Context) error { return q.insert(ctx, &jobs[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// insert adds a job. It holds the job if UserRuns other jobs of the user are executed or wait for a server.
func (q *Queue) insert(ctx context.Context, j *runs.Job) error {
	args, opts := q.insertion(j)
	if j.Kind != runs.JobThread || j.Owner == "" || q.o.UserRuns < 0 {
		_, err := q.client.Insert(ctx, args, opts)
		return err
	}
	return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
		n, err := q.lockUser(ctx, tx, j.Owner)
		if err != nil {
			return err
		}
		opts.Pending = n >= q.o.UserRuns
		_, err = q.client.InsertTx(ctx, tx, args, opts)
		return err
	})
}

// lockUser locks the jobs of a user until the end of a transaction. It returns the number of jobs of the user that are
// executed or wait without being held.
func (q *Queue) lockUser(ctx context.Context, tx pgx.Tx, owner string) (n int, err error) {
	b := &pgx.Batch{} // two statements: the second one sees all jobs that were stored before the lock was taken
	b.Queue(lockUser, q.o.Schema+" "+owner)
	b.Queue(q.sql(countUser), owner).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
	return n, tx.SendBatch(ctx, b).Close()
}

// missing returns the jobs that the queue does not have.
func (q *Queue) missing(ctx context.Context, jobs []runs.Job) ([]runs.Job, error) {
	there := map[string]bool{}
	err := q.rows(ctx, q.sql(liveKeys), nil, func(rows pgx.Rows) error {
		var what, key string
		err := rows.Scan(&what, &key)
		there[what+" "+key] = true
		return err
	})
	var out []runs.Job
	for _, j := range jobs {
		// Keep the job of each cron, because the job in the queue may have an older schedule.
		if j.Kind == runs.JobCron || !there[string(j.Kind)+" "+j.Key] {
			out = append(out, j)
		}
	}
	return out, err
}

// A threadWorker executes the next run of a thread.
type threadWorker struct {
	river.WorkerDefaults[threadArgs]
	q *Queue
}

// Work implements [river.Worker].
func (w *threadWorker) Work(ctx context.Context, job *river.Job[threadArgs]) error {
	a := &job.Args
	j := runs.Job{Kind: runs.JobThread, Key: a.Thread, Owner: a.Owner, Graph: a.Graph, Assistant: a.Assistant, Rescued: a.Rescued}
	return w.q.work(ctx, job.ID, j, func(ctx context.Context, tx pgx.Tx) error {
		if a.Owner != "" && w.q.o.UserRuns >= 0 {
			n, err := w.q.lockUser(ctx, tx, a.Owner)
			if err == nil && n <= w.q.o.UserRuns { // n includes this job, which ends
				err = w.q.releaseHeld(ctx, tx, a.Owner, w.q.o.UserRuns-n+1)
			}
			if err != nil {
				return err
			}
		}
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// releaseHeld makes at most n held jobs of a user available.
func (q *Queue) releaseHeld(ctx context.Context, tx pgx.Tx, owner string, n int) error {
	tag, err := tx.Exec(ctx, q.sql(releaseHeld), owner, n)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return q.client.Driver().UnwrapExecutor(tx).NotifyMany(ctx, &riverdriver.NotifyManyParams{
		Payload: []string{fmt.Sprintf(`{"queue": %q}`, runQueue)}, Schema: q.o.Schema, Topic: "river_insert",
	})
}

// releaseAll releases the held jobs of all users that may execute more. A job is still held at this time if the job that
// should have released it was cancelled in River, or if the limit has changed.
func (q *Queue) releaseAll(ctx context.Context) error {
	var owners []string
	err := q.rows(ctx, q.sql(holders), nil, func(rows pgx.Rows) error {
		var owner string
		err := rows.Scan(&owner)
		owners = append(owners, owner)
		return err
	})
	if err != nil {
		return err
	}
	for _, owner := range owners {
		err := pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error {
			n, err := q.lockUser(ctx, tx, owner)
			switch {
			case err != nil:
				return err
			case q.o.UserRuns < 0:
				return q.releaseHeld(ctx, tx, owner, math.MaxInt32)
			case n < q.o.UserRuns:
				return q.releaseHeld(ctx, tx, owner, q.o.UserRuns-n)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("release the held jobs of the user %q: %w", owner, err)
		}
	}
	return nil
}

// sweep releases held jobs, and removes old errors from the jobs of all servers.
func (q *Queue) sweep(ctx context.Context) error {
	err := q.releaseAll(ctx)
	_, cerr := q.pool.Exec(ctx, q.sql(cutErrors), keepErrors)
	return errors.Join(err, cerr)
}

// A taskWorker executes any other job.
type taskWorker struct {
	river.WorkerDefaults[taskArgs]
	q *Queue
}

// Work implements [river.Worker].
func (w *taskWorker) Work(ctx context.Context, job *river.Job[taskArgs]) error {
	j := runs.Job{Kind: job.Args.What, Key: job.Args.Key, At: job.Args.At}
	return w.q.work(ctx, job.ID, j, func(ctx context.Context, tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// work executes a job and completes it.
func (q *Queue) work(ctx context.Context, id int64, j runs.Job, complete func(context.Context, pgx.Tx) error) error {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.hold(id, cancel)
	err := q.worker.Do(run, j)
	if j.Kind == runs.JobSweep {
		err = errors.Join(err, q.sweep(run))
	}
	if err == nil {
		err = retries.Do(ctx, statementTime, pgdb.AnyFault, func(ctx context.Context) error {
			return pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error { return complete(ctx, tx) })
		})
	}
	q.drop(id)
	switch {
	case errors.Is(context.Cause(run), errLost), errors.Is(err, rivertype.ErrNotFound):
		return nil // another server has the job under another id; River ignores the end of a job that does not run
	case errors.Is(err, runs.ErrHandOver):
		return river.JobSnooze(pauseOf(err))
	case err != nil:
		return err
	}
	q.worker.Done(ctx, j)
	return nil
}

// pauseOf returns the time after which another server may get a job that was handed over.
func pauseOf(err error) time.Duration {
	if e, ok := errors.AsType[*runs.HandOverError](err); ok {
		return max(e.After, 0)
	}
	return 0
}

var errLost = errors.New("another server has the job")

func (q *Queue) hold(id int64, cancel context.CancelCauseFunc) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[id] = cancel
}

func (q *Queue) drop(id int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.held, id)
}
