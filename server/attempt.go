package server

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph"
)

// A failedAttempt is an attempt of a task under node.Retry that another one followed.
type failedAttempt struct {
	Attempt int       `json:"attempt"`
	Error   string    `json:"error"`
	Ended   time.Time `json:"ended_at"`
}

// An attemptEvent says that an attempt of a task has failed.
type attemptEvent struct {
	ID string `json:"id"` // of the task
	failedAttempt
}

// A triedError is emitted by a run whose node is tried again. Clients do not get it.
type triedError struct {
	attempt int
	err     error
}

var attemptHooks = &graph.Hooks{
	Retry: func(ctx context.Context, attempt int, err error) { graph.Emit(ctx, triedError{attempt, err}) },
}

// attempt writes that an attempt of a task has failed.
func (r *recorder) attempt(sc *scope, at *graph.Place, e triedError) error {
	delete(r.unnamed, placeKey(at)) // what follows is another reply
	if isInner(at.Task) {
		return r.write(sc, at, kindCut, struct{}{})
	}
	id := r.taskID(sc, at.Task, at.Step)
	f, _ := nodeFailure(e.err)
	failed := failedAttempt{Attempt: e.attempt, Error: f.Name + ": " + f.Message, Ended: at.Time.UTC().Truncate(time.Microsecond)}
	r.failed[id] = append(r.failed[id], failed)
	return r.write(sc, at, kindAttempt, attemptEvent{id, failed})
}
