package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/stored"
)

const answerUsage = `usage: weft threads answer THREAD [QUESTION] ANSWER [flags]

Answers an open question of a thread. ANSWER is JSON: a text needs quotes, as in '"yes"'; a dash reads it
from the standard input. QUESTION is the id that weft threads show prints, and can be left out if only one
question is open. If the prompt of the question has a JSON schema in the field "schema", the answer is
checked against it, and weft threads show prints an example. The answer to the approval of a call is
{"verdict": "approve", "hash": HASH}, {"verdict": "reject", "hash": HASH, "reason": TEXT} or
{"verdict": "edit", "hash": HASH, "arguments": {...}} with all arguments of the call; the hash is in its prompt.

With -server, the server stores the answer and runs the thread on. This command waits up to ten seconds for
the end of that run, and fails if the run does, as when the node cannot read the answer. With -db, the answer
is stored only: this command does not have the nodes of the graph. The next run of the thread uses it, such
as one of weft threads resume. Until then, another answer replaces it if the QUESTION is named, unless a run that
was drained, cancelled or killed has used the first one.
`

func runAnswer(ctx context.Context, args []string, std *streams) (err error) {
	c := newCall(std, answerUsage).ofDatabase().ofServer()
	if err := c.parse(args, "THREAD", "ANSWER", "[ANSWER]"); err != nil {
		return err
	}
	thread, id, text := c.args[0], "", c.args[len(c.args)-1]
	if len(c.args) == 3 {
		id = c.args[1]
	}
	value, err := c.readJSON(text)
	if err != nil {
		return err
	}
	t, err := c.source.threads(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	v, err := t.show(ctx, thread)
	if err != nil {
		return err
	}
	q, err := openQuestion(v, id)
	if db, ok := t.(*storedThreads); ok && err != nil {
		return c.replaceAnswer(ctx, db, thread, id, value, err)
	}
	if err != nil {
		return err
	}
	if err := t.answer(ctx, thread, q.ID, value); err != nil {
		return err
	}
	if served, ok := t.(*servedThreads); ok {
		return c.followAnswer(ctx, served, thread)
	}
	c.answerStored(q.Prompt)
	return nil
}

// answerStored prints that the next run of the thread uses the stored answer. If the prompt has no schema, it also prints
// that the answer is unchecked.
func (c *call) answerStored(prompt json.RawMessage) {
	if !stored.HasSchema(prompt) {
		say(c.out, "The answer is stored unchecked, because the question has no schema. The next run of the thread uses it, and fails if the node cannot read it.")
		return
	}
	say(c.out, "The answer is stored. The next run of the thread uses it.")
}

// replaceAnswer replaces an answer that no finished task has used. If question is empty or has no such answer, replaceAnswer
// returns the error none, extended by the questions that have such an answer.
func (c *call) replaceAnswer(ctx context.Context, t *storedThreads, thread, question string, value json.RawMessage, none error) error {
	answered, err := t.answered(ctx, thread)
	if err != nil {
		return err
	}
	if prompt, ok := answered[question]; ok {
		if err := stored.Replace(ctx, t.db.checkpoints, thread, question, value); err != nil {
			return fmt.Errorf("answer thread %q: %w", thread, err)
		}
		c.answerStored(prompt)
		say(c.out, "It replaces the earlier answer, unless a run that was drained, cancelled or killed has used that one.")
		return nil
	}
	for _, id := range sortedKeys(answered) {
		none = fmt.Errorf("%w; the question %s has an answer that no finished task has used; weft threads answer %s %s ANSWER replaces it", none, id, cell(thread), id)
	}
	return none
}

// answered returns the prompts of the questions whose answers no finished task has used.
func (t *storedThreads) answered(ctx context.Context, thread string) (map[string]json.RawMessage, error) {
	for c, err := range t.db.checkpoints.List(ctx, checkpoint.Query{Thread: thread, Limit: 1, Writes: true}) {
		if err != nil {
			return nil, fmt.Errorf("thread %q: %w", thread, err)
		}
		return stored.Answered(&c), nil
	}
	return nil, nil
}

// answerTime is the longest time that the command waits for the end of the run that uses an answer.
const answerTime = 10 * time.Second

// followAnswer waits for the end of the run that uses an answer, and prints the status of the thread after the run. It returns
// an error if the run did not succeed.
func (c *call) followAnswer(ctx context.Context, t *servedThreads, thread string) error {
	r, err := t.newestRun(ctx, thread)
	switch {
	case err != nil && !hasStatus(err, http.StatusForbidden, http.StatusNotFound):
		return fmt.Errorf("the answer is stored, and it is unknown how its run ends: %w", err)
	case err != nil || r == nil: // the user may not read runs, or the run is removed
		say(c.out, "The answer is stored, and the server runs the thread on; weft threads show %s prints how it stands.", cell(thread))
		return nil
	case slices.Contains(waiting, r.Status):
		say(c.out, "The answer is stored, and the server runs the thread on; weft runs join %s waits for its end.", cell(r.ID))
		return nil
	}
	v, err := t.show(ctx, thread)
	if err != nil {
		return err
	}
	open := ""
	if len(v.Questions) > 0 {
		open = fmt.Sprintf("; weft threads show %s prints the open question", cell(thread))
	}
	switch {
	case r.Error != nil:
		return fmt.Errorf("the run %s with the answer has failed: %s; the thread is %s%s", r.ID, oneLine(r.Error.Message, 500), v.Status, open)
	case r.Status != "success":
		return fmt.Errorf("the run %s with the answer has ended with the status %s; the thread is %s%s", r.ID, r.Status, v.Status, open)
	}
	say(c.out, "The answer is stored, and the server has run the thread on. The thread is %s%s.", cell(v.Status), open)
	return nil
}

// newestRun returns the newest run of a thread, or nil if there is none. It waits for the end of the run for up to answerTime.
func (t *servedThreads) newestRun(ctx context.Context, thread string) (*runView, error) {
	list, err := t.c.runs(ctx, map[string]any{"thread_id": thread}, 1)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	r, late := &list[0], time.After(answerTime)
	for wait := 20 * time.Millisecond; slices.Contains(waiting, r.Status); wait = min(2*wait, joinPause) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-late:
			return r, nil
		case <-time.After(wait):
		}
		if list, err = t.c.runs(ctx, map[string]any{"run_ids": []string{r.ID}}, 1); err != nil || len(list) == 0 {
			return nil, err
		}
		r = &list[0]
	}
	return r, nil
}

