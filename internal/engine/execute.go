package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// tasks returns the tasks of the due superstep.
// Plain tasks come first, sorted by node name, then sent tasks in the order of the sends.
// It restores the stored outcome of a task from the pending writes.
func (s *scope) tasks() []Task {
	f := &s.front
	tasks := make([]Task, len(f.next)+len(f.sends))
	for i, n := range f.next {
		t := &tasks[i]
		t.scope, t.node, t.view = s, n, s.view
	}
	for i := range f.sends {
		t, sent := &tasks[len(f.next)+i], &f.sends[i]
		t.scope, t.node, t.view, t.sent = s, sent.node, sent.view, i+1
		switch {
		case sent.err != nil:
			t.err = t.fail(fmt.Errorf("the sent writes cannot be applied: %w", sent.err))
		case sent.over:
			t.view = s.after(sent.writes)
		case s.Logger != nil:
			t.view = statecore.WatchSent(sent.view, s.view, t.logMissed)
		}
	}
	if s.pending != nil {
		for i := range tasks {
			tasks[i].restore()
		}
	}
	return tasks
}

// logMissed logs that the sent task read a channel that was not sent to it.
// It logs each pair of a node and a channel once in a run.
func (t *Task) logMissed(channel string) {
	s := t.scope
	s.mu.Lock()
	key := [2]string{t.node.Name, channel}
	known := s.loggedUnsent[key]
	if s.loggedUnsent == nil {
		s.loggedUnsent = map[[2]string]bool{}
	}
	s.loggedUnsent[key] = true
	s.mu.Unlock()
	if !known {
		s.Logger.Warn("graph: a sent task reads a channel that was not sent to it, and sees no value; add it to the Send, or use SendOver",
			"graph", s.plan.Name, "thread", s.thread, "node", t.node.Name, "task", t.ID(), "channel", channel)
	}
}

// execute calls the node and records the outcome in the task.
func (t *Task) execute() {
	update, err := t.call()
	open, fault := t.close()
	switch {
	case fault != nil && !errors.Is(err, fault):
		err = errors.Join(fault, err)
	case fault != nil:
	case open != nil:
		t.ensureExtras().pauses = open
		return
	case err == nil:
		err = t.split(update)
	}
	if err != nil {
		t.err = t.fail(err)
		return
	}
	t.finished = true
	if ns := t.extrasOrNone().ended; ns != "" {
		t.scope.log.writer.drop(ns)
	}
}

// call calls the node with its middleware.
// If the node ends its goroutine with runtime.Goexit, the task fails.
func (t *Task) call() (update state.Update, err error) {
	returned := false
	defer func() {
		if !returned {
			_, _ = t.close()
			t.err = t.fail(errExited)
		}
	}()
	run := t.node.Run
	if wrap := t.scope.wrap; wrap != nil {
		run = wrap(t.node)
	}
	if t.scope.Hooks == nil {
		update, err = run(t, t.view)
	} else {
		t.hooked(&hookedTask{t.scope.stepCtx, t}, func(ctx context.Context) error {
			update, err = run(ctx, t.view)
			return err
		})
	}
	returned = true
	return update, err
}

// close marks the node as returned and waits for calls of storeNow to end.
// It returns the open questions of the task.
// It also returns an error that fails the task, even if the node returned nil.
func (t *Task) close() (open []Pause, fault error) {
	t.returned.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.extras
	if x == nil {
		return nil, nil
	}
	t.mu.Unlock() // a call of storeNow needs the lock to end
	x.storing.Wait()
	t.mu.Lock()
	return x.asked, x.fault
}

// ended returns the event TaskFinished of a task that has run.
func (t *Task) ended() Event {
	e := t.event(TaskFinished, time.Now())
	e.Update, e.Asked, e.Err = t.writes, t.extrasOrNone().pauses != nil, t.err
	return e
}

// hooked calls fn inside the hook of the task.
// The end of the hook may still store side effects of the task.
func (t *Task) hooked(ctx context.Context, fn func(context.Context) error) {
	ctx, end := t.scope.Hooks.Enter(ctx, TaskPart, t.running())
	o := &Outcome{Err: errExited} // for a node that ends its goroutine with runtime.Goexit
	defer func() {
		t.mu.Lock()
		switch x := t.extrasOrNone(); {
		case x.fault != nil:
			o.Err = x.fault
		case x.asked != nil:
			o.Paused, o.Err = true, nil
		}
		t.mu.Unlock()
		end(o)
	}()
	o.Err = fn(ctx)
}
