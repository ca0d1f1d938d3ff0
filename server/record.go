package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
	"github.com/weft-go/weft/tools"
)

// The kinds of events in the log of a thread. All protocols are views of these events.
const (
	kindStart      = "start"      // a run begins: runStart
	kindValues     = "values"     // the state has changed: the values by channel
	kindUpdates    = "updates"    // a task has finished: its updates by channel
	kindCustom     = "custom"     // a node emitted a value
	kindMessage    = "message"    // a message, or a piece of one: messageEvent
	kindTool       = "tool"       // a call of a tool begins, reports progress or ends: toolEvent
	kindCheckpoint = "checkpoint" // a superstep begins at a checkpoint: checkpointEvent
	kindTask       = "task"       // a task begins: taskEvent
	kindResult     = "result"     // a task ends: resultEvent
	kindInterrupt  = "interrupt"  // the run waits: interruptEvent
	kindSubgraph   = "subgraph"   // a subgraph begins or ends: subgraphEvent
	kindEnd        = "end"        // a run ends: runEnd
)

type runStart struct {
	Graph     string `json:"graph"`
	Assistant string `json:"assistant"`
	Attempt   int    `json:"attempt"`
}

type runEnd struct {
	Status string   `json:"status"`
	Paused bool     `json:"paused,omitempty"` // the thread is not done
	Undone bool     `json:"undone,omitempty"`
	Error  *failure `json:"error,omitempty"`
}

type messageEvent struct {
	ID string `json:"id"`
	// Whole says that Message is a whole message and not a piece.
	Whole    bool            `json:"whole,omitempty"`
	Message  json.RawMessage `json:"message"`
	Metadata json.RawMessage `json:"metadata"`
}

// The events of a call of a tool.
const (
	toolStarted  = "started"
	toolProgress = "progress"
	toolFinished = "finished"
	toolFailed   = "failed"
)

type toolEvent struct {
	Event    string          `json:"event"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input,omitempty"`    // the arguments
	Progress json.RawMessage `json:"progress,omitempty"` // a tools.Progress
	Output   json.RawMessage `json:"output,omitempty"`   // the message of the tool
	Error    string          `json:"error,omitempty"`    // its text, if the call failed
}

type checkpointEvent struct {
	Config       configurable               `json:"config"`
	ParentConfig *configurable              `json:"parent_config"`
	Checkpoint   *checkpointID              `json:"checkpoint"`
	Parent       *checkpointID              `json:"parent_checkpoint"`
	Metadata     map[string]any             `json:"metadata"`
	Values       map[string]json.RawMessage `json:"values"`
	Next         []string                   `json:"next"`
	Tasks        []checkpointTask           `json:"tasks"`
}

type configurable struct {
	Configurable *checkpointID `json:"configurable"`
}

type checkpointTask struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Interrupts []interrupt     `json:"interrupts"`
	State      json.RawMessage `json:"state,omitempty"`
	Checkpoint *checkpointID   `json:"checkpoint,omitempty"`
}

type taskEvent struct {
	ID       string                     `json:"id"`
	Name     string                     `json:"name"`
	Input    map[string]json.RawMessage `json:"input"`
	Triggers []string                   `json:"triggers"`
	Metadata json.RawMessage            `json:"metadata"`
}

type resultEvent struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Error      *string         `json:"error"`
	Result     json.RawMessage `json:"result"`
	Interrupts []interrupt     `json:"interrupts"`
}

// An interruptEvent has the open questions of one task. Without any, the run waits at a static
// pause. Values is the state in which it waits.
type interruptEvent struct {
	Interrupts []interrupt                `json:"interrupts"`
	Values     map[string]json.RawMessage `json:"values"`
}

type subgraphEvent struct {
	Event string `json:"event"`
	Graph string `json:"graph"`
	Task  string `json:"task"`
}

// A recorder turns the events of a graph into events of the log.
type recorder struct {
	run    *activeRun
	w      *logWriter
	p      *prepared
	reader *reader
	scopes map[string]*scope // the graph and its subgraphs, by the path of their tasks
	sent   map[string]bool   // the ids of messages that clients have got
	begun  map[string]time.Time
}

