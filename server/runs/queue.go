package runs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrHandOver is returned by [Worker.Do] if another server is to continue the job.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runserrhandover.
var ErrHandOver = errors.New("another server continues the job")

// A HandOverError is returned by [Worker.Do] if another server must continue the job after a while, for example because
// this server does not have the graph. It is an [ErrHandOver].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runshandovererror.
type HandOverError struct {
	// After is the time during which the queue gives the job to no server.
	After time.Duration
}

// Error implements error.
func (e *HandOverError) Error() string {
	return fmt.Sprintf("another server continues the job in %s", e.After)
}

// Is makes the error an [ErrHandOver].
func (e *HandOverError) Is(target error) bool { return target == ErrHandOver }

// A JobKind says what a server does for a [Job].
type JobKind string

// The kinds of jobs.
const (
	JobThread JobKind = "thread" // execute the next run of the thread Key
	JobRun    JobKind = "run"    // the delay of the run Key is over at At: put the run into the queue of its thread
	JobCron   JobKind = "cron"   // start the run of the cron Key for the time At
	JobSweep  JobKind = "sweep"  // find work that has no job because a server died
)

// A Job is work that a [Queue] gives to one of its servers. Two jobs are the same if they have the
// same Kind, Key and At.
type Job struct {
	Kind JobKind
	// Key is the id of the thread, run or cron.
	Key string
	// At is the time at which the job becomes due. Zero means now.
	At time.Time
	// Owner is the user whose run is executed, or empty. Graph and Assistant belong to the run.
	Owner, Graph, Assistant string
	// Rescued counts the servers that died while they executed the job. The queue sets it.
	Rescued int
}

// QueueStats has the numbers of jobs in a [Queue], over all its servers.
type QueueStats struct {
	// Waiting is the number of threads with a run that a server could execute now. Held is the number of threads whose
	// runs wait because their users already execute as many runs as they may. Running is the number of runs that are
	// executed.
	Waiting, Held, Running int
	// Scheduled is the number of delayed runs and of crons. Delayed is the number of delayed runs alone.
	Scheduled, Delayed int
	// Oldest is the time that the longest waiting thread has waited.
	Oldest time.Duration
	// Rescued counts the jobs that this process took from servers that had died.
	Rescued int64
}

// A Worker is the part of a server that a [Queue] calls.
type Worker struct {
	// Slots is the largest number of runs that the server executes at the same time.
	Slots int
	// Do executes a job. Its context ends if the queue has given the job to another server. If the error is
	// [ErrHandOver], the queue gives the job to another server, and for a [HandOverError] only after a while. After any
	// other error, it tries again later.
	Do func(ctx context.Context, j Job) error
	// Done is called after Do has succeeded and the queue has removed the job, so that the same job can be added again.
	// It is not called if another server has the job.
	Done func(ctx context.Context, j Job)
	// Changed is called if other servers have changed these threads. Without a thread, any thread may have changed. It
	// must return soon.
	Changed func(threads ...string)
}

// A Queue gives jobs to the servers that share a [Store]. It decides when a job is executed and by which server. The runs
// themselves are in the Store. A job is executed by one server at a time. If that server dies, another one gets the job.
// A Queue is safe for concurrent use.
type Queue interface {
	// Start begins to give jobs to a worker. From time to time, it adds a [JobSweep] for one of all servers.
	Start(ctx context.Context, w Worker) error
	// Add adds jobs, unless the queue has the same jobs already. A job that is executed stays in the queue until Do has
	// returned.
	Add(ctx context.Context, jobs ...Job) error
	// Tell makes the other servers call Changed soon. It does not wait for them.
	Tell(thread string)
	// Stats returns the current numbers of jobs.
	Stats(ctx context.Context) (QueueStats, error)
	// Close gives no more jobs to the worker. It waits for the jobs that are executed, at most until ctx ends.
	Close(ctx context.Context) error
}
