package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/internal/stored"
	"github.com/weft-go/weft/server/runs"
)

// The codes of errors of the thread-centric protocol.
const (
	codeInvalid     = "invalid_argument"
	codeUnknown     = "unknown_command"
	codeFailed      = "unknown_error"
	codeNoRun       = "no_such_run"
	codeNoInterrupt = "no_such_interrupt"

	codeNoSubscription = "no_such_subscription"
	codeDenied         = "permission_denied"
)

// treeCommand is the only command that changes nothing.
const treeCommand = "agent.getTree"

// A commandError is the failure of a command of the thread-centric protocol.
type commandError struct{ code, text string }

func (e *commandError) Error() string { return e.text }

type commandBody struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	bytes int64 // of a large command of a WebSocket, as they count for the user
	after int64 // the number of the last event before the events of the run that the command starts
}

// command executes a command of the thread-centric protocol. A failed command has the status 200, a malformed command
// the status 400, and a command during an outage of a store the status 503.
func (c *call) command() error {
	thread, err := c.id("thread")
	if err != nil {
		return err
	}
	data, err := c.read()
	if err != nil {
		return err
	}
	var b commandBody
	if err := json.Unmarshal(data, &b); err != nil {
		return refuse(http.StatusBadRequest, "The command is not a JSON object.")
	}
	if err := b.check(); err != nil {
		return c.sendStatus(http.StatusBadRequest, commandFailure(b.ID, err))
	}
	if c.s.o.ReadOnly && b.Method != treeCommand {
		return errReadOnly
	}
	log, err := c.s.openLog(c.ctx(), thread)
	if err != nil {
		return err
	}
	defer c.s.closeLog(log)
	result, err := c.execute(log, &b)
	if isOutage(err) {
		return err
	}
	return c.send(c.response(log, &b, result, err))
}

// check returns an error if a command is malformed.
func (b *commandBody) check() error {
	var id int64
	if err := json.Unmarshal(orNull(b.ID), &id); err != nil || b.Method == "" || len(b.ID) == 0 {
		return &commandError{codeInvalid, "A command has a number as its id, and a method."}
	}
	return nil
}

// answer executes a command and returns its response.
func (c *call) answer(log *threadLog, b *commandBody) map[string]any {
	if c.s.o.ReadOnly && b.Method != treeCommand { // the request of a WebSocket is a GET, which a read-only server accepts
		return commandFailure(b.ID, &commandError{codeDenied, errReadOnly.Detail})
	}
	result, err := c.execute(log, b)
	return c.response(log, b, result, err)
}

// response returns the response to a command, and logs an error whose text the client does not get.
func (c *call) response(log *threadLog, b *commandBody, result any, err error) map[string]any {
	if err != nil {
		if _, ok := errors.AsType[*Refusal](err); !ok && !errors.As(err, new(*commandError)) && c.ctx().Err() == nil {
			c.s.o.Logger.Error("server: a command failed", "method", shortened(b.Method), "thread", log.thread, "error", err)
		}
		return commandFailure(b.ID, err)
	}
	return c.success(log, b, result)
}

// success returns the response to a command. No event says that a question was answered, so a client that reads the
// events of the run takes the questions up to applied_through_seq as answered.
func (c *call) success(log *threadLog, b *commandBody, result any) map[string]any {
	seq := lastSeq(b.after)
	if _, err := c.getFor(ActionRead, runs.Thread, log.thread); err != nil {
		seq = 0 // hide from the client that a thread of another user has events
	}
	return map[string]any{
		"type": "success", "id": b.ID, "result": result, "meta": map[string]any{"thread_id": log.thread, "applied_through_seq": seq},
	}
}

func commandFailure(id json.RawMessage, err error) map[string]any {
	code := codeFailed
	if e, ok := errors.AsType[*commandError](err); ok {
		code = e.code
	}
	text := "The command failed."
	if _, ok := errors.AsType[*commandError](err); ok {
		text = err.Error()
	} else if r, ok := errors.AsType[*Refusal](err); ok {
		text = r.Detail
	} else if isOutage(err) {
		text = unavailableText
	}
	return map[string]any{"type": "error", "id": orNull(id), "error": code, "message": text}
}

func (c *call) execute(log *threadLog, b *commandBody) (any, error) {
	b.after = log.end()
	switch b.Method {
	case "run.start":
		return c.startCommand(log, b)
	case "input.respond":
		return c.respond(log, b)
	case treeCommand:
		return c.tree(log, b.Params)
	}
	return nil, &commandError{codeUnknown, "There is no command " + shortened(b.Method) + "."}
}

type startParams struct {
	Assistant string          `json:"assistant_id"`
	Input     json.RawMessage `json:"input"`
	Config    *config         `json:"config"`
	Metadata  json.RawMessage `json:"metadata"`
	Multitask string          `json:"multitask_strategy"`
	Older     string          `json:"multitaskStrategy"` // the name in older clients
}

