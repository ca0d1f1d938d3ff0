package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// A recorder converts the events of a graph to events of the log.
type recorder struct {
	run     *activeRun
	w       *logWriter
	p       *prepared
	reader  *reader
	scopes  map[string]*scope // the graph and its subgraphs, by the path of their tasks
	sent    map[string]bool   // the ids of messages that clients have got
	begun   map[string]time.Time
	failed  map[string][]failedAttempt // the attempts of running tasks that failed, by the id of the task
	logs    map[string][]logLine       // the records that running tasks wrote to a logger, by the id of the task
	unnamed map[string]string          // the ids of replies whose chunks have no id, by the place of the task
}

// A scope is the graph of the run, or a subgraph that it runs.
type scope struct {
	place
	channels   channels
	checkpoint string                     // the current checkpoint
	step       int                        // the current superstep
	values     map[string]json.RawMessage // the last values
	held       state.View                 // a state that is not written yet
	wrote      bool                       // a task of the superstep has written to a channel
	fresh      bool                       // the scope begins with an input whose checkpoint is not stored yet
	resumed    bool
	pending    *checkpointEvent // a checkpoint whose tasks are not known yet
	told       bool             // a checkpoint was written
	known      taskKey          // the key of the task with the id knownID
	knownID    string
}

// A taskKey has the values that the id of a task of a scope is made of.
type taskKey struct {
	checkpoint, task string
	step             int
}

func newRecorder(a *activeRun, w *logWriter, p *prepared, r *reader) *recorder {
	return &recorder{run: a, w: w, p: p, reader: r, scopes: map[string]*scope{}, sent: map[string]bool{}, begun: map[string]time.Time{}, failed: map[string][]failedAttempt{}, logs: map[string][]logLine{}, unnamed: map[string]string{}}
}

// began writes the event for the beginning of the run.
func (r *recorder) began() {
	d := r.run.data
	_ = r.w.write(runs.Event{Time: now(), Kind: kindStart, Data: encoded(runStart{r.run.g.name, d.Assistant, d.Attempt})}) // close returns the error
}

// root returns the scope of the graph of the run.
func (r *recorder) root() *scope { return r.scope("") }

// scope returns the scope with a path. It makes the scope if there is none.
func (r *recorder) scope(path string) *scope {
	if sc := r.scopes[path]; sc != nil {
		return sc
	}
	sc := &scope{channels: r.run.g.channels}
	if path == "" {
		if r.p != nil {
			sc.checkpoint = r.p.base
		}
	} else {
		outer, task := "", path
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			outer, task = path[:i], path[i+1:]
		}
		parent := r.scope(outer)
		sc.place = place{
			tasks: append(slices.Clone(parent.tasks), task), nodes: append(slices.Clone(parent.nodes), nodeOf(task)),
			ids: append(slices.Clone(parent.ids), r.taskID(parent, task, parent.step)), points: maps.Clone(parent.points),
		}
		if sc.points == nil {
			sc.points = map[string]string{}
		}
		sc.points[parent.namespace()] = parent.checkpoint
		sc.channels = r.run.g.channels.at(sc.nodes)
	}
	r.scopes[path] = sc
	return sc
}

// taskID returns the id of a task of a scope as clients see it. It keeps the last id, so that the events of a task share
// the string.
func (r *recorder) taskID(sc *scope, task string, step int) string {
	key := taskKey{sc.checkpoint, task, step}
	if sc.known == key && sc.knownID != "" {
		return sc.knownID
	}
	sc.known = key
	if len(sc.ids) == 0 {
		sc.knownID = taskID(sc.checkpoint, task)
	} else {
		sc.knownID = subtaskID(sc.ids[len(sc.ids)-1], step, task)
	}
	return sc.knownID
}

// stepOf returns the number of a superstep as clients see it.
func (r *recorder) stepOf(sc *scope, step int) int {
	if len(sc.tasks) == 0 && r.p != nil {
		step += r.p.inputs - 1
	}
	return step
}

// event writes the log events for an event of the graph.
func (r *recorder) event(e graph.Event) error {
	at := e.At()
	sc := r.scope(at.Path)
	switch e := e.(type) {
	case graph.RunStarted:
		return r.started(sc, &at, e)
	case graph.Checkpointed:
		return r.checkpointed(sc, &at, e)
	case graph.StepStarted:
		return r.stepStarted(sc, &at, e)
	case graph.TaskStarted:
		r.begun[r.taskID(sc, at.Task, at.Step)] = at.Time
		return nil
	case graph.Emitted:
		return r.emitted(sc, &at, e)
	case graph.TaskFinished:
		return r.taskFinished(sc, &at, e)
	case graph.StateChanged:
		sc.held = e.State
		return nil
	case graph.Paused:
		return r.paused(sc, &at, e)
	case graph.RunEnded:
		return r.ended(sc, &at, e)
	}
	return fmt.Errorf("server: an event of an unknown kind: %T", e)
}