// A scope is the graph of the run, or a subgraph that it runs.
type scope struct {
	place
	channels   channels
	checkpoint string                     // the present checkpoint
	step       int                        // the present superstep
	values     map[string]json.RawMessage // the last values
	held       state.View                 // a state that clients do not know yet
	wrote      bool                       // a task of the superstep has written to a channel
	fresh      bool                       // the scope begins with an input, whose checkpoint is not there yet
	resumed    bool
	pending    *checkpointEvent // a checkpoint whose tasks are not known yet
	last       *checkpointEvent
}

func newRecorder(a *activeRun, w *logWriter, p *prepared, r *reader) *recorder {
	return &recorder{run: a, w: w, p: p, reader: r, scopes: map[string]*scope{}, sent: map[string]bool{}, begun: map[string]time.Time{}}
}

// began writes that the run begins.
func (r *recorder) began() {
	d := &r.run.data
	_ = r.w.write(runs.Event{Time: now(), Kind: kindStart, Data: encoded(runStart{r.run.g.name, d.Assistant, d.Attempt})}) // close returns the error
}

// root returns the scope of the graph of the run.
func (r *recorder) root() *scope { return r.scope("") }

// scope returns the scope with a path.
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

// taskID returns the id of a task of a scope as clients see it.
func (r *recorder) taskID(sc *scope, task string, step int) string {
	if len(sc.ids) == 0 {
		return taskID(sc.checkpoint, task)
	}
	return subtaskID(sc.ids[len(sc.ids)-1], step, task)
}

// stepOf returns the number of a superstep as clients see it.
func (r *recorder) stepOf(sc *scope, step int) int {
	if len(sc.tasks) == 0 && r.p != nil {
		step += r.p.inputs - 1
	}
	return step
}

// event writes what clients see of an event of the graph.
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
	return nil
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

// graphName returns the name of the graph of a scope: for a subgraph that of its node.
func (r *recorder) graphName(sc *scope) string {
	if len(sc.nodes) == 0 {
		return r.run.g.name
	}
	return sc.nodes[len(sc.nodes)-1]
}

// flush writes the state that was held back. A superstep that wrote nothing changes no state.
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
	return r.write(sc, at, kindValues, values)
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

