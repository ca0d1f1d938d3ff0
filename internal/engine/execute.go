package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// tasks returns the tasks of the superstep that is due: plain ones by name, then
// the sent ones. What pending writes say about a task is restored.
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

// restore takes over what an earlier run left of the task.
func (t *Task) restore() {
	saved := t.scope.pending.tasks[t.ID()]
	if saved == nil {
		return
	}
	t.saved, t.nextIndex = saved, saved.next
	switch {
	case saved.done:
		t.finished, t.err = true, nil
		t.writes, t.targets = saved.writes, saved.targets
		if saved.sends != nil || saved.persistent != nil {
			t.own().sends, t.own().persistent = saved.sends, saved.persistent
		}
		for _, stored := range saved.toParent {
			w, err := t.scope.decodeParentWrite(stored)
			if err != nil {
				t.finished, t.err = false, t.fail(err)
			}
			t.own().toParent = append(t.own().toParent, w)
		}
	case saved.asked && t.scope.stillWaits(saved.pauses):
		t.own().pauses = saved.pauses
	}
	for key, value := range saved.once {
		if t.own().once == nil {
			t.own().once = map[string]*onceCall{}
		}
		t.own().once[key] = completedCall(value)
	}
}

// stillWaits reports whether a task that asked would only ask again: the caller
// gave answers and nothing else, and none of the task's questions has one.
func (s *session) stillWaits(pauses []Pause) bool {
	return s.answersOnly && len(pauses) > 0 && !slices.ContainsFunc(pauses, func(p Pause) bool {
		_, ok := s.answers[p.ID]
		return ok || p.Kind != Question
	})
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

// call runs the node. A node that ends its goroutine fails; see worker.
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

// close marks the node as returned, and waits for what a goroutine of the node is
// storing. It returns the open questions, and a failure that counts whatever the
// node made of it.
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

// result returns the pending writes that hold the outcome of the task.
func (t *Task) result() ([]checkpoint.Write, error) {
	switch {
	case t.extra().pauses != nil:
		w, err := encodeMark(t.ID(), markAsk, indexAsk, t.extra().pauses)
		return []checkpoint.Write{w}, err
	case t.err != nil:
		return []checkpoint.Write{{Task: t.ID(), Index: indexError, Channel: markError, Data: []byte(t.err.Error())}}, nil
	}
	e := pendingEncoder{plan: t.scope.plan, task: t.ID(), index: t.nextIndex}
	for _, w := range t.writes {
		e.write(w)
	}
	e.routes(t.targets, t.extra().sends)
	for _, w := range t.extra().toParent {
		stored, err := t.scope.encodeParentWrite(w)
		if err != nil {
			return nil, err
		}
		e.addJSON(markParent, stored)
	}
	if persistent := t.extra().persistent; persistent != nil {
		e.addJSON(markPersist, persistent)
	}
	e.add(markDone, 0, nil)
	return e.out, e.err
}

// ended returns the event of a task that has its outcome.
func (t *Task) ended() Event {
	e := t.event(TaskFinished, time.Now())
	e.Update, e.Asked, e.Err = t.writes, t.extra().pauses != nil, t.err
	return e
}