// write adds an event to the log.
func (r *recorder) write(sc *scope, at *graph.Place, kind string, data any) error {
	e := runs.Event{Time: at.Time.UTC().Truncate(time.Microsecond), Kind: kind, Path: sc.namespace(), Node: nodeOf(at.Task)}
	if at.Task != "" {
		e.Task, e.Step = r.taskID(sc, at.Task, at.Step), r.stepOf(sc, at.Step)
	}
	var err error
	if e.Data, err = json.Marshal(data); err != nil {
		return fmt.Errorf("server: event %s: %w", kind, err)
	}
	return r.w.write(e)
}

func (r *recorder) started(sc *scope, at *graph.Place, e graph.RunStarted) error {
	sc.fresh, sc.resumed, sc.held, sc.wrote = !e.Resumed, e.Resumed, e.State, true
	if at.Path == "" {
		sc.wrote = !r.p.silent
		return nil
	}
	if e.Resumed {
		return r.begin(sc, at)
	}
	return nil
}

// begin writes the first state of a scope.
func (r *recorder) begin(sc *scope, at *graph.Place) error {
	if err := r.flush(sc, at); err != nil {
		return err
	}
	if at.Path == "" {
		return nil
	}
	n := len(sc.ids) - 1
	return r.write(sc, at, kindSubgraph, subgraphEvent{"started", r.graphName(sc), sc.ids[n]})
}

// graphName returns the name of the graph of a scope. For a subgraph, it is the name of its node.
func (r *recorder) graphName(sc *scope) string {
	if len(sc.nodes) == 0 {
		return r.run.g.name
	}
	return sc.nodes[len(sc.nodes)-1]
}

// flush writes the state that was held back, unless the superstep wrote to no channel.
func (r *recorder) flush(sc *scope, at *graph.Place) error {
	if sc.held == nil {
		return nil
	}
	values, err := sc.channels.values(sc.held)
	if err != nil {
		return err
	}
	sc.held, sc.values = nil, values
	if !sc.wrote {
		return nil
	}
	return r.write(sc, at, kindValues, sc.channels.shown(values))
}

// checkpointed holds a checkpoint back until its tasks are known.
func (r *recorder) checkpointed(sc *scope, at *graph.Place, e graph.Checkpointed) error {
	parent := e.Parent
	sc.checkpoint = e.ID
	info := &graph.Info{ID: e.ID, Parent: e.Parent, Step: at.Step, Thread: r.run.thread}
	info.Metadata = map[string]string{}
	if r.p != nil && len(sc.tasks) == 0 {
		info.Metadata[metaInputs] = fmt.Sprint(r.p.inputs)
	}
	step, source := sc.stepOf(info), "loop"
	switch {
	case sc.fresh:
		if err := r.inputCheckpoint(sc, at, info); err != nil {
			return err
		}
		parent = startID(e.ID)
		sc.fresh = false
		sc.pending = r.checkpoint(sc, e.ID, parent, step, source, nil)
		if err := r.begin(sc, at); err != nil {
			return err
		}
		sc.pending.Values = sc.values
		return nil
	case sc.resumed && sc.held != nil:
		source = "fork"
	}
	sc.pending = r.checkpoint(sc, e.ID, parent, step, source, nil)
	return nil
}

// inputCheckpoint writes the start checkpoint that clients see before the checkpoint of an input, and stores the input as
// the result of the only task of the start checkpoint.
func (r *recorder) inputCheckpoint(sc *scope, at *graph.Place, i *graph.Info) error {
	id := startID(i.ID)
	values := maps.Clone(sc.channels.initial)
	task := checkpointTask{ID: taskID(id, graph.Start), Name: graph.Start, Interrupts: []interrupt{}, State: json.RawMessage("null")}
	if at.Path == "" {
		r.keep(task.ID, id, taskResult{Result: r.p.raw})
		if i.Parent != "" {
			before, err := r.reader.valuesAt(r.run.background(), i.Parent)
			if err != nil {
				return err
			}
			values = before
		}
	}
	c := r.checkpoint(sc, id, i.Parent, sc.stepOf(i)-1, "input", []checkpointTask{task})
	c.Next, c.Values = []string{graph.Start}, values
	return r.write(sc, at, kindCheckpoint, c)
}

