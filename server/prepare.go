package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A requestError is a mistake in a request that shows when the run begins.
type requestError struct{ name, text string }

func (e *requestError) Error() string { return e.text }

func wrongInput(format string, args ...any) error {
	return &requestError{name: "InvalidUpdateError", text: fmt.Sprintf(format, args...)}
}

// A prepared run knows how it begins.
type prepared struct {
	thread *graph.Thread
	input  state.Update
	// before is the newest state of the thread before the run; nil for a new thread. base is the
	// id of the checkpoint at which the run begins, and inputs the number of inputs of its state.
	before *graph.Snapshot
	base   string
	inputs int
	begins bool            // the run begins a new turn
	paused bool            // the run has stopped at a static pause already, and another server has not stored its end
	silent bool            // clients do not see the state at its beginning
	raw    json.RawMessage // the input as the client wrote it
	err    error
}

// prepare reads the state of the thread and makes the input of the run. On a thread that another
// server left in the middle of this run, the run resumes.
func (s *Server) prepare(a *activeRun) (*prepared, error) {
	ctx := context.WithoutCancel(a.ctx)
	q, p := &a.data.Request, &prepared{}
	th := a.g.graph.Thread(a.thread)
	newest, err := th.Snapshot(ctx)
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return nil, err
	}
	p.before = newest
	inputs, head := 0, ""
	if newest != nil {
		inputs, head = inputsOf(&newest.Info), newest.ID
	}
	resumes := false // a run that another server began
	if a.data.Started {
		if resumes, err = a.resume(ctx, p, newest); err != nil {
			return nil, err
		}
	} else if err := a.start(ctx, p, newest, head); err != nil {
		return nil, err
	}
	var at string
	if id := q.at(); id != "" && !resumes {
		if at, inputs, err = s.baseOf(ctx, a, th, id, p.begins); err != nil {
			return nil, err
		}
	}
	if at == head {
		at = "" // a run at the newest checkpoint continues it
	}
	p.base = at
	if at == "" {
		p.base = head
	}
	if p.begins {
		inputs++
	}
	p.inputs = max(inputs, 1)
	p.thread = th.With(a.options(p.inputs)).At(at)
	return p, nil
}

// start makes the input of a run that begins.
func (a *activeRun) start(ctx context.Context, p *prepared, newest *graph.Snapshot, head string) (err error) {
	if newest != nil {
		if a.data.Found, err = a.findWrites(ctx, newest); err != nil {
			return err
		}
	}
	if a.data.Pending, err = a.pending(ctx); err != nil {
		return err
	}
	a.data.Base, a.data.Started = head, true
	p.input, p.err = a.readInput(p, newest, false)
	return nil
}

// resume makes the input of a run that another server began. It reports whether the run resumes at
// the newest checkpoint: the run has stored its input or command there. Otherwise it begins again.
func (a *activeRun) resume(ctx context.Context, p *prepared, newest *graph.Snapshot) (bool, error) {
	pending, err := a.pending(ctx)
	if err != nil {
		return false, err
	}
	switch {
	case newest == nil:
	case newest.Metadata[metaRun] == a.id:
		p.paused = slices.ContainsFunc(newest.Pauses, func(pause graph.Pause) bool { return pause.Kind != graph.Question })
		if newest.Source == checkpoint.Fork && pending == 0 && a.data.Request.commands() { // the branch began without the command
			p.input, p.err = a.readCommand(a.data.Request.Command, newest, true)
		}
		return true, nil
	case newest.ID == a.data.Base && pending > a.data.Pending:
		// The answers, writes and targets of a command are stored together, before a task runs.
		p.input = state.Update{graph.Continue()}
		return true, nil
	}
	p.input, p.err = a.readInput(p, newest, true)
	return false, nil
}

// pending returns the number of pending writes of the newest checkpoint, if the run has a command.
func (a *activeRun) pending(ctx context.Context) (int, error) {
	if !a.data.Request.commands() {
		return 0, nil
	}
	c, err := a.g.graph.Checkpoints().Get(ctx, checkpoint.Key{Thread: a.thread})
	if errors.Is(err, checkpoint.ErrNotFound) {
		return 0, nil
	}
	return len(c.Writes), err
}

// commands reports whether the request has a command that does something.
func (q *runRequest) commands() bool { return q.Command != nil && !q.Command.empty() }

// options returns the options of the run of the graph.
func (a *activeRun) options(inputs int) graph.RunOptions {
	q := &a.data.Request
	o := graph.RunOptions{
		PauseBefore: q.InterruptBefore, PauseAfter: q.InterruptAfter, Conflict: graph.ConflictWait, Hooks: attemptHooks,
		Metadata: map[string]string{metaRun: a.id, metaInputs: strconv.Itoa(inputs), metaUser: string(a.record.Metadata)},
	}
	if q.Config != nil {
		o.MaxSteps = q.Config.RecursionLimit
	}
	if d, ok := durabilities[q.Durability]; ok {
		o.Durability = &d
	}
	return o
}

var durabilities = map[string]graph.Durability{"sync": graph.Sync, "async": graph.Async, "exit": graph.Exit}

