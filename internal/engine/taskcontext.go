package engine

import (
	"context"
	"time"
)

// Running returns the identity of the task.
func (t *Task) Running() Running { return *t.running() }

func (t *Task) running() *Running {
	r := t.scope.running()
	r.Node, r.Task, r.Resumed = t.node.Name, t.ID(), t.saved != nil
	return r
}

// running identifies the run and its current superstep.
func (s *scope) running() *Running {
	return &Running{Thread: s.thread, Run: s.id, Graph: s.plan.Name, Path: s.path, Checkpoint: s.checkpoint, Step: s.step}
}

// RemainingSteps returns the number of supersteps that the run may still begin.
func (t *Task) RemainingSteps() int { return t.scope.limits.MaxSteps - t.scope.stepsDone - 1 }

// Emit delivers a value to the reader of the run's events, as an event that newEmitted makes.
// It returns when the reader has the event or receives it next, or when ctx has ended.
// If a watch of [WatchIdle] counts calls of Emit, Emit gives it a heartbeat,
// even without a reader.
func (t *Task) Emit(ctx context.Context, value any, newEmitted func(Place, any) any) {
	if t.watched.Load() {
		defer suspendIdle(ctx)()
	}
	if s := t.scope.events; s != nil {
		s.sendConverted(ctx, newEmitted(Place{time.Now(), t.scope.step, t.location}, value))
	}
}

// An AttemptError adds the number of attempts of a node to its error.
type AttemptError struct {
	Attempt int
	Err     error
}

// Error returns the text of the last attempt's error.
func (e *AttemptError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the last attempt.
func (e *AttemptError) Unwrap() error { return e.Err }

// WithAttempt returns a context that records the number of an attempt, counted from 1.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// AttemptOf returns the number of the attempt that ctx records; 1 if it records none.
func AttemptOf(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}

// Retrying calls the hook for a failed attempt, before the wait for the next attempt.
func (t *Task) Retrying(ctx context.Context, attempt int, err error) {
	if h := t.scope.Hooks; h != nil {
		h.Retry(ctx, attempt, err)
	}
}
