package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A requestError is a mistake in a request that is found when the run begins.
type requestError struct{ name, text string }

func (e *requestError) Error() string { return e.text }

func wrongInput(format string, args ...any) error {
	return &requestError{name: "InvalidUpdateError", text: fmt.Sprintf(format, args...)}
}

// A prepared has the thread and the input with which a run begins.
type prepared struct {
	thread *graph.Thread
	input  state.Update
	// before is the newest state of the thread when prepare reads it, or nil for a new thread. base is the id of the
	// checkpoint at which the run begins, and inputs the number of inputs of its state.
	before *graph.Snapshot
	base   string
	inputs int
	// pending is the number of pending writes of the newest checkpoint, if the run has a command.
	pending int
	begins  bool            // the run begins a new turn
	paused  bool            // the run has already stopped at a static pause, and the end of the run was not stored
	silent  bool            // clients do not get the state at its beginning
	raw     json.RawMessage // the input as the client sent it
	err     error
}

// prepare reads the state of the thread and makes the input of the run. A run that another server or an earlier attempt
// has begun resumes if its input was stored.
func (s *Server) prepare(a *activeRun) (*prepared, error) {
	ctx := context.WithoutCancel(a.ctx)
	q, p := &a.data.Request, &prepared{}
	th := a.g.graph.Thread(a.thread)
	newest, err := th.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	p.before = newest
	inputs, head := 0, p.head()
	if newest != nil {
		inputs = inputsOf(&newest.Info)
	}
	resumes := false // the run resumes at the newest checkpoint
	if a.data.Started {
		if resumes, err = a.resume(ctx, p, newest); err != nil {
			return nil, err
		}
	} else if err := a.start(ctx, p, newest, head); err != nil {
		return nil, err
	}
	var at string
	switch id, ns := q.point(); {
	case resumes:
	case ns != "":
		err = s.checkSubgraph(ctx, a, id, ns)
	case id != "":
		at, inputs, err = s.baseOf(ctx, a, th, id, p.begins)
	}
	if err != nil {
		return nil, err
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
	o := a.options(p.inputs)
	if s.o.Queue != nil {
		o.Hooks = o.Hooks.Around(&graph.Hooks{Held: func(ctx context.Context, _ graph.Running) error { return s.unmoved(ctx, a, p) }})
	}
	p.thread = th.With(o).At(at)
	return p, nil
}

// unmoved returns an error if another server executes the run, or if the thread has changed since prepare has read it. It
// is called when no other run can change the thread. A server that was stopped for a while may have prepared a run that
// another server has begun meanwhile.
func (s *Server) unmoved(ctx context.Context, a *activeRun, p *prepared) error {
	if err := s.owns(ctx, a); err != nil {
		return err
	}
	c, err := a.g.graph.Checkpoints().Get(ctx, checkpoint.Key{Thread: a.thread})
	if err != nil && !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if c.ID != p.head() || a.data.Request.commands() && len(c.Writes) != p.pending {
		return errMoved
	}
	return nil
}

var errMoved = errors.New("another run has changed the thread while this one waited for it")

// head returns the id of the newest checkpoint of the thread, or "" for a new thread.
func (p *prepared) head() string {
	if p.before == nil {
		return ""
	}
	return p.before.ID
}

// start makes the input of a run that begins for the first time.
func (a *activeRun) start(ctx context.Context, p *prepared, newest *graph.Snapshot, head string) (err error) {
	if newest != nil {
		if a.data.Found, err = a.findWrites(ctx, newest); err != nil {
			return err
		}
	}
	if a.data.Pending, err = a.pending(ctx); err != nil {
		return err
	}
	p.pending = a.data.Pending
	a.data.Base, a.data.Started = head, true
	p.input, p.err = a.readInput(p, newest, false)
	return nil
}

// resume makes the input of a run that was begun before. It returns true if the run has stored its input or command:
// then the run resumes at the newest checkpoint. Otherwise the run begins again.
func (a *activeRun) resume(ctx context.Context, p *prepared, newest *graph.Snapshot) (bool, error) {
	pending, err := a.pending(ctx)
	if err != nil {
		return false, err
	}
	p.pending = pending
	switch {
	case newest == nil:
	case newest.Metadata[metaRun] == a.id:
		p.paused = slices.ContainsFunc(newest.Pauses, func(pause graph.Pause) bool { return pause.Kind != graph.Question })
		if newest.Source == checkpoint.Fork && pending == 0 && a.data.Request.commands() { // the fork was stored, and the command was not
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

// commands reports whether the request has a command that is not empty.
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

// baseOf returns the id of the graph's checkpoint for a checkpoint that a client names. A run without input at the
// checkpoint before an input repeats the input.
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

// checkSubgraph refuses a run at a checkpoint of a subgraph, unless the checkpoint is the newest one of the subgraph: a
// run resumes each subgraph at its newest checkpoint.
func (s *Server) checkSubgraph(ctx context.Context, a *activeRun, id, ns string) error {
	read, err := s.reader(a.g, a.thread).in(ctx, ns)
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return wrongInput("%s", refusal.Detail)
	}
	if err != nil {
		return err
	}
	snap, err := read.snapshot(ctx, "")
	if err != nil {
		return err
	}
	if id != "" && id != snap.ID {
		return wrongInput("checkpoint %s is not the newest one of the subgraph; update the state of the subgraph at this checkpoint, and run the thread from the new checkpoint", id)
	}
	return nil
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
	return string(orNull(c.Resume)) == "null" && string(orNull(c.Update)) == "null" && string(orNull(c.Goto)) == "null"
}

// readCommand returns the writes of a command. A goto schedules its nodes beside nodes whose questions are still open.
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
	if string(orNull(c.Resume)) != "null" {
		answers, err := readAnswers(c.Resume, open)
		if err != nil && !again { // an earlier attempt of the run may have stored the answer
			return nil, err
		}
		out = append(out, answers...)
	}
	update, err := a.g.readUpdate(c.Update)
	if err != nil {
		return nil, wrongInput("the update of the command cannot be read: %v", err)
	}
	out = append(out, update...)
	targets, err := readGoto(a.g, c.Goto)
	return append(out, targets...), err
}

// readUpdate returns the writes of an update: an object of values by channel, or an array of pairs of a channel and
// a value.
func (s *served) readUpdate(data json.RawMessage) (state.Update, error) {
	list, err := objects(data)
	if err != nil {
		return nil, err
	}
	return s.readObjects(list)
}

// readObjects returns the writes of objects of values by channel.
func (s *served) readObjects(list []json.RawMessage) (state.Update, error) {
	var out state.Update
	for _, values := range s.writable(list) {
		if string(orEmpty(values)) == "{}" {
			continue
		}
		update, err := s.readInput(values)
		if err != nil {
			return nil, err
		}
		out = append(out, update...)
	}
	return out, nil
}

// writable removes the objects of an update that write only channels that clients cannot write. If all objects are of
// this kind, it returns all of them, and reading them returns the error.
func (s *served) writable(list []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, item := range list {
		var values map[string]json.RawMessage
		if json.Unmarshal(orNull(item), &values) != nil || len(values) == 0 || slices.ContainsFunc(slices.Collect(maps.Keys(values)), s.takes) {
			out = append(out, item)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

// objects converts an update to objects of values by channel. Several pairs may have the same channel.
func objects(data json.RawMessage) ([]json.RawMessage, error) {
	if !isArray(data) {
		return []json.RawMessage{data}, nil
	}
	var out []json.RawMessage
	for i, item := range elements(data) {
		var name string
		if p := elements(item); !isArray(item) || len(p) != 2 || json.Unmarshal(p[0], &name) != nil || name == "" {
			return nil, fmt.Errorf("its element %d is not an array of a channel and a value: %s", i, shortened(string(item)))
		} else {
			out = append(out, encoded(map[string]json.RawMessage{name: p[1]}))
		}
	}
	return out, nil
}

// readGoto returns the targets of a command: a node, an object with "node" and "input", or an
// array of both.
func readGoto(g *served, data json.RawMessage) (state.Update, error) {
	if string(orNull(data)) == "null" {
		return nil, nil
	}
	var out state.Update
	for _, item := range elements(data) {
		t, err := readTarget(item)
		if err != nil {
			return nil, wrongInput("the goto of the command %v", err)
		}
		if t.Input == nil || t.Node == graph.End { // nothing runs at the end
			out = append(out, graph.Goto(t.Node))
			continue
		}
		writes, err := g.readInput(orEmpty(t.Input))
		if err != nil {
			return nil, wrongInput("the input of node %q cannot be read: %v", t.Node, err)
		}
		out = append(out, graph.Send(t.Node, writes...))
	}
	return out, nil
}

// A target is a node that a command schedules. Without an input the node sees the whole state.
type target struct {
	Node  string          `json:"node"`
	Input json.RawMessage `json:"input"`
}

// readTarget reads the name of a node, or an object with a node and its input.
func readTarget(data json.RawMessage) (t target, err error) {
	if json.Unmarshal(data, &t.Node) == nil && t.Node != "" {
		return t, nil
	}
	if err := json.Unmarshal(data, &t); err != nil || t.Node == "" {
		return t, fmt.Errorf("names no node: %s", shortened(string(data)))
	}
	if t.Input == nil { // an object sends an input, and an absent one is empty
		t.Input = emptyObject
	}
	return t, nil
}
