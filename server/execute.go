package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// An outcome is the end of a run.
type outcome struct {
	status string
	err    *failure
	// failed is a failure of a store or of the server. Clients are told only that there was one.
	failed error
	// undone says that the run was rolled back, and drained that the next server continues it.
	undone, drained bool
}

// execute runs the graph of a run and writes its events.
func (s *Server) execute(a *activeRun) outcome {
	if a.ctx.Err() != nil || !s.turn(a) {
		return canceledOutcome(a)
	}
	if err := s.slots.Acquire(a.ctx, 1); err != nil {
		return canceledOutcome(a)
	}
	defer s.slots.Release(1)
	ctx := context.WithoutCancel(a.ctx)
	at := now()
	a.data.Attempt++
	if a.data.Began == nil {
		a.data.Began = &at
	}
	log, err := s.openLog(ctx, a.thread)
	if err != nil {
		return failedOutcome(err)
	}
	defer s.closeLog(log)
	before := log.begin(a.id, a.data.Before)
	a.data.Before = &before
	w := newLogWriter(ctx, log, a.id)
	var out outcome
	if err := safely(func() error { out = s.runGraph(a, w); return nil }); err != nil {
		out = failedOutcome(fmt.Errorf("writing the events: %w", err))
	}
	if werr := w.close(); werr != nil && out.failed == nil {
		out = failedOutcome(fmt.Errorf("storing the events: %w", werr))
	}
	return out
}

// runGraph runs the graph, and returns how it ended.
func (s *Server) runGraph(a *activeRun, w *logWriter) outcome {
	p, err := s.prepare(a)
	if serr := s.storeRun(a.background(), a, runRunning); serr != nil { // before the first event
		return failedOutcome(serr)
	}
	if err != nil {
		rec := newRecorder(a, w, nil, nil)
		rec.began()
		return failureOutcome(err)
	}
	rec := newRecorder(a, w, p, s.reader(a.g, a.thread))
	rec.began()
	err = p.err
	if err == nil {
		ctx := context.WithValue(context.WithValue(a.ctx, contextKey{}, a.data.Context), userKey{}, a.record.Owner)
		for e, eerr := range p.thread.Stream(ctx, p.input...) {
			if eerr != nil {
				err = eerr
				break
			}
			if err = rec.event(e); err != nil {
				break
			}
		}
	}
	a.data.Checkpoint = rec.root().checkpoint
	if err == nil {
		return outcome{status: runSuccess}
	}
	if a.ctx.Err() != nil {
		out := canceledOutcome(a)
		if out.undone && !errors.Is(err, graph.ErrRolledBack) {
			return failureOutcome(err)
		}
		return out
	}
	return failureOutcome(err)
}

func canceledOutcome(a *activeRun) outcome {
	switch a.cancellation() {
	case rollbackRun:
		return outcome{status: runInterrupted, undone: true}
	case drainRun:
		return outcome{status: runPending, drained: true}
	}
	return outcome{status: runInterrupted}
}

func failureOutcome(err error) outcome { return outcome{status: runError, err: newFailure(err)} }

// failedOutcome is the end of a run that the server could not execute or whose events could not be
// stored.
func failedOutcome(err error) outcome {
	return outcome{status: runError, err: &failure{Name: "Error", Message: failedText}, failed: err}
}

const failedText = "the server could not execute the run or store its events; its log has the reason"

// newFailure returns the error of a graph as clients see it: the name of the error, and the text
// that the node returned.
func newFailure(err error) *failure {
	if e, ok := errors.AsType[*requestError](err); ok {
		return &failure{Name: e.name, Message: e.text}
	}
	name := "Error"
	switch {
	case errors.Is(err, graph.ErrMaxSteps):
		name = "GraphRecursionError"
	case errors.Is(err, graph.ErrNoInput):
		name = "EmptyInputError"
	case errors.Is(err, graph.ErrTimeout):
		name = "TimeoutError"
	}
	if e, ok := errors.AsType[*graph.NodeError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*graph.RunError](err); ok {
		err = e.Err
	}
	if named, ok := errors.AsType[interface {
		error
		Name() string
	}](err); ok {
		name = named.Name()
	}
	return &failure{Name: name, Message: err.Error()}
}

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
	began := a.data.Started // by another server
	if !began {
		a.data.Base, a.data.Started = head, true
	}
	resumes := began && newest != nil && newest.Metadata[metaRun] == a.id
	if !resumes {
		p.input, p.err = a.readInput(p, newest, began)
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

// options returns the options of the run of the graph.
func (a *activeRun) options(inputs int) graph.RunOptions {
	q := &a.data.Request
	o := graph.RunOptions{
		PauseBefore: q.InterruptBefore, PauseAfter: q.InterruptAfter, Conflict: graph.ConflictWait,
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
	if q.Command != nil && !q.Command.empty() {
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

// forget deletes the thread of a run that had none, when its readers have left.
func (s *Server) forget(a *activeRun) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.deleteThread(ctx, a.thread); err != nil && !errors.Is(err, runs.ErrNotFound) {
		s.o.Logger.Error("server: a temporary thread was not deleted", "thread", a.thread, "error", err)
	}
}

// result returns what wait and join send for a run that has ended.
func (s *Server) result(ctx context.Context, r runs.Record) (json.RawMessage, error) {
	_, d, err := readRun(r)
	if err != nil {
		return nil, err
	}
	if d.Error != nil {
		return encoded(map[string]any{"__error__": d.Error}), nil
	}
	g, err := s.servedOf(ctx, &runs.Record{ID: r.Parent, Graph: r.Graph})
	if err != nil {
		return nil, err
	}
	if g == nil {
		return json.RawMessage("null"), nil
	}
	rd := s.reader(g, r.Parent)
	snap, err := rd.thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return json.RawMessage("null"), nil
	}
	if err != nil {
		return nil, err
	}
	live := d.Checkpoint == "" || d.Checkpoint == snap.ID
	if !live {
		if snap, err = snapshotOr(ctx, rd.thread.At(d.Checkpoint), snap); err != nil {
			return nil, err
		}
	}
	values, err := g.channels.values(snap.View)
	if err != nil {
		return nil, err
	}
	if open := questionsIn(snap); live && r.Status == runSuccess && len(open) > 0 {
		if len(open) > 1 {
			values = map[string]json.RawMessage{}
		}
		values["__interrupt__"] = encoded(open)
	}
	return encoded(values), nil
}

// snapshotOr returns the state at the checkpoint of a handle, or another one if it is gone.
func snapshotOr(ctx context.Context, at *graph.Thread, otherwise *graph.Snapshot) (*graph.Snapshot, error) {
	snap, err := at.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return otherwise, nil
	}
	return snap, err
}

func questionsIn(snap *graph.Snapshot) []interrupt {
	var open []interrupt
	for _, p := range snap.Pauses {
		if p.Kind == graph.Question {
			open = append(open, newInterrupt(p))
		}
	}
	return open
}

// nodeOf returns the node of a task.
func nodeOf(task string) string {
	if i := strings.IndexAny(task, "[~"); i > 0 {
		return task[:i]
	}
	return task
}
