package graph

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// onceCall is a side effect of a task: its result, or the run of it that is
// under way.
type onceCall struct {
	turn  chan struct{} // holds a token while nobody has the call
	ready bool
	value json.RawMessage
}

func newOnceCall() *onceCall {
	c := &onceCall{turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

func settledCall(value json.RawMessage) *onceCall {
	c := newOnceCall()
	c.ready, c.value = true, value
	return c
}

// insideKey finds the calls of Once around a context.
type insideKey struct{}

// inside is the calls of Once around a context, innermost first.
type inside struct {
	call  *onceCall
	outer *inside
}

// take waits for the call's turn.
func (c *onceCall) take(ctx context.Context) error {
	around, _ := ctx.Value(insideKey{}).(*inside)
	for in := around; in != nil; in = in.outer {
		if in.call == c {
			return fmt.Errorf("%w: by the very call that is to give the result", ErrDuplicateKey)
		}
	}
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Once runs fn and returns its result; when the node runs again, after a pause,
// a failure, a retry or a crash, it returns that result without running fn.
// The key names the side effect within the task: calls with one key share one
// result, also when they come at the same time, so two effects need two keys.
// The result is stored, as a channel's value would be, before Once returns; if
// that fails, the task fails. A failed fn is not remembered.
//
// A crash between the side effect and its storage makes fn run again: give the
// other side [IdempotencyKey] where that matters. Without a thread, or with
// [Exit], the result is remembered within the run only.
func Once[T any](ctx context.Context, key string, fn func(context.Context) (T, error)) (T, error) {
	var zero T
	t := taskOf(ctx)
	if t == nil {
		return zero, fmt.Errorf("graph: once %q: %w", key, ErrNotInNode)
	}
	call := t.onceCall(key)
	if err := call.take(ctx); err != nil {
		return zero, fmt.Errorf("graph: once %q: %w", key, err)
	}
	defer func() { call.turn <- struct{}{} }()
	if !call.ready {
		around, _ := ctx.Value(insideKey{}).(*inside)
		v, err := fn(context.WithValue(ctx, insideKey{}, &inside{call, around}))
		if err != nil {
			return zero, err
		}
		data, err := state.Encode(v)
		if err != nil {
			return zero, fmt.Errorf("graph: once %q: the result: %w", key, err)
		}
		if err := t.keepOnce(key, data); err != nil {
			return zero, fmt.Errorf("graph: once %q: %w", key, err)
		}
		call.ready, call.value = true, data
	}
	v, err := state.Decode[T](call.value)
	if err != nil {
		return zero, fmt.Errorf("graph: once %q: the stored result: %w", key, err)
	}
	return v, nil
}

func (t *task) onceCall(key string) *onceCall {
	x := t.own()
	x.mu.Lock()
	defer x.mu.Unlock()
	c := x.once[key]
	if c == nil {
		if x.once == nil {
			x.once = map[string]*onceCall{}
		}
		c = newOnceCall()
		x.once[key] = c
	}
	return c
}

func (t *task) keepOnce(key string, value json.RawMessage) error {
	data, err := json.Marshal(storedOnce{Key: key, Value: value})
	if err != nil {
		return err
	}
	return t.remember(markOnce, data)
}

// remember stores a pending write of the task at once. A store that fails,
// fails the task, even if its node makes something else of the error.
func (t *task) remember(mark string, data []byte) error {
	r := t.run
	if r.journal == nil {
		return nil
	}
	x := t.own()
	x.mu.Lock()
	index := x.index
	x.index++
	x.mu.Unlock()
	r.touched.Store(true)
	err := r.journal.write(r.ctx, r.key(), []checkpoint.Write{{Task: t.id(), Index: index, Channel: mark, Data: data}})
	if err == nil {
		err = r.journal.flush(r.ctx) // under Async, too, it is not left to a moment later
	}
	if err != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.blame(err)
	}
	return nil
}
