package riverqueue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/executortest"
	"github.com/weft-go/weft/internal/pgtest"
)

// This is an executor on River: each task of a superstep is a job. docs/distributed.md refers to it as an example.

// taskArgs are the arguments of the job of a task. The set has one task.
type taskArgs struct{ Set graph.TaskSet }

func (taskArgs) Kind() string { return "graph_task" }

// A taskWorker runs a task. In a program, run is RunTasks of the graph that the set names.
type taskWorker struct {
	river.WorkerDefaults[taskArgs]
	run func(context.Context, graph.TaskSet) error
}

// Timeout returns -1, which means that a job has no time limit.
func (*taskWorker) Timeout(*river.Job[taskArgs]) time.Duration { return -1 }

// NextRetry returns the time at which the task is delivered again, perhaps to another worker.
func (*taskWorker) NextRetry(*river.Job[taskArgs]) time.Time {
	return time.Now().Add(10 * time.Millisecond)
}

// Work runs the task of a job. A task that is no longer due is not delivered again.
func (w *taskWorker) Work(ctx context.Context, job *river.Job[taskArgs]) error {
	err := w.run(ctx, job.Args.Set)
	_, overlap := errors.AsType[*graph.NodeError](err) // another worker has completed a task of the subgraph first
	if errors.Is(err, checkpoint.ErrConflict) && !overlap {
		return river.JobCancel(err)
	}
	return err
}

// A taskQueue passes tasks on as jobs of River.
type taskQueue struct {
	client *river.Client[pgx.Tx]
	queue  string
}

// execute adds a job for each task, and waits until all have ended. If ctx ends, it cancels them.
func (q *taskQueue) execute(ctx context.Context, sets []graph.TaskSet) error {
	var jobs []river.InsertManyParams
	for _, s := range sets {
		for _, task := range s.Tasks {
			one := s
			one.Tasks = []string{task}
			jobs = append(jobs, river.InsertManyParams{Args: taskArgs{one}, InsertOpts: &river.InsertOpts{Queue: q.queue}})
		}
	}
	inserted, err := q.client.InsertMany(ctx, jobs)
	if err != nil {
		return err
	}
	ids := make([]int64, len(inserted))
	for i, r := range inserted {
		ids[i] = r.Job.ID
	}
	return cmp.Or(q.wait(ctx, ids), context.Cause(ctx))
}

// wait waits until all jobs have ended. It returns the error of a job that was given up.
func (q *taskQueue) wait(ctx context.Context, ids []int64) error {
	lasting := context.WithoutCancel(ctx)
	cancelled := ctx.Done()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-cancelled:
			for _, id := range ids {
				if _, err := q.client.JobCancel(lasting, id); err != nil {
					return err
				}
			}
			cancelled = nil
		case <-tick.C:
		}
		found, err := q.client.JobList(lasting, river.NewJobListParams().IDs(ids...).First(len(ids)))
		if err != nil {
			return err
		}
		open := 0
		for _, job := range found.Jobs {
			switch job.State {
			case rivertype.JobStateCompleted:
			case rivertype.JobStateCancelled, rivertype.JobStateDiscarded:
				if n := len(job.Errors); n > 0 {
					err = fmt.Errorf("the job %d: %s", job.ID, job.Errors[n-1].Error)
				}
			default:
				open++
			}
		}
		if open == 0 {
			return err
		}
	}
}

// The suite of executors passes on River.
func TestExecutor(t *testing.T) {
	t.Parallel()
	pool, schema := newPool(t, pgtest.DirectURL(t)), pgtest.Schema(t)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema})
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	var n atomic.Int64
	executortest.Run(t, executortest.Harness{
		Start: func(tb testing.TB, run executortest.RunFunc) graph.Executor {
			tb.Helper()
			q := startTasks(tb, pool, schema, fmt.Sprint("case_", n.Add(1)), run)
			return graph.Executor{Execute: q.execute}
		},
	})
}

// startTasks starts a client with its own queue, which is stopped at the end of the test.
func startTasks(tb testing.TB, pool *pgxpool.Pool, schema, queue string, run executortest.RunFunc) *taskQueue {
	tb.Helper()
	workers := river.NewWorkers()
	river.AddWorker(workers, &taskWorker{run: run})
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema: schema, Workers: workers, Queues: map[string]river.QueueConfig{queue: {MaxWorkers: 20}}, PollOnly: true, ID: queue,
		FetchCooldown: 5 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, TestOnly: true, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(tb, err)
	require.NoError(tb, client.Start(context.Background()))
	tb.Cleanup(func() { assert.NoError(tb, client.StopAndCancel(context.Background())) })
	return &taskQueue{client, queue}
}
