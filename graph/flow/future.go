package flow

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
)

// A Future is the result of a task that may still run. It is safe for concurrent use.
type Future[T any] struct {
	done   chan struct{}
	value  T
	err    error
	waited atomic.Bool
}

// errExited is the error of a task whose goroutine ended without a result.
var errExited = errors.New("the task called runtime.Goexit")

// Go starts [Do] in a goroutine and returns a future of its result. The flow does not end before
// the task has ended. If the function of the flow returns no error, and [Future.Wait] has not
// returned the result, an error of the task fails the flow. Call Go only while the function of
// the flow or the calling task runs. MaxParallel of the graph's options does not limit the tasks;
// [Map] has its own limit.
func Go[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) *Future[T] {
	return start(ctx, key, fn, func() {})
}

// start is like [Go], and calls ended when the task has ended.
func start[T any](ctx context.Context, key string, fn func(context.Context) (T, error), ended func()) *Future[T] {
	f := &Future[T]{done: make(chan struct{}), err: fmt.Errorf("flow: task %q: %w", key, errExited)}
	s, err := scopeOf(ctx)
	if err != nil {
		f.err = fmt.Errorf("flow: task %q: %w", key, err)
		close(f.done)
		ended()
		return f
	}
	s.mu.Lock()
	s.futures = append(s.futures, f)
	s.mu.Unlock()
	s.group.Go(func() {
		defer ended()
		defer close(f.done)
		f.value, f.err = Do(ctx, key, fn)
	})
	return f
}

// Wait returns the result of the task, once it has ended. If ctx ends first, Wait returns the
// cause.
func (f *Future[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-f.done:
		f.waited.Store(true)
		return f.value, f.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}

// unread returns the error of an ended task if neither Wait nor Map has returned it.
func (f *Future[T]) unread() error {
	if f.waited.Load() {
		return nil
	}
	return f.err
}

// Map runs a task for each item and returns the results in the order of the items. The function
// key returns the key of an item's task, as for [Do]. At most limit tasks run at the same time; a
// limit below 1 means no limit. If tasks fail, the others still run, and Map returns the errors
// of all.
func Map[T, R any](ctx context.Context, items []T, limit int, key func(T) string, fn func(context.Context, T) (R, error)) ([]R, error) {
	if limit < 1 {
		limit = max(len(items), 1)
	}
	slots := make(chan struct{}, limit)
	var futures []*Future[R]
	var errs []error
	for _, item := range items {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
		run := func(ctx context.Context) (R, error) { return fn(ctx, item) }
		futures = append(futures, start(ctx, key(item), run, func() { <-slots }))
	}
	results := make([]R, 0, len(items))
	for _, f := range futures {
		<-f.done
		f.waited.Store(true)
		results, errs = append(results, f.value), append(errs, f.err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return results, nil
}
