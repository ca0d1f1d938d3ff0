package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// tasks returns the tasks of the superstep that is due: plain ones by name, then
// the sent ones. The outcome of a task is restored from its pending writes.
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
			t.err = t.fail(fmt.Errorf("what was sent cannot be applied: %w", sent.err))
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

// logMissed logs that the task read a channel which was not sent to it, once in a run
// for each node and channel.
func (t *Task) logMissed(channel string) {
	s := t.scope
	s.mu.Lock()
	key := [2]string{t.node.Name, channel}
	known := s.missed[key]
	if s.missed == nil {
		s.missed = map[[2]string]bool{}
	}
	s.missed[key] = true
	s.mu.Unlock()
	if !known {
		s.Logger.Warn("graph: a sent task reads a channel that was not sent to it, and sees no value; add it to the Send",
			"graph", s.plan.Name, "thread", s.thread, "node", t.node.Name, "task", t.ID(), "channel", channel)
	}
}

// execute runs the node and keeps the outcome.
func (t *Task) execute() {
	update, err := t.call()
	open, fault := t.close()
	switch {
	case fault != nil && !errors.Is(err, fault):
		err = errors.Join(fault, err)
	case fault != nil:
	case open != nil:
		t.own().pauses = open
		return
	case err == nil:
		err = t.split(update)
	}
	if err != nil {
		t.err = t.fail(err)
		return
	}
	t.finished = true
	if ns := t.extra().ended; ns != "" {
		t.scope.log.writer.drop(ns)
	}
}

// call runs the node. A node that ends its goroutine fails; see workers.
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
	update, err = run(t, t.view)
	returned = true
	return update, err
}

// close marks the node as returned, and waits until goroutines of the node have stored
// their results. It returns the open questions, and a failure that counts even if the
// node ignored it.
func (t *Task) close() (open []Pause, fault error) {
	t.over.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.extras
	if x == nil {
		return nil, nil
	}
	t.mu.Unlock()
	x.storing.Wait()
	t.mu.Lock()
	return x.asked, x.fault
}

// ended returns the event of a task that has its outcome.
func (t *Task) ended() Event {
	e := t.event(TaskFinished, time.Now())
	e.Update, e.Asked, e.Err = t.writes, t.extra().pauses != nil, t.err
	return e
}