func (r *recorder) checkpoint(sc *scope, id, parent string, step int, source string, tasks []checkpointTask) *checkpointEvent {
	parents := map[string]string{}
	maps.Copy(parents, sc.points)
	c := &checkpointEvent{
		Checkpoint: sc.place.checkpoint(r.run.thread, id), Parent: sc.place.checkpoint(r.run.thread, parent),
		Metadata: checkpointMetadata{Parents: parents, Source: source, Step: step}, Next: []string{}, Tasks: tasks,
	}
	c.Config = configurable{c.Checkpoint}
	if c.Parent != nil {
		c.ParentConfig = &configurable{c.Parent}
	}
	if tasks == nil {
		c.Tasks = []checkpointTask{}
	}
	return c
}

// keep stores the result of a task.
func (r *recorder) keep(id, checkpoint string, t taskResult) {
	r.w.keep(runs.Task{ID: id, Checkpoint: checkpoint, Data: encoded(t)})
}

func (r *recorder) stepStarted(sc *scope, at *graph.Place, e graph.StepStarted) error {
	if sc.fresh { // the checkpoint of the input is stored only at the end of the run
		sc.fresh = false
		if err := r.begin(sc, at); err != nil {
			return err
		}
	}
	if err := r.flush(sc, at); err != nil {
		return err
	}
	sc.step, sc.wrote = at.Step, false
	if sc.pending == nil && sc.resumed && !sc.told && sc.checkpoint != "" && at.Path == "" && r.p.before != nil {
		sc.pending = r.resumedCheckpoint(sc)
	}
	sc.resumed = false
	if err := r.flushCheckpoint(sc, at, e.Tasks); err != nil {
		return err
	}
	for i, task := range e.Tasks {
		if e.States[i] == nil {
			continue
		}
		if err := r.taskStarted(sc, at, task, e.States[i]); err != nil {
			return err
		}
	}
	return nil
}

// resumedCheckpoint returns the event for the checkpoint at which the run resumes.
func (r *recorder) resumedCheckpoint(sc *scope) *checkpointEvent {
	i := r.p.before.Info
	if i.ID != sc.checkpoint {
		return nil
	}
	f := r.reader.frame(&i, place{}, false)
	parent := ""
	if f.Parent != nil {
		parent = f.Parent.ID
	}
	step, _ := f.Metadata["step"].(int)
	source, _ := f.Metadata["source"].(string)
	return r.checkpoint(sc, i.ID, parent, step, source, nil)
}

// flushCheckpoint writes the checkpoint that was held back, with its tasks.
func (r *recorder) flushCheckpoint(sc *scope, at *graph.Place, tasks []string) error {
	c := sc.pending
	if c == nil {
		return nil
	}
	sc.pending, sc.told = nil, true
	c.Values = sc.values
	for _, id := range tasks {
		name := nodeOf(id)
		t := checkpointTask{ID: r.taskID(sc, id, at.Step), Name: name, Interrupts: []interrupt{}, State: json.RawMessage("null")}
		if _, ok := sc.channels.subs[name]; ok {
			inner := append(strings.Split(sc.namespace(), "|"), name+":"+t.ID)
			t.State, t.Checkpoint = nil, &checkpointID{Thread: r.run.thread, Namespace: strings.TrimPrefix(strings.Join(inner, "|"), "|")}
		}
		c.Tasks, c.Next = append(c.Tasks, t), append(c.Next, name)
	}
	return r.write(sc, at, kindCheckpoint, c)
}

func (r *recorder) ended(sc *scope, at *graph.Place, e graph.RunEnded) error {
	if err := r.flush(sc, at); err != nil {
		return err
	}
	var due []string
	if e.Snapshot != nil {
		for _, t := range e.Snapshot.Tasks {
			due = append(due, t.ID)
		}
	}
	if err := r.flushCheckpoint(sc, at, due); err != nil {
		return err
	}
	if at.Path == "" {
		return nil
	}
	delete(r.scopes, at.Path) // the next call of the subgraph has a scope of its own
	n := len(sc.ids) - 1
	return r.write(sc, at, kindSubgraph, subgraphEvent{"completed", r.graphName(sc), sc.ids[n]})
}
