package riverqueue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/server/runs"
)

// Options configures a [Queue]. The zero value works.
type Options struct {
	// Schema holds the tables of River. Empty means "weft". It may contain lower-case letters, digits and "_".
	Schema string
	// Lease is the time after which the jobs of a server that does not answer are given to others. Zero means 10 s. It
	// must be longer than any pause of a process, and is at least 1 s.
	Lease time.Duration
	// Priorities are the priorities of runs by the id of their assistant or the name of their graph, from 1, the highest,
	// to 4. Other runs have 2.
	Priorities map[string]int
	// UserRuns is the number of runs of a user that are executed at the same time, over all servers. More runs are held,
	// so that the runs of other users do not wait for them. Zero means 16, and a negative number means no limit. Runs
	// without a user have no limit.
	UserRuns int
	// Listen is the address of the database for LISTEN. It must not lead through a transaction pooler. If it is empty,
	// the queue uses the address of the pool, or polls if this address leads through a pooler.
	Listen string
	// Sweep is the time between two searches for work without a job, which is left if a server dies between two
	// statements. Zero means a minute.
	Sweep time.Duration
	// Logger logs failures. Nil means that nothing is logged.
	Logger *slog.Logger
}

// Queue is a [runs.Queue] in PostgreSQL. It is safe for concurrent use.
type Queue struct {
	pool   *pgxpool.Pool
	own    bool // Close closes the pool
	o      Options
	id     string // distinguishes the messages of this process from those of others
	worker runs.Worker
	client *river.Client[pgx.Tx] // nil before Start
	direct *pgx.ConnConfig       // for LISTEN; nil if the queue polls
	look   time.Duration         // the time between two checks for changes with LISTEN

	stop    context.CancelFunc
	tasks   sync.WaitGroup
	rescued atomic.Int64

	mu   sync.Mutex
	held map[int64]context.CancelCauseFunc // the jobs that are executed, by id
	told map[string]bool                   // threads of which the other servers are not told yet
	tell chan struct{}
}

var _ runs.Queue = (*Queue)(nil)

const (
	defaultSchema   = "weft"
	defaultLease    = 10 * time.Second
	defaultUserRuns = 16
	defaultSweep    = time.Minute

	runQueue   = "weft_runs"  // for the jobs of threads
	otherQueue = "weft_other" // for other jobs, which do not wait for long runs
	otherSlots = 8

	fetchPause = 10 * time.Millisecond  // the time between two fetches when there are new jobs
	fetchPoll  = 500 * time.Millisecond // the same if River was told of no new job
	pooledPoll = 100 * time.Millisecond // the same behind a pooler

	keepEnded  = time.Hour   // the time for which a completed job is kept
	minRetry   = time.Second // the time before a job is tried again; it doubles each time
	maxRetry   = time.Minute
	keepErrors = 10 // the number of errors that are kept of a job
	// maxAttempts is so large that River never ends a job: the server decides when a run has failed.
	maxAttempts = 30_000
	setupTime   = 2 * time.Minute
)

// New returns a queue, which works after a server has called Start. The caller closes the pool, after the server.
func New(pool *pgxpool.Pool, o Options) *Queue {
	o.Schema = cmp.Or(o.Schema, defaultSchema)
	o.Lease = max(cmp.Or(o.Lease, defaultLease), time.Second)
	o.UserRuns = cmp.Or(o.UserRuns, defaultUserRuns)
	o.Sweep = cmp.Or(o.Sweep, defaultSweep)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{
		pool: pool, o: o, id: uuid.New(), held: map[int64]context.CancelCauseFunc{}, told: map[string]bool{}, tell: make(chan struct{}, 1),
		look: lookRarely,
	}
}

// Start implements [runs.Queue]. It migrates the tables of River if needed. Several servers may call it at the same time.
func (q *Queue) Start(ctx context.Context, w runs.Worker) error {
	if err := q.start(ctx, w); err != nil {
		return fmt.Errorf("riverqueue: start: schema %q: %w", q.o.Schema, err)
	}
	return nil
}

