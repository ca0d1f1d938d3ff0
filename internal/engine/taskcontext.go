package engine

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Running says where a node runs.
type Running struct {
	Thread, Run, Graph, Node, Task, Path, Checkpoint string
	Step                                             int
}

// Running returns where the task runs.
func (t *Task) Running() Running {
	s := t.scope
	return Running{
		Thread: s.thread, Run: s.id, Graph: s.plan.Name, Node: t.node.Name, Task: t.ID(),
		Path: s.path, Checkpoint: s.checkpoint, Step: s.step,
	}
}

// RemainingSteps returns how many supersteps the run may begin after this one.
func (t *Task) RemainingSteps() int { return t.scope.limits.MaxSteps - t.scope.stepsDone - 1 }

// IdempotencyKey returns a key that is the same whenever this task runs again,
// and different for every other task.
//
// It is made of the thread, the origin of the thread's branch, and the step and
// id of the task and of the tasks around it. None of these depends on whether a
// checkpoint was stored before a crash. The origin is the newest checkpoint of
// the thread when the turn began, or when the thread was forked or updated: so
// tasks of two branches differ although their steps may be equal.
func (t *Task) IdempotencyKey() string {
	s := t.scope
	switch {
	case s.thread == "":
		return s.id + "/" + t.position()
	case s.origin == nil: // the thread was stored before origins were
		return fmt.Sprintf("%s/%s@%s:%s", s.thread, s.ns, s.checkpoint, t.keyID())
	}
	return s.thread + "/" + *s.origin + "/" + t.position()
}

// position returns the step and id of the task, after those of the tasks around it.
func (t *Task) position() string {
	own := t.keyID() + "@" + strconv.Itoa(t.scope.step)
	if parent := t.scope.parent; parent != nil {
		return parent.position() + "/" + own
	}
	return own
}

// keyID returns the id of the task in its idempotency key: the id that it had before
// its node was renamed, so that a task that ran under that name has the same key.
func (t *Task) keyID() string {
	if former := t.scope.plan.formerTasks(t.node.Name, t.sent); len(former) > 0 {
		return former[0]
	}
	return t.ID()
}

// Emit delivers a value to the reader of the run's events. It returns when the reader
// has taken the value or takes it next, or when ctx has ended. Without a reader it is
// a sign of life only.
func (t *Task) Emit(ctx context.Context, value any) {
	if t.watched.Load() {
		defer suspendIdle(ctx)()
	}
	if s := t.scope.events; s != nil {
		e := t.event(Emitted, time.Now())
		e.Value = value
		s.send(ctx, e)
	}
}

// An AttemptError carries the number of attempts that a node had.
type AttemptError struct {
	Attempt int
	Err     error
}

// Error returns the text of the last attempt's error.
func (e *AttemptError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the last attempt.
func (e *AttemptError) Unwrap() error { return e.Err }

// WithAttempt returns the context of an attempt of a node, counted from 1.
func WithAttempt(ctx context.Context, attempt int) context.Context {
	return context.WithValue(ctx, attemptKey{}, attempt)
}

// AttemptOf returns the attempt of a node's context; 1 if it is not repeated.
func AttemptOf(ctx context.Context) int {
	if n, ok := ctx.Value(attemptKey{}).(int); ok {
		return n
	}
	return 1
}