// inputCheckpoint writes the checkpoint that clients see before that of an input, and keeps the
// input as the result of its only task.
func (r *recorder) inputCheckpoint(sc *scope, at *graph.Place, i *graph.Info) error {
	id := startID(i.ID)
	values := map[string]json.RawMessage{}
	for name, text := range sc.channels.empty {
		values[name] = json.RawMessage(text)
	}
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
		Metadata: map[string]any{"source": source, "step": step, "parents": parents}, Next: []string{}, Tasks: tasks,
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
	if sc.fresh { // nothing is stored before the end of the run
		sc.fresh = false
		if err := r.begin(sc, at); err != nil {
			return err
		}
	}
	if err := r.flush(sc, at); err != nil {
		return err
	}
	sc.step, sc.wrote = at.Step, false
	if sc.pending == nil && sc.resumed && sc.last == nil && sc.checkpoint != "" && at.Path == "" && r.p.before != nil {
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

// resumedCheckpoint describes the checkpoint at which the run resumes.
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
	sc.pending, sc.last = nil, c
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

// metadata describes a task for the readers of its messages.
func (r *recorder) metadata(sc *scope, at *graph.Place) json.RawMessage {
	step := r.stepOf(sc, at.Step)
	ns := nodeOf(at.Task) + ":" + r.taskID(sc, at.Task, at.Step)
	if outer := sc.namespace(); outer != "" {
		ns = outer + "|" + ns
	}
	own := encoded(map[string]any{
		"run_id": r.run.id, "thread_id": r.run.thread, "graph_id": r.run.g.name, "assistant_id": r.run.data.Assistant,
		"langgraph_node": nodeOf(at.Task), "langgraph_step": step, "langgraph_checkpoint_ns": ns, "checkpoint_ns": ns,
		"langgraph_triggers": []string{}, "langgraph_path": []string{"__pregel_pull", nodeOf(at.Task)},
	})
	all, err := merged(r.run.record.Metadata, own)
	if err != nil {
		return own
	}
	return all
}

// taskStarted writes that a task of a superstep begins.
func (r *recorder) taskStarted(sc *scope, step *graph.Place, task string, v state.View) error {
	at := *step
	at.Task, at.Node = task, nodeOf(task)
	read := sc.channels.values
	if strings.HasSuffix(task, "]") { // a sent task sees what was sent to it
		read = sc.channels.written
	}
	input, err := read(v)
	if err != nil {
		return err
	}
	id := r.taskID(sc, task, at.Step)
	return r.write(sc, &at, kindTask, taskEvent{ID: id, Name: at.Node, Input: input, Triggers: []string{}, Metadata: r.metadata(sc, &at)})
}

// isInner reports whether a task is part of the task of a node, such as that of a flow.
func isInner(task string) bool { return strings.Contains(task, "~") }

func (r *recorder) emitted(sc *scope, at *graph.Place, e graph.Emitted) error {
	switch v := e.Value.(type) {
	case llm.Chunk:
		r.sent[v.MessageID] = true
		return r.write(sc, at, kindMessage, messageEvent{ID: v.MessageID, Message: encoded(newChunkMessage(v)), Metadata: r.metadata(sc, at)})
	case llm.Message:
		return r.messages(sc, at, []llm.Message{v})
	case tools.CallStarted:
		return r.write(sc, at, kindTool, toolEvent{Event: toolStarted, ID: v.Call.ID, Name: v.Call.Name, Input: v.Call.Arguments})
	case tools.Progress:
		return r.write(sc, at, kindTool, toolEvent{Event: toolProgress, ID: v.CallID, Name: v.Tool, Progress: encoded(v)})
	case tools.CallFinished:
		return r.called(sc, at, v)
	}
	data, err := json.Marshal(e.Value)
	if err != nil {
		data = encoded(fmt.Sprint(e.Value))
	}
	return r.write(sc, at, kindCustom, json.RawMessage(data))
}

// called writes that a call of a tool was answered.
func (r *recorder) called(sc *scope, at *graph.Place, f tools.CallFinished) error {
	flat, err := flatMessages([]llm.Message{f.Answer})
	if err != nil {
		return err
	}
	e := toolEvent{Event: toolFinished, ID: f.Call.ID, Name: f.Call.Name, Input: f.Call.Arguments, Output: flat[1 : len(flat)-1]}
	if f.Answer.Status == llm.StatusError {
		e.Event, e.Error = toolFailed, f.Answer.Text()
	}
	return r.write(sc, at, kindTool, e)
}

// messages writes messages that clients have not got.
func (r *recorder) messages(sc *scope, at *graph.Place, list []llm.Message) error {
	for _, m := range list {
		if r.sent[m.ID] {
			continue
		}
		r.sent[m.ID] = true
		flat, err := flatMessages([]llm.Message{m})
		if err != nil {
			return err
		}
		if err := r.write(sc, at, kindMessage, messageEvent{ID: m.ID, Whole: true, Message: flat[1 : len(flat)-1], Metadata: r.metadata(sc, at)}); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) taskFinished(sc *scope, at *graph.Place, e graph.TaskFinished) error {
	if isInner(at.Task) {
		return nil
	}
	if !noWrites(e.Update) {
		sc.wrote = true
	}
	if e.Saved || e.Asked {
		return nil
	}
	id := r.taskID(sc, at.Task, at.Step)
	result := resultEvent{ID: id, Name: nodeOf(at.Task), Result: emptyObject, Interrupts: []interrupt{}}
	kept := taskResult{Started: r.begun[id], Ended: at.Time, Node: result.Name, Step: r.stepOf(sc, at.Step), Run: r.run.id}
	if e.Err != nil {
		f, _ := nodeFailure(e.Err)
		text := f.Name + ": " + f.Message
		result.Error, kept.Error = &text, text
	} else {
		if _, sub := sc.channels.subs[nodeOf(at.Task)]; !sub { // those of a subgraph were written there
			var err error
			if kept.Usage, err = r.updated(sc, at, e.Update); err != nil {
				return err
			}
		}
		update, err := sc.channels.update(e.Update)
		if err != nil {
			return err
		}
		if err := r.write(sc, at, kindUpdates, map[string]json.RawMessage{nodeOf(at.Task): update}); err != nil {
			return err
		}
		if string(update) != "null" {
			result.Result, kept.Result = update, update
		}
	}
	r.keep(id, sc.checkpoint, kept)
	return r.write(sc, at, kindResult, result)
}

// updated writes the messages of an update, and returns the sum of their tokens.
func (r *recorder) updated(sc *scope, at *graph.Place, u state.Update) (*llm.Usage, error) {
	var usage *llm.Usage
	for _, w := range u {
		if _, ok := sc.channels.messages[w.Channel()]; !ok {
			continue
		}
		var write struct {
			Op    string
			Value json.RawMessage
		}
		data, err := json.Marshal(w)
		if err == nil {
			err = json.Unmarshal(data, &write)
		}
		if err != nil {
			return nil, err
		}
		if write.Op == "remove" || write.Op == "clear" {
			continue
		}
		if !isArray(write.Value) {
			write.Value = append(append(json.RawMessage("["), write.Value...), ']')
		}
		list, err := storedMessages(write.Value)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if m.Usage != nil {
				sum := *m.Usage
				if usage != nil {
					sum = usage.Add(sum)
				}
				usage = &sum
			}
		}
		if err := r.messages(sc, at, list); err != nil {
			return nil, err
		}
	}
	return usage, nil
}

// paused writes the questions at which the run waits: those of subgraphs also in the graphs
// around them.
func (r *recorder) paused(sc *scope, at *graph.Place, e graph.Paused) error {
	if at.Path != "" {
		return nil
	}
	if sc.pending == nil { // the state has writes of an unfinished superstep
		sc.held = nil
	}
	if err := r.flush(sc, at); err != nil {
		return err
	}
	questions := e.Pauses[:0:0]
	for _, p := range e.Pauses {
		if p.Kind == graph.Question {
			questions = append(questions, p)
		}
	}
	if len(questions) == 0 {
		return r.write(sc, at, kindInterrupt, interruptEvent{Interrupts: []interrupt{}})
	}
	return r.ask(sc, at, "", questions)
}

// stopped writes that the run has stopped at pauses, in place of the events of the graph.
func (r *recorder) stopped(at []graph.Pause) error {
	return r.paused(r.root(), &graph.Place{Time: now()}, graph.Paused{Pauses: at})
}

// ask writes the questions of the tasks of a scope, innermost first.
func (r *recorder) ask(sc *scope, at *graph.Place, path string, questions []graph.Pause) error {
	var tasks []string
	byTask := map[string][]graph.Pause{}
	for _, q := range questions {
		rest := strings.TrimPrefix(strings.TrimPrefix(q.Path, path), "/")
		task, _, _ := strings.Cut(rest, "/")
		if byTask[task] == nil {
			tasks = append(tasks, task)
		}
		byTask[task] = append(byTask[task], q)
	}
	for _, task := range tasks {
		inner := task
		if path != "" {
			inner = path + "/" + task
		}
		if sub := r.scopes[inner]; sub != nil {
			sub.held = nil
			where := *at
			where.Path = inner
			if err := r.ask(sub, &where, inner, byTask[task]); err != nil {
				return err
			}
		}
		if err := r.askTask(sc, at, task, byTask[task]); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) askTask(sc *scope, at *graph.Place, task string, questions []graph.Pause) error {
	open := make([]interrupt, len(questions))
	for i, q := range questions {
		open[i] = newInterrupt(q)
	}
	task, _, _ = strings.Cut(task, "~")
	id := r.taskID(sc, task, sc.step)
	if len(sc.tasks) == 0 {
		r.keep(id+asked, sc.checkpoint, taskResult{Interrupts: open, Node: nodeOf(task), Step: r.stepOf(sc, sc.step), Run: r.run.id})
	}
	if err := r.write(sc, at, kindInterrupt, interruptEvent{Interrupts: open, Values: sc.values}); err != nil {
		return err
	}
	return r.write(sc, at, kindResult, resultEvent{ID: id, Name: nodeOf(task), Result: emptyObject, Interrupts: open})
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
	delete(r.scopes, at.Path) // the next call of the subgraph is another one
	n := len(sc.ids) - 1
	return r.write(sc, at, kindSubgraph, subgraphEvent{"completed", r.graphName(sc), sc.ids[n]})
}
