package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weft-go/weft/state"
)

// resultKey is the key under which Once stores the result of an inner task.
const resultKey = "$result"

// A waitingError is the error of an inner task with an open question. It is a pause; see [IsPause].
type waitingError struct{ task string }

// Error names the task.
func (e *waitingError) Error() string { return fmt.Sprintf("task %q waits for an answer", e.task) }

// Pause reports that the error is no failure.
func (e *waitingError) Pause() bool { return true }

// Inner runs fn as a task inside the task t and returns its result.
// If the result is stored, Inner returns it without calling fn.
// An error or panic of fn is the error of the inner task.
//
// The inner task has its own questions, side effects and idempotency key.
// The argument key identifies it within t; a second use in one attempt is an [ErrDuplicateKey].
// The argument sub is the graph that fn runs with [RunSubgraph]; nil for none.
func Inner(ctx context.Context, t *Task, key string, sub *Subgraph, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	in, err := t.beginInner(key, sub)
	if err != nil {
		return nil, err
	}
	defer t.endInner(in)
	if result := in.onceCall(resultKey); result.ready {
		e := in.event(TaskFinished, time.Now())
		e.Saved = true
		in.scope.events.send(in.scope.storeCtx, e)
		return result.value, nil
	}
	in.scope.events.send(in.scope.storeCtx, in.event(TaskStarted, time.Now()))
	value, err := in.Once(WithAttempt(context.WithValue(ctx, taskKey{}, in), 1), resultKey, in.protect(fn))
	asked := in.Asked()
	if err != nil && !asked {
		err = in.fail(err)
	}
	e := in.event(TaskFinished, time.Now())
	if e.Asked = asked; !asked {
		e.Err = err
	}
	in.scope.events.send(in.scope.storeCtx, e)
	return value, err
}

// protect returns a function that calls fn and returns a panic as an error.
// It returns an error if the task has an open question or a fault, even if fn returns none.
func (t *Task) protect(fn func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) (value []byte, err error) {
		call := Protect(func(ctx context.Context, _ state.View) (state.Update, error) {
			var err error
			value, err = fn(ctx)
			return nil, err
		})
		if t.scope.Hooks == nil {
			_, err = call(ctx, t.view)
		} else {
			t.hooked(ctx, func(ctx context.Context) error {
				_, err = call(ctx, t.view)
				return err
			})
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		switch x := t.extrasOrNone(); {
		case x.fault != nil:
			return nil, x.fault
		case x.asked != nil && !IsPause(err):
			return nil, &waitingError{t.ID()}
		}
		return value, err
	}
}

// beginInner returns the inner task with the given key.
// The results of an earlier attempt or run are restored.
func (t *Task) beginInner(key string, sub *Subgraph) (*Task, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.returned.Load() {
		return nil, errNodeReturned
	}
	suffix := t.node.suffix + "~" + innerID(key)
	in := &Task{
		scope: t.scope, node: &Node{Name: t.node.Name, Subgraph: sub, outer: t, suffix: suffix},
		sent: t.sent, view: t.view,
	}
	x := t.ensureExtras()
	var before *Task
	at := slices.IndexFunc(x.inner, func(other *Task) bool { return other.node.suffix == suffix })
	if at >= 0 {
		before = x.inner[at]
	}
	if x.keys[suffix] || before != nil && !before.returned.Load() {
		err := fmt.Errorf("task %q: %w", key, ErrDuplicateKey)
		t.addFault(err)
		return nil, err
	}
	if x.keys == nil {
		x.keys = map[string]bool{}
	}
	x.keys[suffix] = true // no id of a question begins with ~
	in.watched.Store(t.watched.Load())
	if t.location != nil {
		in.location = &Location{Run: t.location.Run, Path: t.location.Path, Node: t.location.Node, Task: in.ID()}
	}
	if before != nil { // of an earlier attempt
		in.saved, in.nextIndex = before.saved, before.nextIndex
		in.ensureExtras().once = before.extrasOrNone().once
		x.inner[at] = in
	} else {
		if t.scope.pending != nil {
			in.restore()
		}
		x.inner = append(x.inner, in)
	}
	x.storing.Add(1)
	return in, nil
}

// endInner ends an inner task. The task t gets its questions and its fault.
func (t *Task) endInner(in *Task) {
	asked, fault := in.close()
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.ensureExtras()
	if fault != nil {
		t.addFault(fault)
	}
	if len(asked) > 0 {
		x.asked = append(x.asked, asked...)
		slices.SortStableFunc(x.asked, func(a, b Pause) int { return strings.Compare(a.Path, b.Path) })
	}
	x.storing.Done()
}

// maxInnerID is the length above which the key of an inner task is shortened, in bytes.
// Stores index the ids of tasks.
const maxInnerID = 128

// innerID returns the key of an inner task in the form in which it is part of a task id.
// Different keys have different ids.
// It escapes the characters that separate the parts of ids, paths and namespaces, and bytes that a
// store may not accept. Of a long key, it keeps the beginning and adds a hash.
func innerID(key string) string {
	var id strings.Builder
	for i, r := range key {
		if r != utf8.RuneError && unicode.IsPrint(r) && !strings.ContainsRune("%~/@[", r) {
			id.WriteRune(r)
			continue
		}
		_, size := utf8.DecodeRuneInString(key[i:])
		for _, b := range []byte(key[i : i+size]) {
			fmt.Fprintf(&id, "%%%02X", b)
		}
	}
	if id.Len() <= maxInnerID {
		return id.String()
	}
	sum := sha256.Sum256([]byte(key))
	return strings.ToValidUTF8(id.String()[:maxInnerID/2], "") + "[" + hex.EncodeToString(sum[:16]) // no other id has a [
}
