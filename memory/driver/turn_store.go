package driver

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Turn is a turn in a [TurnStore].
type Turn struct {
	// Key and Scope identify the job.
	Key   string
	Scope Scope
	// Payload is the [extract.Turn] as JSON.
	Payload json.RawMessage
	// Said is the time of the turn.
	Said time.Time
	// Attempts is the number of claims of the job, including this one.
	Attempts int
	// Claim identifies this claim. The queue sets it.
	Claim string
}

// TurnStore stores jobs until they are finished. It uses its own clock. It is safe for concurrent use.
// Several processes may use a durable store.
type TurnStore interface {
	// Enqueue stores a job. It does nothing if a job with the same key and scope exists or
	// is finished.
	Enqueue(ctx context.Context, j Turn) error
	// Claim returns up to n due jobs, oldest first. The caller owns them until the lease ends; then they
	// can be claimed again.
	Claim(ctx context.Context, n int, lease time.Duration) ([]Turn, error)
	// Finish removes a claimed job. It returns [ErrConflict] if the claim is not
	// valid any more.
	Finish(ctx context.Context, j Turn) error
	// Retry returns a claimed job to the queue. It is due again after a delay. A negative delay parks the
	// job: it is kept with the cause, and cannot be claimed. Retry returns [ErrConflict] if the claim is
	// not valid any more.
	Retry(ctx context.Context, j Turn, after time.Duration, cause string) error
	// Count returns the numbers of jobs.
	Count(ctx context.Context) (TurnCounts, error)
	// Parked returns up to limit parked jobs. The job that was parked first comes first.
	Parked(ctx context.Context, limit int) ([]ParkedTurn, error)
	// Revive makes a parked job due and sets its attempts to zero. It returns
	// [ErrNotFound] if no such job is parked.
	Revive(ctx context.Context, s Scope, key string) error
	// Dump yields the turns of all scopes that Forget(s) covers, or of all scopes if s is nil.
	// They are ordered by scope, as [CompareScopes] does, and then by key.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedTurn, error]
	// Restore stores turns, all of them or none, and returns the number of new turns. Waiting turns are due
	// at once. A turn whose key exists in the scope is not changed.
	Restore(ctx context.Context, list []SavedTurn) (int, error)
	// Forget removes all jobs of a scope and returns their number. An empty part of the scope means any,
	// except for the tenant.
	Forget(ctx context.Context, s Scope) (int, error)
}

// ParkedTurn is a job that was given up after an error, with the error.
type ParkedTurn struct {
	Turn
	Cause string
}

// TurnCounts has the number of jobs that wait or are claimed, and of parked jobs.
type TurnCounts struct{ Pending, Parked int }

// TurnState is the state of a turn in a queue.
type TurnState string

// The states.
const (
	TurnWaiting TurnState = "waiting" // it waits or is claimed
	TurnParked  TurnState = "parked"  // it was given up, see [TurnStore]
	TurnDone    TurnState = "done"    // it was learned; its key is kept, so that it is not learned again
)

// SavedTurn is the complete data of a turn in a queue. A finished turn has no payload.
type SavedTurn struct {
	Turn
	State TurnState
	// Cause is the last error of a parked turn.
	Cause string
}
