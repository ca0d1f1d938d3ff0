package extract

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// State is the state of a turn in a queue.
type State string

// The states.
const (
	Waiting State = "waiting" // it waits or is claimed
	Stuck   State = "parked"  // it was given up, see [Queue]
	Done    State = "done"    // it was learned; its key is kept, so that it is not learned again
)

// Saved is everything that a queue stores about a turn. A turn that is done has no payload.
type Saved struct {
	Job
	State State
	// Cause is the last error of a parked turn.
	Cause string
}

// Dump implements [Queue].
func (q *InProcess) Dump(ctx context.Context, s *memory.Scope) iter.Seq2[Saved, error] {
	return func(yield func(Saved, error) bool) {
		for _, one := range q.saved(s) {
			if err := ctx.Err(); err != nil {
				yield(Saved{}, err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// saved returns the turns of the scopes that s covers, in the order of Dump.
func (q *InProcess) saved(s *memory.Scope) []Saved {
	q.mu.Lock()
	defer q.mu.Unlock()
	open := map[jobName]*entry{}
	for _, e := range q.jobs {
		open[jobName{e.job.Scope, e.job.Key}] = e
	}
	var list []Saved
	for at := range q.known {
		if s != nil && !s.Covers(at.scope) {
			continue
		}
		one := Saved{Job: Job{Key: at.key, Scope: at.scope}, State: Done}
		if e := open[at]; e != nil {
			one.Job, one.Cause, one.State = e.job, e.cause, Waiting
			one.Claim = ""
			if e.parked {
				one.State = Stuck
			}
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Saved) int {
		return cmp.Or(memory.CompareScopes(a.Scope, b.Scope), strings.Compare(a.Key, b.Key))
	})
	return list
}

// Restore implements [Queue].
func (q *InProcess) Restore(ctx context.Context, list []Saved) (int, error) {
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
		if one.State != Done {
			one.Claim = ""
			q.jobs = append(q.jobs, &entry{job: one.Job, due: time.Now(), parked: one.State == Stuck, cause: one.Cause})
		}
		n++
	}
	return n, nil
}

// Complete normalizes a turn that was read from a file. It returns [memory.ErrInvalid] if
// the turn cannot be stored.
func RestorableTurn(s *Saved) error {
	if err := completeTurn(s); err != nil {
		return fmt.Errorf("turn %.60q in the scope %s: %w", s.Key, s.Scope, err)
	}
	return nil
}

func completeTurn(s *Saved) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	switch s.State {
	case Waiting, Stuck, Done:
	default:
		return fmt.Errorf("state %.20q is none of %q, %q and %q: %w", s.State, Waiting, Stuck, Done, memory.ErrInvalid)
	}
	s.Said = input.Exact(s.Said)
	return input.Name("key of a turn", s.Key)
}
