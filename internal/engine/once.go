package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// ErrDuplicateKey reports that a key was used twice in one task.
var ErrDuplicateKey = errors.New("the key was used before in this task")

// enclosingKey is the context key of the calls of Once around a context.
type enclosingKey struct{}

// enclosing is a list of the calls of Once around a context, innermost first.
type enclosing struct {
	call  *onceCall
	outer *enclosing
}

// Once returns the stored result of a side effect.
// If there is none, it calls fn and stores the result that fn returns.
// The result is stored even if the context of the run ends during the call.
func (t *Task) Once(ctx context.Context, key string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	call := t.onceCall(key)
	around, _ := ctx.Value(enclosingKey{}).(*enclosing)
	for e := around; e != nil; e = e.outer {
		if e.call == call {
			return nil, fmt.Errorf("Once with key %q calls itself: %w", key, ErrDuplicateKey)
		}
	}
	select {
	case <-call.token:
		defer func() { call.token <- struct{}{} }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if call.ready {
		return call.value, nil
	}
	if ctx.Err() != nil { // do not begin a side effect for a task that has to end
		return nil, context.Cause(ctx)
	}
	value, err := fn(context.WithValue(ctx, enclosingKey{}, &enclosing{call, around}))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(storedOnce{Key: key, Value: value})
	if err != nil {
		return nil, err
	}
	if err := t.storeNow(mark.Once, data); err != nil {
		return nil, err
	}
	call.ready, call.value = true, value
	return value, nil
}

func (t *Task) onceCall(key string) *onceCall {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.ensureExtras()
	c := x.once[key]
	if c == nil {
		if x.once == nil {
			x.once = map[string]*onceCall{}
		}
		c = &onceCall{token: make(chan struct{}, 1)}
		c.token <- struct{}{}
		if t.saved != nil {
			c.value, c.ready = t.saved.once[key]
		}
		x.once[key] = c
	}
	return c
}

// errNodeReturned is returned to a goroutine that still runs after its node returned.
var errNodeReturned = errors.New("the node has returned, and the result is not stored; wait in the node for its goroutines")

// storeNow stores a pending write of the task and waits until it is stored.
// Under Exit it does not wait, because the write is stored at the end of the run.
// If the store fails, the task fails, even if its node returns no error.
//
// After the node has returned, storeNow refuses the write:
// the superstep may be committed, and a later task may have the same id.
func (t *Task) storeNow(channel string, data []byte) error {
	s := t.scope
	if s.log == nil {
		return nil
	}
	t.mu.Lock()
	if t.returned.Load() {
		t.mu.Unlock()
		return errNodeReturned
	}
	storing := &t.ensureExtras().storing
	storing.Add(1)
	defer storing.Done()
	index := t.nextIndex
	t.nextIndex++
	t.mu.Unlock()
	s.touched.Store(true)
	err := s.log.write(s.storeCtx, s.key(), []checkpoint.Write{{Task: t.ID(), Index: index, Channel: channel, Data: data}})
	if err == nil {
		err = s.log.wait(s.storeCtx)
	}
	if err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.addFault(err)
	}
	return err
}

// IdempotencyKey returns a key that is the same whenever this task runs again,
// and different for every other task.
//
// The key consists of the thread, the origin of the thread's branch,
// and the steps and ids of the task and of the tasks around it.
// None of these parts depends on whether a checkpoint was stored before a crash.
// The origin is the newest checkpoint of the thread when the branch or turn began,
// with the checkpoint at which the branch began, if that is another one.
// It keeps the keys of two branches apart, whose tasks may have equal steps and ids.
// Without a thread, the id of the run replaces the thread and the origin.
func (t *Task) IdempotencyKey() string {
	s := t.scope
	switch {
	case s.thread == "":
		return s.id + "/" + t.position()
	case s.origin == nil: // an older version stored the thread, without an origin
		return fmt.Sprintf("%s/%s@%s:%s", s.thread, s.ns, s.checkpoint, t.keyID())
	}
	return s.thread + "/" + *s.origin + "/" + t.position()
}

// position returns the ids and steps of the enclosing tasks and the task, outermost first.
func (t *Task) position() string {
	own := t.keyID() + "@" + strconv.Itoa(t.scope.step)
	if parent := t.scope.parent; parent != nil {
		return parent.position() + "/" + own
	}
	return own
}

// keyID returns the id of the task for its idempotency key.
// If the node was renamed, it is the id under the first of the former names.
// So the key does not change when a node is renamed.
func (t *Task) keyID() string {
	if former := t.formerIDs(); len(former) > 0 {
		return former[0]
	}
	return t.ID()
}
