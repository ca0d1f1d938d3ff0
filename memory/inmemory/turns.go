package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// Turns is a [driver.TurnStore] in the memory of the process. It is safe for concurrent use.
type Turns struct {
	mu     sync.Mutex
	jobs   []*entry
	known  map[jobName]bool
	claims int
	gone   map[driver.Scope]time.Time // the time at which a scope was forgotten
}

// jobName identifies a job.
type jobName struct {
	scope driver.Scope
	key   string
}

type entry struct {
	job    driver.Turn
	due    time.Time
	parked bool
	cause  string
}

var _ driver.TurnStore = (*Turns)(nil)

// NewTurns returns an empty queue.
func NewTurns() *Turns {
	return &Turns{known: map[jobName]bool{}, gone: map[driver.Scope]time.Time{}}
}

// Enqueue implements [driver.TurnStore].
func (q *Turns) Enqueue(_ context.Context, j driver.Turn) error {
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

// Claim implements [driver.TurnStore].
func (q *Turns) Claim(_ context.Context, n int, lease time.Duration) ([]driver.Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var jobs []driver.Turn
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

// Finish implements [driver.TurnStore].
func (q *Turns) Finish(_ context.Context, j driver.Turn) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	i, err := q.claimed(j)
	if err == nil {
		q.jobs = append(q.jobs[:i:i], q.jobs[i+1:]...)
	}
	return err
}

// Retry implements [driver.TurnStore].
func (q *Turns) Retry(_ context.Context, j driver.Turn, after time.Duration, cause string) error {
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

// Forget implements [driver.TurnStore]. Claims of removed turns become invalid, and turns
// that are older than the call are not accepted later.
func (q *Turns) Forget(_ context.Context, s driver.Scope) (int, error) {
	if s == (driver.Scope{}) {
		return 0, fmt.Errorf("extract: forget: the scope is empty: %w", driver.ErrInvalid)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gone[s] = time.Now()
	before := len(q.jobs)
	q.jobs = slices.DeleteFunc(q.jobs, func(e *entry) bool { return s.Covers(e.job.Scope) })
	return before - len(q.jobs), nil
}

// claimed returns the index of a job whose claim is valid.
func (q *Turns) claimed(j driver.Turn) (int, error) {
	for i, e := range q.jobs {
		if e.job.Key == j.Key && e.job.Scope == j.Scope && e.job.Claim == j.Claim && j.Claim != "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("job %.60q in the scope %s: the claim has ended: %w", j.Key, j.Scope, driver.ErrConflict)
}

// Count implements [driver.TurnStore].
func (q *Turns) Count(context.Context) (c driver.TurnCounts, err error) {
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

// Parked implements [driver.TurnStore].
func (q *Turns) Parked(_ context.Context, limit int) (list []driver.ParkedTurn, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		if e.parked && len(list) < limit {
			list = append(list, driver.ParkedTurn{Turn: e.job, Cause: e.cause})
		}
	}
	return list, nil
}

// Revive implements [driver.TurnStore].
func (q *Turns) Revive(_ context.Context, s driver.Scope, key string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.jobs {
		if e.parked && e.job.Key == key && e.job.Scope == s {
			e.parked, e.cause, e.due, e.job.Attempts = false, "", time.Now(), 0
			return nil
		}
	}
	return fmt.Errorf("parked job %.60q in the scope %s: %w", key, s, driver.ErrNotFound)
}

// Dump implements [driver.TurnStore].
func (q *Turns) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedTurn, error] {
	return func(yield func(driver.SavedTurn, error) bool) {
		for _, one := range q.saved(s) {
			if err := ctx.Err(); err != nil {
				yield(driver.SavedTurn{}, err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// saved returns the turns of the scopes that s covers, in the order of Dump.
func (q *Turns) saved(s *driver.Scope) []driver.SavedTurn {
	q.mu.Lock()
	defer q.mu.Unlock()
	open := map[jobName]*entry{}
	for _, e := range q.jobs {
		open[jobName{e.job.Scope, e.job.Key}] = e
	}
	var list []driver.SavedTurn
	for at := range q.known {
		if s != nil && !s.Covers(at.scope) {
			continue
		}
		one := driver.SavedTurn{Turn: driver.Turn{Key: at.key, Scope: at.scope}, State: driver.TurnDone}
		if e := open[at]; e != nil {
			one.Turn, one.Cause, one.State = e.job, e.cause, driver.TurnWaiting
			one.Claim = ""
			if e.parked {
				one.State = driver.TurnParked
			}
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b driver.SavedTurn) int {
		return cmp.Or(driver.CompareScopes(a.Scope, b.Scope), strings.Compare(a.Key, b.Key))
	})
	return list
}

// Restore implements [driver.TurnStore].
func (q *Turns) Restore(ctx context.Context, list []driver.SavedTurn) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, one := range list {
		at := jobName{one.Scope, one.Key}
		if q.known[at] {
			continue
		}
		q.known[at] = true
		if one.State != driver.TurnDone {
			one.Claim = ""
			q.jobs = append(q.jobs, &entry{job: one.Turn, due: time.Now(), parked: one.State == driver.TurnParked, cause: one.Cause})
		}
		n++
	}
	return n, nil
}
