package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/mark"
)

// A Given is an answer to a question that a task asks.
type Given struct {
	Question string // the id of the question
	Answer   json.RawMessage
	New      bool // no node has read the answer before this run
}

// Ask returns the answer to a question of the task.
// If there is no answer, Ask records the question as open, and returns nil.
// The interrupt and the key together identify a question within its task.
func (t *Task) Ask(interrupt, key string, prompt json.RawMessage) (*Given, error) {
	if t.scope.log == nil {
		return nil, ErrNoStore
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	id, asked := t.questionID(interrupt, key)
	x := t.ensureExtras()
	if x.keys[id] {
		err := fmt.Errorf("interrupt %q, key %q: %w; WaitKey asks each question with a key of its own", interrupt, key, ErrDuplicateKey)
		t.addFault(err)
		return nil, err
	}
	if x.keys == nil {
		x.keys = map[string]bool{}
	}
	x.keys[id] = true
	if answer, answered := t.scope.answers[id]; answered { // the maps do not change while tasks run
		return &Given{id, answer, t.scope.given[id]}, nil
	}
	x.asked = append(x.asked, Pause{
		Kind: Question, ID: id, Node: t.node.Name, Path: joinPath(t.scope.path, t.ID()),
		Interrupt: interrupt, Key: key, Prompt: prompt, Asked: asked,
	})
	return nil, nil
}

// askTime returns the present time in the form in which storage restores it.
func askTime() time.Time { return time.Now().UTC().Round(0) }

// questionID returns the id of a question, and the time at which the question was first asked.
// If an earlier run stored the question, these are the stored id, and the stored time if there is one.
// The id stays the same if the task runs again.
// The caller holds t.mu.
func (t *Task) questionID(interrupt, key string) (id string, asked time.Time) {
	asked = askTime()
	if p := t.storedQuestion(joinPath(t.scope.path, t.ID()), interrupt, key); p != nil {
		if !p.Asked.IsZero() {
			asked = p.Asked
		}
		return p.ID, asked
	}
	for _, former := range t.formerIDs() {
		id := t.questionHash(former, interrupt, key)
		if _, answered := t.scope.answers[id]; answered {
			return id, asked
		}
	}
	return t.questionHash(t.ID(), interrupt, key), asked
}

// storedQuestion returns a question of the task or of an inner task with the given path.
// It returns nil if no earlier run has asked the question. The caller holds the lock of the task.
func (t *Task) storedQuestion(path, interrupt, key string) *Pause {
	if outer := t.node.outer; outer != nil { // the questions of inner tasks are stored with the outermost
		outer.mu.Lock()
		defer outer.mu.Unlock()
		return outer.storedQuestion(path, interrupt, key)
	}
	if t.saved == nil {
		return nil
	}
	return t.saved.question(path, interrupt, key)
}

// questionHash computes the id of a question from the id of the task and other parts.
func (t *Task) questionHash(id, interrupt, key string) string {
	sum := sha256.Sum256([]byte(questionKey(t.scope.thread, t.scope.ns, t.scope.checkpoint, id, interrupt, key)))
	return hex.EncodeToString(sum[:16])
}

// Reject withdraws the answer to a question, so that the question is open again.
// The task and the tasks around it fail with the error why, even if their nodes return no error.
func (t *Task) Reject(question string, why error) error {
	t.mu.Lock()
	t.addFault(why)
	t.mu.Unlock()
	_ = t.scope.failCallers(why)
	s := t.scope.session
	s.mu.Lock()
	s.refused = append(s.refused, question)
	s.mu.Unlock()
	data, err := json.Marshal(storedAnswer{ID: question, Refused: true})
	if err != nil {
		return err
	}
	return t.outermost().storeNow(mark.Answer, data)
}

// outermost returns the task of the outermost graph that contains t.
// The questions of t and their answers are stored with it.
func (t *Task) outermost() *Task {
	for {
		switch {
		case t.node.outer != nil:
			t = t.node.outer
		case t.scope.parent != nil:
			t = t.scope.parent
		default:
			return t
		}
	}
}

// Asked reports whether the task has an open question, or its subgraph a static pause.
// It does not matter whether the node returns the error that it got for the question.
func (t *Task) Asked() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.extrasOrNone().asked != nil
}

// ForgetQuestions removes the questions of a failed attempt before the next attempt.
// The keys of its inner tasks may be used again.
func (t *Task) ForgetQuestions() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.extras != nil {
		t.extras.asked, t.extras.keys = nil, nil
	}
}

// AskedIn reports whether the node of ctx has an open question.
func AskedIn(ctx context.Context) bool {
	t := TaskOf(ctx)
	return t != nil && t.Asked()
}

// IsPause reports whether err comes from a node that waits for an answer.
func IsPause(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Pause() bool
	}](err)
	return ok && p.Pause()
}
