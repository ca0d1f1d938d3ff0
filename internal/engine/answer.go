package engine

import (
	"encoding/json"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
)

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

// openQuestions returns the end of an error text: whether there are open questions.
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
