package server

import (
	"context"
	"time"

	"github.com/weft-go/weft/graph"
)

// A failedAttempt is a failed attempt of a task under node.Retry, after which the task was tried again.
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

// A triedError is the value that a run emits if a node is tried again. Clients do not get it.
type triedError struct {
	attempt int
	err     error
}

var attemptHooks = &graph.Hooks{
	Retry: func(ctx context.Context, attempt int, err error) { graph.Emit(ctx, triedError{attempt, err}) },
}

// attempt writes the event of a failed attempt of a task.
func (r *recorder) attempt(sc *scope, at *graph.Place, e triedError) error {
	delete(r.unnamed, placeKey(at)) // the next attempt writes another reply
	if isInner(at.Task) {
		return r.write(sc, at, kindCut, struct{}{})
	}
	id := r.taskID(sc, at.Task, at.Step)
	f, _ := nodeFailure(e.err)
	failed := failedAttempt{Attempt: e.attempt, Error: f.Name + ": " + f.Message, Ended: at.Time.UTC().Truncate(time.Microsecond)}
	r.failed[id] = append(r.failed[id], failed)
	return r.write(sc, at, kindAttempt, attemptEvent{id, failed})
}
