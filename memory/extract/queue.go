package extract

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// A Job is a turn that waits to be learned.
type Job struct {
	// Key and Scope name it.
	Key   string
	Scope memory.Scope
	// Payload is the turn as JSON.
	Payload json.RawMessage
	// Said is when the turn was.
	Said time.Time
	// Attempts is how often it was claimed, this time included.
	Attempts int
	// Claim names this claim of the job. It is the queue's.
	Claim string
}

// A Queue keeps jobs until they are done. Its times are its own. It is safe for use by
// any number of goroutines, and a durable one by any number of processes.
type Queue interface {
	// Enqueue keeps a job, unless one of its key and scope is there or has been done.
	Enqueue(ctx context.Context, j Job) error
	// Claim returns up to n jobs that are due, the oldest first, and leaves them to the
	// caller for so long. After that another may claim them.
	Claim(ctx context.Context, n int, lease time.Duration) ([]Job, error)
	// Finish ends a job. It returns [memory.ErrConflict] if it has been claimed again,
	// and the claim is over.
	Finish(ctx context.Context, j Job) error
	// Retry gives a job back, to be due after a time. With a negative one it is parked:
	// kept, with the cause, and not claimed. [memory.ErrConflict] is as in Finish.
	Retry(ctx context.Context, j Job, after time.Duration, cause string) error
	// Count says how many jobs there are.
	Count(ctx context.Context) (Counts, error)
}

// A Parking is a [Queue] whose parked jobs can be looked at and tried again.
type Parking interface {
	// Parked returns up to limit parked jobs, those that were parked first before others.
	Parked(ctx context.Context, limit int) ([]Parked, error)
	// Revive makes a parked job due, as if it had not been tried. It returns
	// [memory.ErrNotFound] for one that is not parked.
	Revive(ctx context.Context, s memory.Scope, key string) error
}

// Parked is a job that was given up, and why.
type Parked struct {
	Job
	Cause string
}

// Counts says how many jobs a [Queue] has: those that wait or are claimed, and those
// that are parked.
type Counts struct{ Pending, Parked int }

// InProcess is a [Queue] that ends with the process, a [Parking] and a [memory.Forgetter]. It is safe
// for use by any number of goroutines.
type InProcess struct {
	mu     sync.Mutex
	jobs   []*entry
	known  map[name]bool
	claims int
	gone   map[memory.Scope]time.Time // when scopes were forgotten
}

type name struct {
	scope memory.Scope
	key   string
}

type entry struct {
	job    Job
	due    time.Time
	parked bool
	cause  string
}

var (
	_ Queue            = (*InProcess)(nil)
	_ Parking          = (*InProcess)(nil)
	_ memory.Forgetter = (*InProcess)(nil)
)

// NewInProcess returns an empty queue.
func NewInProcess() *InProcess {
	return &InProcess{known: map[name]bool{}, gone: map[memory.Scope]time.Time{}}
}

// Enqueue implements [Queue].
func (q *InProcess) Enqueue(_ context.Context, j Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s, at := range q.gone {
		if !j.Said.IsZero() && !j.Said.After(at) && input.Covers(s, j.Scope) {
			return nil
		}
	}
	if at := (name{j.Scope, j.Key}); !q.known[at] {
		q.known[at] = true
		q.jobs = append(q.jobs, &entry{job: j, due: time.Now()})
	}
	return nil
}

// Claim implements [Queue].
func (q *InProcess) Claim(_ context.Context, n int, lease time.Duration) ([]Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var jobs []Job
	for _, e := range q.jobs {
		if len(jobs) == n {
			break
		}
		if e.parked || e.due.After(now) {
			continue
		}
		q.claims++
		e.job.Attempts++
		e.job.Claim = fmt.Sprint(q.claims)
		e.due = now.Add(lease)
		jobs = append(jobs, e.job)
	}
	return jobs, nil
}

// Finish implements [Queue].
func (q *InProcess) Finish(_ context.Context, j Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, err := q.claimed(j)
	if err == nil {
		q.jobs = append(q.jobs[:i:i], q.jobs[i+1:]...)
	}
	return err
}

// Retry implements [Queue].
func (q *InProcess) Retry(_ context.Context, j Job, after time.Duration, cause string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, err := q.claimed(j)
	if err != nil {
		return err
	}
	e := q.jobs[i]
	e.parked, e.cause, e.due, e.job.Claim = after < 0, cause, time.Now().Add(after), ""
	return nil
}

// Forget implements [memory.Forgetter]: it drops the jobs of a scope, whatever their state, and
// returns how many. A worker that has one finds its claim over, and what was said before is not kept
// any more.
func (q *InProcess) Forget(_ context.Context, s memory.Scope) (int, error) {
	if s == (memory.Scope{}) {
		return 0, fmt.Errorf("extract: forget: an empty scope: %w", memory.ErrInvalid)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone[s] = time.Now()
	before := len(q.jobs)
	q.jobs = slices.DeleteFunc(q.jobs, func(e *entry) bool { return input.Covers(s, e.job.Scope) })
	return before - len(q.jobs), nil
}

func (q *InProcess) claimed(j Job) (int, error) {
	for i, e := range q.jobs {
		if e.job.Key == j.Key && e.job.Scope == j.Scope && e.job.Claim == j.Claim && j.Claim != "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("job %.60q: its claim is over: %w", j.Key, memory.ErrConflict)
}

// Count implements [Queue].
func (q *InProcess) Count(context.Context) (c Counts, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		if e.parked {
			c.Parked++
		} else {
			c.Pending++
		}
	}
	return c, nil
}

// Parked implements [Parking].
func (q *InProcess) Parked(_ context.Context, limit int) (list []Parked, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		if e.parked && len(list) < limit {
			list = append(list, Parked{e.job, e.cause})
		}
	}
	return list, nil
}

// Revive implements [Parking].
func (q *InProcess) Revive(_ context.Context, s memory.Scope, key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		if e.parked && e.job.Key == key && e.job.Scope == s {
			e.parked, e.cause, e.due, e.job.Attempts = false, "", time.Now(), 0
			return nil
		}
	}
	return fmt.Errorf("parked job %.60q in the scope %s: %w", key, s, memory.ErrNotFound)
}
