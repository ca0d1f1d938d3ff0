package graph

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/jsonform"
)

// Once runs fn and returns its result. When the node runs again, after a pause, a
// failure, a retry or a crash, Once returns that result without running fn. The key
// names the side effect within the task: calls with one key share one result, even
// at the same time, so two effects need two keys.
//
// Once stores the result, as a channel's value would be, before it returns. It does
// so even if the context ended while fn ran, so an effect that succeeded is not
// forgotten. It does not start fn once the context has ended. If the result cannot
// be stored, the task fails. A failure of fn is not stored.
//
// A crash between the side effect and its storage makes fn run again: give the
// other side an [IdempotencyKey] where that matters. Without a thread the result is
// remembered within the run only; under [Exit], a crash forgets it.
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
	if ee, ok := err.(*effectError); ok { //nolint:errorlint // made above, and never wrapped
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

// An effectError is the error of the caller's function, which Once returns as it is.
type effectError struct{ err error }

func (e *effectError) Error() string { return e.err.Error() }
