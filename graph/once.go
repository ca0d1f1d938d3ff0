package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/jsonform"
)

// Once runs fn and returns its result. When the node runs again, after a pause, a
// failure, a retry or a crash, Once returns the stored result without running fn. The
// key identifies the side effect within the task. Calls with the same key share one
// result, even if they are concurrent, so two effects need two keys.
//
// Once stores the result as JSON before it returns. It stores the result even if the
// context ended while fn ran, so a completed effect is not lost. It does not start fn
// once the context has ended. If the result cannot be stored, the task fails. An error
// of fn is not stored.
//
// After a crash between the side effect and its storage, fn runs again. If fn must not
// take effect twice, pass an [IdempotencyKey] to the service that it calls. Without a
// thread, the result is only kept within the run. Under [Exit], a crash loses it.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	t := engine.TaskOf(ctx)
	if t == nil {
		return zero, fmt.Errorf("graph: once %q: %w", key, ErrNotInNode)
	}
	data, err := t.Once(ctx, key, func(ctx context.Context) ([]byte, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, &effectError{err}
		}
		data, err := jsonform.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("the result: %w", err)
		}
		return data, nil
	})
	if ee, ok := err.(*effectError); ok { //nolint:errorlint // the function above makes it, and nothing wraps it
		return zero, ee.err
	}
	if err != nil {
		return zero, fmt.Errorf("graph: once %q: %w", key, err)
	}
	v, err := jsonform.Unmarshal[T](data)
	if err != nil {
		return zero, fmt.Errorf("graph: once %q: the stored result: %w", key, err)
	}
	return v, nil
}

// An effectError holds the error of the caller's function, which Once returns
// unchanged.
type effectError struct{ err error }

func (e *effectError) Error() string { return e.err.Error() }