// baseOf returns the checkpoint of the graph for a checkpoint that a client names. A run without
// input at the checkpoint before an input repeats the input.
func (s *Server) baseOf(ctx context.Context, a *activeRun, th *graph.Thread, id string, begins bool) (at string, inputs int, err error) {
	input, start := isStart(id)
	if start {
		id = input
	}
	snap, err := th.At(id).Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return "", 0, wrongInput("there is no checkpoint %s", a.data.Request.at())
	}
	if err != nil {
		return "", 0, err
	}
	switch {
	case !start || !begins:
		return id, inputsOf(&snap.Info), nil
	case snap.Parent == "":
		return graph.Start, 0, nil
	}
	return snap.Parent, inputsOf(&snap.Info) - 1, nil
}

// readInput returns the writes with which the run begins.
func (a *activeRun) readInput(p *prepared, newest *graph.Snapshot, again bool) (state.Update, error) {
	q := &a.data.Request
	if q.commands() {
		return a.readCommand(q.Command, newest, again)
	}
	if string(orNull(q.Input)) == "null" {
		return nil, nil
	}
	p.begins, p.raw = true, q.Input
	update, err := a.g.readInput(q.Input)
	if err != nil {
		return nil, wrongInput("the input cannot be read: %v", err)
	}
	if noWrites(update) {
		p.silent = true
		update = append(update, graph.Begin())
	}
	return update, nil
}

func (c *command) empty() bool {
	return len(c.Resume) == 0 && len(c.Update) == 0 && string(orNull(c.Goto)) == "null"
}

// readCommand returns the writes of a command. A goto beside an open question has no effect: the
// question stays open.
func (a *activeRun) readCommand(c *command, newest *graph.Snapshot, again bool) (state.Update, error) {
	var open []graph.Pause
	if newest != nil {
		for _, p := range newest.Pauses {
			if p.Kind == graph.Question {
				open = append(open, p)
			}
		}
	}
	out := state.Update{graph.Continue()}
	if len(c.Resume) > 0 {
		answers, err := readAnswers(c.Resume, open)
		if err != nil && !again { // a run that another server began may have answered already
			return nil, err
		}
		out = append(out, answers...)
	}
	if string(orEmpty(c.Update)) != "{}" {
		data := c.Update
		if isArray(data) {
			var err error
			if data, err = pairs(data); err != nil {
				return nil, wrongInput("the update of the command cannot be read: %v", err)
			}
		}
		update, err := a.g.readInput(data)
		if err != nil {
			return nil, wrongInput("the update of the command cannot be read: %v", err)
		}
		out = append(out, update...)
	}
	targets, err := readGoto(a.g, c.Goto)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		out = append(out, targets...)
	}
	return out, nil
}

// pairs converts an array of channels and values to an object.
func pairs(data json.RawMessage) (json.RawMessage, error) {
	var list [][2]json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	out := map[string]json.RawMessage{}
	for _, p := range list {
		var name string
		if err := json.Unmarshal(p[0], &name); err != nil {
			return nil, err
		}
		out[name] = p[1]
	}
	return encoded(out), nil
}

// readAnswers returns the answers to open questions: one for the only question, or one for each
// id.
func readAnswers(resume json.RawMessage, open []graph.Pause) (state.Update, error) {
	var byID map[string]json.RawMessage
	if json.Unmarshal(resume, &byID) == nil && len(byID) > 0 {
		var out state.Update
		for _, p := range open {
			if answer, ok := byID[p.ID]; ok {
				out = append(out, answerTo(p, answer))
			}
		}
		if len(out) == len(byID) {
			return out, nil
		}
	}
	switch len(open) {
	case 0:
		return nil, &requestError{"EmptyInputError", "the thread has no open question to answer"}
	case 1:
		return state.Update{answerTo(open[0], resume)}, nil
	}
	return nil, &requestError{"RuntimeError", fmt.Sprintf("the thread has %d open questions; name the id of each answer", len(open))}
}

func answerTo(p graph.Pause, answer json.RawMessage) state.Write {
	return graph.NewInterrupt[any, json.RawMessage](p.Interrupt).Answer(p.ID, answer)
}

// readGoto returns the targets of a command: a node, an object with "node" and "input", or an
// array of both.
func readGoto(g *served, data json.RawMessage) (state.Update, error) {
	if string(orNull(data)) == "null" {
		return nil, nil
	}
	list := []json.RawMessage{data}
	if isArray(data) {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, wrongInput("the goto of the command cannot be read: %v", err)
		}
	}
	var out state.Update
	for _, item := range list {
		var node string
		if json.Unmarshal(item, &node) == nil {
			out = append(out, graph.Goto(node))
			continue
		}
		var send struct {
			Node  string          `json:"node"`
			Input json.RawMessage `json:"input"`
		}
		if err := json.Unmarshal(item, &send); err != nil || send.Node == "" {
			return nil, wrongInput("the goto of the command names no node: %s", shortened(string(item)))
		}
		writes, err := g.readInput(orEmpty(send.Input))
		if err != nil {
			return nil, wrongInput("the input of node %q cannot be read: %v", send.Node, err)
		}
		out = append(out, graph.Send(send.Node, writes...))
	}
	return out, nil
}
