package flow

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/weft-go/weft/internal/engine"
)

type scopeKey struct{}

// A scope is one execution of the function of a flow or a task.
type scope struct {
	task   *engine.Task
	inTask bool
	group  sync.WaitGroup // the tasks that Go and Map started

	previous func() (json.RawMessage, error) // the value of the previous turn; nil for none

	mu      sync.Mutex
	saved   json.RawMessage // the argument of Save; nil if Save was not called
	futures []interface{ unread() error }
}

// newScope returns a scope for the task of ctx.
func newScope(ctx context.Context) *scope { return &scope{task: engine.TaskOf(ctx)} }

// scopeOf returns the scope of ctx. In a node of a graph that a flow calls, it returns
// [ErrNotInFlow].
func scopeOf(ctx context.Context) (*scope, error) {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	if !ok || s.task == nil || s.task != engine.TaskOf(ctx) {
		return nil, ErrNotInFlow
	}
	return s, nil
}

// runIn calls fn and waits for the tasks that it started. If fn returns no error, runIn returns
// the errors of the futures whose results fn did not get.
func runIn[T any](ctx context.Context, s *scope, fn func(context.Context) (T, error)) (T, error) {
	defer s.group.Wait() // also after a panic
	v, err := fn(context.WithValue(ctx, scopeKey{}, s))
	s.group.Wait()
	if err != nil {
		return v, err
	}
	var errs []error
	for _, f := range s.futures {
		errs = append(errs, f.unread())
	}
	return v, errors.Join(errs...)
}
