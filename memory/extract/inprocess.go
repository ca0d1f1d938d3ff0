package extract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
)

// InProcess is a [Queue] in the memory of the process. It is safe for concurrent use.
type InProcess struct {
	mu     sync.Mutex
	jobs   []*entry
	known  map[jobName]bool
	claims int
	gone   map[memory.Scope]time.Time // the time at which a scope was forgotten
}

// jobName identifies a job.
type jobName struct {
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
	_ Queue = (*InProcess)(nil)
)

// NewInProcess returns an empty queue.
func NewInProcess() *InProcess {
	return &InProcess{known: map[jobName]bool{}, gone: map[memory.Scope]time.Time{}}
}

// Enqueue implements [Queue].
func (q *InProcess) Enqueue(_ context.Context, j Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for s, at := range q.gone {
		if !j.Said.IsZero() && !j.Said.After(at) && s.Covers(j.Scope) {
			return nil
		}
	}
	if at := (jobName{j.Scope, j.Key}); !q.known[at] {
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

// Forget implements [memory.Forgetter]. It removes all jobs of a scope and returns how many.
// Their claims become invalid, and turns that are older than the call are not accepted later.
func (q *InProcess) Forget(_ context.Context, s memory.Scope) (int, error) {
	if s == (memory.Scope{}) {
		return 0, fmt.Errorf("extract: forget: the scope is empty: %w", memory.ErrInvalid)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone[s] = time.Now()
	before := len(q.jobs)
	q.jobs = slices.DeleteFunc(q.jobs, func(e *entry) bool { return s.Covers(e.job.Scope) })
	return before - len(q.jobs), nil
}

// claimed returns the index of a job whose claim is valid.
func (q *InProcess) claimed(j Job) (int, error) {
	for i, e := range q.jobs {
		if e.job.Key == j.Key && e.job.Scope == j.Scope && e.job.Claim == j.Claim && j.Claim != "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("job %.60q in the scope %s: the claim has ended: %w", j.Key, j.Scope, memory.ErrConflict)
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

// Parked implements [Queue].
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

// Revive implements [Queue].
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
