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

// A HandOverError is returned by [Worker.Do] if another server is to continue the job after a while, for example because
// this server lacks the graph. It is an [ErrHandOver].
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#runshandovererror.
type HandOverError struct {
	// After is the time for which the queue gives the job to no server.
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
	JobRun    JobKind = "run"    // the run Key has waited until At, and joins the queue of its thread
	JobCron   JobKind = "cron"   // start the run of the cron Key for the time At
	JobSweep  JobKind = "sweep"  // look for work that a server left without a job when it died
)

// A Job is work that a [Queue] gives to one of its servers. Two jobs are the same if they have the
// same Kind, Key and At.
type Job struct {
	Kind JobKind
	// Key is the id of the thread, run or cron.
	Key string
	// At is the time before which the job is not executed. Zero means now.
	At time.Time
	// Owner is the user whose run is executed, or empty. Graph and Assistant are those of the run.
	Owner, Graph, Assistant string
	// Rescued counts the servers that died while they executed the job. The queue sets it.
	Rescued int
}

// QueueStats says what a [Queue] has, over all its servers.
type QueueStats struct {
	// Waiting is the number of threads with a run that a server could execute now. Held is the number
	// of those whose users execute as many runs as they may. Running is the number of runs that
	// are executed.
	Waiting, Held, Running int
	// Scheduled is the number of delayed runs and of crons. Delayed is that of delayed runs alone.
	Scheduled, Delayed int
	// Oldest is the wait of the thread that waits longest.
	Oldest time.Duration
	// Rescued counts the jobs that this process took from servers that had died.
	Rescued int64
}

// A Worker is the server of a [Queue].
type Worker struct {
	// Slots is the largest number of runs that the server executes at once.
	Slots int
	// Do executes a job. Its context ends when the queue has given the job to another server. The
	// queue gives the job to another server if the error is [ErrHandOver], after a while if it is a
	// [HandOverError], and tries again later after another error.
	Do func(ctx context.Context, j Job) error
	// Done is called after Do has succeeded and the queue has forgotten the job, so that the same
	// job can be added again. It is not called if another server has the job.
	Done func(ctx context.Context, j Job)
	// Changed says that other servers have changed these threads. Without a thread, any may have
	// changed. It returns soon.
	Changed func(threads ...string)
}

// A Queue gives jobs to the servers that share a [Store]. It decides when a job is executed and by
// which server; the runs themselves are in the Store. A job is executed by one server at a time. If
// that dies, another one gets the job. A Queue is safe for concurrent use.
type Queue interface {
	// Start begins to give jobs to a worker. A [JobSweep] is added from time to time, for one of all
	// servers.
	Start(ctx context.Context, w Worker) error
	// Add adds jobs, unless they are there. A job that is executed is there until Do has returned.
	Add(ctx context.Context, jobs ...Job) error
	// Tell calls Changed of the other servers soon. It does not wait for that.
	Tell(thread string)
	// Stats returns what the queue has.
	Stats(ctx context.Context) (QueueStats, error)
	// Close takes no more jobs, and waits for those that are executed until ctx ends.
	Close(ctx context.Context) error
}
