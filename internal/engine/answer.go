package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/state"
)

// ErrNoQuestion reports an answer to a question that is not open.
var ErrNoQuestion = errors.New("no open question has this id")

// recordAnswers records the answers of the caller before the checkpoint is restored.
// So restore can skip the sent writes of tasks that do not run.
// The method applyEdits checks the answers later.
func (r *run) recordAnswers(in *input) {
	r.answersOnly = len(in.answers) > 0 && len(in.writes) == 0 && !in.hasTargets()
	r.answers = make(map[string]json.RawMessage, len(in.answers))
	r.given = make(map[string]bool, len(in.answers))
	for _, a := range in.answers {
		r.answers[a.ID], r.given[a.ID] = a.Value, true
	}
}

// applyEdits applies the caller's answers, writes and targets to the current checkpoint.
// It also stores them as pending writes, so that a crash does not lose them.
func (r *run) applyEdits(in input) error {
	var stored []checkpoint.Write
	given := map[string]bool{}
	for _, a := range in.answers {
		w, err := r.answer(a)
		if err != nil {
			return err
		}
		if given[a.ID] {
			return fmt.Errorf("question %s of interrupt %q was given two answers: %w", a.ID, a.Interrupt, ErrDuplicateKey)
		}
		given[a.ID] = true
		stored = append(stored, w)
	}
	if len(in.writes) > 0 || in.hasTargets() {
		to, err := in.targets(&r.scope)
		if err != nil {
			return err
		}
		own, err := r.encodeEdit(in.writes, to)
		if err != nil {
			return err
		}
		stored = append(stored, own...)
		callers := r.pending.task("")
		callers.targets, callers.sends = append(callers.targets, to.targets...), append(callers.sends, to.sends...)
		r.addTargets(callers)
		if err := r.amend(in.writes); err != nil {
			return err
		}
	}
	if len(stored) == 0 || r.log == nil {
		return nil
	}
	r.hasPending = true
	return r.log.write(r.storeCtx, r.key(), stored)
}

// answer returns the pending write that stores the answer a.
// It returns [ErrNoQuestion] if the interrupt has no open question with this id.
func (r *run) answer(a Answer) (checkpoint.Write, error) {
	var q openQuestion
	open := false
	if r.pending != nil {
		q, open = r.pending.questions[a.ID]
	}
	if !open {
		return checkpoint.Write{}, fmt.Errorf("question %s of interrupt %q: %w%s", a.ID, a.Interrupt, ErrNoQuestion, r.openQuestions())
	}
	if q.interrupt != a.Interrupt {
		return checkpoint.Write{}, fmt.Errorf("question %s belongs to interrupt %q and not to %q: %w", a.ID, q.interrupt, a.Interrupt, ErrNoQuestion)
	}
	task := r.pending.tasks[q.task]
	data, err := json.Marshal(storedAnswer{ID: a.ID, Value: a.Value})
	w := checkpoint.Write{Task: q.task, Index: task.next, Channel: mark.Answer, Data: data}
	task.next++
	return w, err
}

// openQuestions returns the end of an error text, which says whether there are open questions.
func (r *run) openQuestions() string {
	if r.pending != nil {
		for id := range r.pending.questions {
			if _, answered := r.pending.answers[id]; !answered {
				return "; Snapshot.Pauses has the open questions"
			}
		}
	}
	if r.front.idle() {
		return "; the thread has no open question"
	}
	return "; the thread has no open question; a run without input runs the due tasks, which may ask"
}

// encodeEdit returns the pending writes that store the caller's writes and targets.
func (r *run) encodeEdit(writes state.Update, to routed) ([]checkpoint.Write, error) {
	if r.pending == nil {
		r.pending = &pendingWrites{}
	}
	caller := r.pending.task("")
	e := pendingEncoder{plan: r.plan, index: caller.next}
	for _, w := range writes {
		e.write(w)
	}
	e.routes(to.targets, to.sends)
	caller.next = e.index
	return e.out, e.err
}
