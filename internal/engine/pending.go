package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

// storeResult stores the outcome of a task as pending writes.
// A later run needs them if this run cannot commit the superstep.
// A failure is not stored if the end of the run may have caused it.
func (r *run) storeResult(t *Task) error {
	if r.log == nil || t.err != nil && r.ctx.cause() != nil || t.drained() && r.pack == nil {
		return nil
	}
	if r.pack != nil && (t.drained() || errors.Is(t.extrasOrNone().fault, checkpoint.ErrConflict)) {
		return t.err // the task is still due, or another process runs it too and was faster in a subgraph
	}
	writes, err := t.result()
	if err != nil { // the result cannot be encoded, so the task fails
		t.finished, t.err = false, t.fail(err)
		writes, err = t.result()
	}
	if err != nil {
		return err
	}
	r.touched.Store(true)
	err = r.log.write(r.storeCtx, r.key(), writes)
	if r.log.mode == Sync && t.err == nil && (errors.Is(err, checkpoint.ErrTooLarge) || errors.Is(err, checkpoint.ErrInvalid)) {
		// The store rejects only this result, so the task fails and not the run.
		// Under the other modes, the error may belong to an earlier write.
		t.finished, t.ensureExtras().pauses, t.err = false, nil, t.fail(err)
		return r.storeResult(t)
	}
	return r.failCallers(err)
}

// drained reports whether the task ended because a subgraph in it was drained.
func (t *Task) drained() bool { return t.drainedBy(t.err) }

// drainedBy reports whether err is [ErrDrained] of the run of the task, and not of another run.
func (t *Task) drainedBy(err error) bool { return errors.Is(err, ErrDrained) && t.scope.ctx.drained() }

// DrainedIn reports whether err is [ErrDrained] of the run of ctx, and not of another run.
func DrainedIn(ctx context.Context, err error) bool {
	t := TaskOf(ctx)
	return t != nil && t.drainedBy(err)
}

// result returns the pending writes that hold the outcome of the task.
func (t *Task) result() ([]checkpoint.Write, error) {
	switch {
	case t.extrasOrNone().pauses != nil:
		w, err := encodeMark(t.ID(), mark.Ask, indexAsk, t.extrasOrNone().pauses)
		writes := []checkpoint.Write{w}
		if t.saved != nil && t.saved.failed { // a stored failure hides the question
			writes = append(writes, checkpoint.Write{Task: t.ID(), Index: indexError, Channel: mark.Gone})
		}
		return writes, err
	case t.err != nil:
		failure := checkpoint.Write{Task: t.ID(), Index: indexError, Channel: mark.Error, Data: []byte(t.err.Error())}
		if !t.asksAgain() {
			return []checkpoint.Write{failure}, nil
		}
		failure.Kind = mark.AsksAgain
		w, err := encodeMark(t.ID(), mark.Ask, indexAsk, t.saved.pauses) // store the question again: after an earlier failure of the task, a checkpoint.StatusLister no longer counts it
		return []checkpoint.Write{w, failure}, err
	}
	e := pendingEncoder{plan: t.scope.plan, task: t.ID(), index: t.nextIndex}
	for _, w := range t.writes {
		e.write(w)
	}
	e.routes(t.targets, t.extrasOrNone().sends)
	for _, w := range t.extrasOrNone().toParent {
		stored, err := t.scope.encodeParentWrite(w)
		if err != nil {
			return nil, err
		}
		e.addJSON(mark.Parent, stored)
	}
	if persistent := t.extrasOrNone().persistent; persistent != nil {
		e.addJSON(mark.Persist, persistent)
	}
	e.end()
	if pack := t.scope.pack; pack != nil && e.err == nil {
		return pack(e.out), nil
	}
	return e.out, e.err
}

// asksAgain reports whether the run refused the answer to a question of the task.
func (t *Task) asksAgain() bool {
	s := t.scope.session
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.saved != nil && slices.ContainsFunc(t.saved.pauses, func(p Pause) bool {
		return p.Kind == Question && slices.Contains(s.refused, p.ID)
	})
}

// restore restores the outcome that an earlier run stored for the task.
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
		if saved.sends == nil && saved.persistent == nil && saved.toParent == nil {
			return
		}
		x := t.ensureExtras()
		x.sends, x.persistent = saved.sends, saved.persistent
		for _, stored := range saved.toParent {
			w, err := t.scope.decodeParentWrite(stored)
			if err != nil {
				t.finished, t.err = false, t.fail(err)
			}
			x.toParent = append(x.toParent, w)
		}
	case saved.asked && t.scope.stillWaits(saved.pauses):
		t.ensureExtras().pauses = saved.pauses
	}
}

// stillWaits reports whether a task with these pauses need not run again.
// It returns true if the caller gave only answers, and all pauses are open questions.
func (s *session) stillWaits(pauses []Pause) bool {
	return s.answersOnly && len(pauses) > 0 && !slices.ContainsFunc(pauses, func(p Pause) bool {
		_, ok := s.answers[p.ID]
		return ok || p.Kind != Question
	})
}