// startCommand starts a run. It creates the thread if there is none. If the thread has an open question, the input is the
// answer, and an input that does not fit the question is refused.
func (c *call) startCommand(log *threadLog, b *commandBody) (any, error) {
	var p startParams
	if err := json.Unmarshal(orEmpty(b.Params), &p); err != nil {
		return nil, &commandError{codeInvalid, "The parameters cannot be read."}
	}
	if p.Assistant == "" {
		return nil, &commandError{codeInvalid, "assistant_id is missing."}
	}
	q := &runRequest{
		Assistant: p.Assistant, Input: p.Input, Config: p.Config, Metadata: p.Metadata, Multitask: cmp.Or(p.Multitask, p.Older), IfNotExists: "create", StreamResumable: true,
	}
	if id := q.at(); id != "" && !isUUID(id) {
		return nil, &commandError{codeInvalid, "The id of the checkpoint is not valid."}
	}
	snap, err := c.idleSnapshot(log.thread)
	if err != nil {
		return nil, err
	}
	b.after = log.end()
	if open := openQuestions(snap); len(open) > 0 && q.at() == "" && string(orNull(p.Input)) != "null" {
		if _, err := readAnswers(p.Input, open); err != nil {
			return nil, &commandError{codeInvalid, "The thread waits for an answer, so the input is taken as the answer: " + err.Error() + ". Answer with input.respond, and send the message then."}
		}
		q.Input, q.Command = nil, &command{Resume: p.Input}
	}
	a, err := c.start(q, log.thread)
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": a.id}, nil
}

const waitBusy = 5 * time.Second

// waitIdle waits up to waitBusy for the end of the runs of a thread, so that their questions are known.
func (c *call) waitIdle(thread string) {
	timer := time.NewTimer(waitBusy)
	defer timer.Stop()
	if c.s.o.Queue != nil {
		c.waitShared(thread)
		return
	}
	for {
		c.s.mu.Lock()
		var done chan struct{}
		if l := c.s.lanes[thread]; l != nil && len(l.runs) > 0 {
			done = l.runs[0].done
		}
		c.s.mu.Unlock()
		if done == nil {
			return
		}
		select {
		case <-done:
		case <-timer.C:
			return
		case <-c.ctx().Done():
			return
		}
	}
}

// waitShared waits up to waitBusy for the end of the runs of a thread, whichever servers execute them.
func (c *call) waitShared(thread string) {
	ctx, cancel := context.WithTimeout(c.ctx(), waitBusy)
	defer cancel()
	for ctx.Err() == nil && c.s.ctx.Err() == nil {
		list, err := c.s.unfinished(ctx, thread)
		if err != nil || len(list) == 0 {
			return
		}
		<-c.s.endOfRun(ctx, thread, list[0].ID)
	}
}

// idleSnapshot waits up to waitBusy for the end of the runs of a thread, and returns its newest state, or nil if there is
// none.
func (c *call) idleSnapshot(thread string) (*graph.Snapshot, error) {
	if _, err := c.getFor(ActionRead, runs.Thread, thread); err != nil { // the permission for the run is checked when the run starts
		if isNotFound(err) {
			return nil, nil // the run will create the thread, or refuse a hidden one
		}
		return nil, err
	}
	c.waitIdle(thread)
	r, err := c.s.o.Runs.Get(c.ctx(), runs.Thread, thread)
	if errors.Is(err, runs.ErrNotFound) || err == nil && c.s.graphs[r.Graph] == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	snap, err := c.s.graphs[r.Graph].graph.Thread(thread).Snapshot(c.ctx())
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil, nil
	}
	return snap, err
}

func openQuestions(snap *graph.Snapshot) []graph.Pause {
	var open []graph.Pause
	if snap != nil {
		for _, p := range snap.Pauses {
			if p.Kind == graph.Question {
				open = append(open, p)
			}
		}
	}
	return open
}

type respondParams struct {
	Interrupt string          `json:"interrupt_id"`
	Response  json.RawMessage `json:"response"`
	Responses []struct {
		Interrupt string          `json:"interrupt_id"`
		Response  json.RawMessage `json:"response"`
	} `json:"responses"`
	Update   json.RawMessage `json:"update"`
	Goto     json.RawMessage `json:"goto"`
	Config   *config         `json:"config"`
	Metadata json.RawMessage `json:"metadata"`
}

// respond answers open questions.
func (c *call) respond(log *threadLog, b *commandBody) (any, error) {
	var p respondParams
	if err := json.Unmarshal(orEmpty(b.Params), &p); err != nil {
		return nil, &commandError{codeInvalid, "The parameters cannot be read."}
	}
	answers := map[string]json.RawMessage{}
	for _, r := range p.Responses {
		answers[r.Interrupt] = orNull(r.Response)
	}
	if p.Interrupt != "" {
		answers[p.Interrupt] = orNull(p.Response)
	}
	if len(answers) == 0 || answers[""] != nil {
		return nil, &commandError{codeInvalid, "interrupt_id is missing."}
	}
	snap, err := c.idleSnapshot(log.thread)
	if err != nil {
		return nil, err
	}
	b.after = log.end()
	prompts := map[string]json.RawMessage{}
	for _, q := range openQuestions(snap) {
		prompts[q.ID] = q.Prompt
	}
	for id, answer := range answers {
		prompt, known := prompts[id]
		if !known {
			return nil, &commandError{codeNoInterrupt, "The thread has no open question " + shortened(id) + "."}
		}
		if _, err := stored.CheckAnswer(prompt, answer); err != nil { // the run itself converts the answer to the checked form
			return nil, &commandError{codeInvalid, "Question " + id + ": " + err.Error() + "."}
		}
	}
	r, err := c.getFor(ActionRead, runs.Thread, log.thread)
	if err != nil {
		return nil, err
	}
	q := &runRequest{
		Assistant: r.Graph, Config: p.Config, Metadata: p.Metadata, Command: &command{Resume: encoded(answers), Update: p.Update, Goto: p.Goto},
	}
	if _, err := c.start(q, log.thread); err != nil {
		return nil, err
	}
	return emptyObject, nil
}