func (q *Queue) start(ctx context.Context, w runs.Worker) error {
	switch {
	case q.pool == nil:
		return errors.New("no pool")
	case q.client != nil:
		return errors.New("the queue has been started; each server needs its own")
	case q.pool.Config().MaxConns < minConns:
		return fmt.Errorf("the pool has at most %d connections; it needs %d", q.pool.Config().MaxConns, minConns)
	}
	setup, cancel := context.WithTimeout(ctx, setupTime)
	defer cancel()
	pooled, err := q.findListener(setup)
	if err == nil && pooled {
		err = q.openPool(setup)
	}
	if err == nil {
		err = q.migrate(setup)
	}
	if err != nil {
		q.closePool()
		return err
	}
	q.worker = w
	client, err := river.NewClient(riverpgxv5.New(q.pool), q.config(w, pooled))
	if err == nil {
		q.client = client // set before Start, because the first jobs may add others
		err = client.Start(context.WithoutCancel(ctx))
	}
	if err != nil {
		q.client = nil
		q.closePool()
		return err
	}
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	q.tasks.Go(func() { q.renew(ctx) })
	q.tasks.Go(func() { q.send(ctx) })
	q.tasks.Go(func() { q.listen(ctx) })
	return nil
}

// openPool replaces the pool by an equal one that prepares no statements. River reads this configuration, and then sends
// JSON in another form.
func (q *Queue) openPool(ctx context.Context) error {
	config := q.pool.Config()
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	config.ConnConfig.StatementCacheCapacity, config.ConnConfig.DescriptionCacheCapacity = 0, 0
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err == nil {
		q.pool, q.own = pool, true
	}
	return err
}

func (q *Queue) closePool() {
	if q.own {
		q.pool.Close()
	}
}

// minConns is the number of connections that a queue uses at the same time: River listens on one and uses others for its
// statements.
const minConns = 4

// config returns the configuration of River.
func (q *Queue) config(w runs.Worker, pooled bool) *river.Config {
	workers := river.NewWorkers()
	river.AddWorker(workers, &threadWorker{q: q})
	river.AddWorker(workers, &taskWorker{q: q})
	poll := fetchPoll
	if pooled {
		poll = pooledPoll
	}
	sweep := river.NewPeriodicJob(river.PeriodicInterval(q.o.Sweep), func() (river.JobArgs, *river.InsertOpts) {
		args, opts := q.insertion(&runs.Job{Kind: runs.JobSweep})
		return args, opts
	}, nil)
	return &river.Config{
		Schema: q.o.Schema, Logger: q.o.Logger, Workers: workers, PollOnly: pooled,
		Queues:        map[string]river.QueueConfig{runQueue: {MaxWorkers: w.Slots}, otherQueue: {MaxWorkers: otherSlots}},
		FetchCooldown: fetchPause, FetchPollInterval: poll,
		JobTimeout: -1, MaxAttempts: maxAttempts, RetryPolicy: &retryPolicy{},
		CompletedJobRetentionPeriod: keepEnded, DiscardedJobRetentionPeriod: 24 * keepEnded,
		PeriodicJobs: []*river.PeriodicJob{sweep},
	}
}

// A retryPolicy tries a job again after a pause, which doubles each time up to maxRetry.
type retryPolicy struct{}

// NextRetry implements [river.ClientRetryPolicy].
func (*retryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	wait := minRetry
	for n := 1; n < job.Attempt && wait < maxRetry; n++ {
		wait *= 2
	}
	return time.Now().Add(min(wait, maxRetry))
}

// Close implements [runs.Queue].
func (q *Queue) Close(ctx context.Context) error {
	if q.client == nil {
		return nil
	}
	err := q.client.Stop(ctx)
	q.stop()
	q.tasks.Wait()
	q.closePool()
	if err != nil {
		return fmt.Errorf("riverqueue: close: %w", err)
	}
	return nil
}