// openQuestion returns the open question with the given id. If id is empty, it returns the only open question.
func openQuestion(v *threadView, id string) (*question, error) {
	var ids []string
	for i := range v.Questions {
		if q := &v.Questions[i]; q.ID == id || id == "" && len(v.Questions) == 1 {
			return q, nil
		}
		ids = append(ids, v.Questions[i].ID)
	}
	switch {
	case len(ids) == 0:
		return nil, fmt.Errorf("thread %q has no open question", v.ID)
	case id == "":
		return nil, fmt.Errorf("%w: thread %q has %d open questions; name one: %s", errUsage, v.ID, len(ids), strings.Join(ids, ", "))
	}
	return nil, fmt.Errorf("thread %q has no open question %s; it has %s", v.ID, id, strings.Join(ids, ", "))
}

func (t *storedThreads) answer(ctx context.Context, thread, question string, value json.RawMessage) error {
	err := stored.Answer(ctx, t.db.checkpoints, thread, question, value)
	if err != nil {
		return fmt.Errorf("answer thread %q: %w", thread, err)
	}
	return nil
}

// answer sends the answer to the server. The server reports the error of a command in a response with the status 200.
func (t *servedThreads) answer(ctx context.Context, thread, question string, value json.RawMessage) error {
	var result struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	body := map[string]any{"id": 1, "method": "input.respond", "params": map[string]any{"interrupt_id": question, "response": value}}
	if err := t.c.call(ctx, http.MethodPost, path(thread)+"/commands", body, &result); err != nil {
		return err
	}
	if result.Error != "" {
		return fmt.Errorf("the server refuses the answer: %s", result.Message)
	}
	return nil
}

// readJSON reads an argument that is JSON. A dash stands for the standard input.
func (c *call) readJSON(text string) (json.RawMessage, error) {
	data := []byte(text)
	if text == "-" {
		var b bytes.Buffer
		if _, err := b.ReadFrom(c.in); err != nil {
			return nil, err
		}
		data = b.Bytes()
	}
	data = bytes.TrimSpace(data)
	if !json.Valid(data) {
		return nil, fmt.Errorf(`%w: the answer is not JSON: a text needs quotes, as in '"yes"'`, errUsage)
	}
	return data, nil
}
