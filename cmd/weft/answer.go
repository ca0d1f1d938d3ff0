package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/weft-go/weft/internal/stored"
)

const answerUsage = `usage: weft threads answer THREAD [QUESTION] ANSWER [flags]

Answers an open question of a thread. ANSWER is JSON: a text needs quotes, as in '"yes"'; a dash reads it
from the standard input. QUESTION is the id that weft threads show prints, and can be left out if only one
question is open. If the prompt of the question has a JSON schema in the field "schema", the answer is
checked against it, and weft threads show prints an example. The answer to the approval of a call is
{"verdict": "approve", "hash": HASH} or {"verdict": "reject", "hash": HASH, "reason": TEXT}, with the hash in
its prompt.

With -server, the server stores the answer and runs the thread on. With -db, the answer is stored only:
this command does not have the nodes of the graph. The next run of the thread uses it, such as one of
weft threads resume.
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
	if err != nil {
		return err
	}
	if err := t.answer(ctx, thread, q.ID, value); err != nil {
		return err
	}
	what := "The answer is stored, and the server runs the thread on."
	if c.source.server == "" {
		what = "The answer is stored. The next run of the thread uses it."
	}
	say(c.out, "%s", what)
	return nil
}

// openQuestion returns the question with an id, or the only one.
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

// answer gives the answer to the server. Its errors of commands come with status 200.
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
