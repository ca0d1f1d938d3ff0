package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/schema"
)

var (
	// ErrNoQuestion is returned by [Answer] if the thread has no open question with the id.
	ErrNoQuestion = errors.New("the thread has no open question with this id")
	// ErrNoAnswer is returned by [Replace] if no answer to the question waits for a run.
	ErrNoAnswer = errors.New("no answer to this question waits for a run of the thread")
)

// CheckAnswer returns an answer in the form that the node decodes. If the field "schema" of the prompt is the
// JSON schema of the answers, CheckAnswer returns an error for an answer that does not fit. It returns any
// other answer in the form of [schema.Schema.Check], such as 1 for 1.0. It ignores a schema that it cannot
// read.
func CheckAnswer(prompt, value json.RawMessage) (json.RawMessage, error) {
	s := answerSchema(prompt)
	if s == nil {
		return value, nil // the node decides
	}
	checked, err := s.Check(value)
	if err != nil {
		return nil, fmt.Errorf("the answer does not fit the question: %w", err)
	}
	return checked, nil
}

// HasSchema reports whether [CheckAnswer] checks the answers to a question with this prompt.
func HasSchema(prompt json.RawMessage) bool { return answerSchema(prompt) != nil }

// ExampleAnswer returns an object that [CheckAnswer] accepts. It returns "" if it knows none.
func ExampleAnswer(prompt json.RawMessage) string {
	if s := answerSchema(prompt); s != nil {
		return s.Example()
	}
	return ""
}

// answerSchema returns the schema in a prompt, or nil.
func answerSchema(prompt json.RawMessage) *schema.Schema {
	var p struct {
		Schema json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(prompt, &p) != nil || len(p.Schema) == 0 {
		return nil
	}
	s, err := schema.ParseAny(p.Schema, "the answer")
	if err != nil {
		return nil
	}
	return s
}

// Answer stores the answer to an open question, unless [CheckAnswer] refuses it. The next run of the
// thread uses it. If the store is a [checkpoint.Leaser], Answer leases the thread, and so it returns
// [checkpoint.ErrConflict] while a run holds the thread.
func Answer(ctx context.Context, store checkpoint.Store, thread, question string, value json.RawMessage) error {
	return storeAnswer(ctx, store, thread, question, value, func(p *pending) error {
		if !p.open[question] {
			return ErrNoQuestion
		}
		return nil
	})
}

// Replace is like [Answer], but for a question that [Answered] returns. The next run of the thread uses this answer in
// place of the earlier one, unless a run has already used the earlier one; see [Answered].
func Replace(ctx context.Context, store checkpoint.Store, thread, question string, value json.RawMessage) error {
	return storeAnswer(ctx, store, thread, question, value, func(p *pending) error {
		if !p.answered(question) {
			return ErrNoAnswer
		}
		return nil
	})
}

// Answered returns the prompts of the answered questions whose tasks have neither a result nor a failure, by the ids of
// the questions. A run that was drained, cancelled or killed stores neither for its last tasks, so it may have used one of
// these answers. A subgraph that has continued after its question does not read a later answer.
func Answered(c *checkpoint.Checkpoint) map[string]json.RawMessage {
	p, found := readPending(c.Writes), map[string]json.RawMessage{}
	for id, prompt := range p.prompts {
		if p.answered(id) {
			found[id] = prompt
		}
	}
	return found
}

// answered reports whether a question has an answer, and its task has neither a result nor a
// failure.
func (p *pending) answered(question string) bool {
	task, asked := p.tasks[question]
	return asked && !p.open[question] && !p.failed[task]
}

// storeAnswer stores an answer unless check returns an error for the pending writes of the thread.
func storeAnswer(ctx context.Context, store checkpoint.Store, thread, question string, value json.RawMessage, check func(*pending) error) (err error) {
	if leaser, ok := store.(checkpoint.Leaser); ok {
		lease, err2 := leaser.Lease(ctx, thread)
		if err2 == nil {
			store = lease
			defer func() { err = errors.Join(err, lease.Release(ctx)) }()
		} else if !errors.Is(err2, errors.ErrUnsupported) {
			return err2
		}
	}
	head, err := store.Get(ctx, checkpoint.Key{Thread: thread})
	if err != nil {
		return err
	}
	p := readPending(head.Writes)
	if err := check(&p); err != nil {
		return fmt.Errorf("question %s: %w", question, err)
	}
	if value, err = CheckAnswer(p.prompts[question], value); err != nil {
		return err
	}
	w := checkpoint.Write{Task: p.tasks[question], Channel: mark.Answer}
	for _, other := range head.Writes {
		if other.Task == w.Task {
			w.Index = max(w.Index, other.Index+1)
		}
	}
	if w.Data, err = json.Marshal(answer{ID: question, Value: value}); err != nil {
		return err
	}
	return store.PutWrites(ctx, head.Key, []checkpoint.Write{w})
}
