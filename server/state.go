package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
	"github.com/weft-go/weft/state"
)

// Clients see a checkpoint more than a graph stores: before the checkpoint of each input, they
// see one in which only the node __start__ is due, whose result is the input. Its id is made
// of the id of the input's checkpoint.

// startID returns the id of the checkpoint that clients see before that of an input, and the
// other way round.
func startID(id string) string {
	const at = 19 // the digit with the two bits of the variant, 10; no id of a graph has 11
	digit, err := strconv.ParseUint(id[at:at+1], 16, 8)
	if err != nil {
		return id
	}
	return id[:at] + strconv.FormatUint(digit^0x4, 16) + id[at+1:]
}

// isStart reports whether startID made the id, and returns the id of the input's checkpoint.
func isStart(id string) (input string, ok bool) {
	if !isUUID(id) || !strings.ContainsRune("cdef", rune(id[19])) {
		return id, false
	}
	return startID(id), true
}

// A checkpointID names a checkpoint for clients.
type checkpointID struct {
	Thread    string            `json:"thread_id"`
	Namespace string            `json:"checkpoint_ns"`
	ID        string            `json:"checkpoint_id,omitempty"`
	Map       map[string]string `json:"checkpoint_map,omitempty"`
}

// A threadState is the state of a thread at a checkpoint, as clients see it.
type threadState struct {
	Values     map[string]json.RawMessage `json:"values"`
	Next       []string                   `json:"next"`
	Tasks      []taskState                `json:"tasks"`
	Metadata   map[string]any             `json:"metadata"`
	Created    *time.Time                 `json:"created_at"`
	Checkpoint *checkpointID              `json:"checkpoint"`
	Parent     *checkpointID              `json:"parent_checkpoint"`
	Interrupts []interrupt                `json:"interrupts"`
	ID         *string                    `json:"checkpoint_id"`
	ParentID   *string                    `json:"parent_checkpoint_id"`
}

// A taskState is a task as clients see it.
type taskState struct {
	ID         string          `json:"id"`
	Name       string          `json:"name"`
	Path       []string        `json:"path"`
	Error      *string         `json:"error"`
	Interrupts []interrupt     `json:"interrupts"`
	Checkpoint *checkpointID   `json:"checkpoint"`
	State      *threadState    `json:"state"`
	Result     json.RawMessage `json:"result"`
}

// taskResult is what the store keeps of a task.
type taskResult struct {
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Interrupts []interrupt     `json:"interrupts,omitempty"`
	Started    time.Time       `json:"started,omitzero"`
	Ended      time.Time       `json:"ended,omitzero"`
	// Node, Step and Run are those of the task. Usage is the sum of the tokens of its messages.
	Node  string     `json:"node,omitempty"`
	Step  int        `json:"step,omitempty"`
	Run   string     `json:"run,omitempty"`
	Usage *llm.Usage `json:"usage,omitempty"`
}

// A reader reads the states of a thread.
type reader struct {
	s      *Server
	g      *served
	thread *graph.Thread
	light  bool // the states of a history have no values, and only inputs have results
}

func (s *Server) reader(g *served, thread string) *reader {
	return &reader{s: s, g: g, thread: g.graph.Thread(thread)}
}

// A place is a subgraph in a thread: the tasks that lead to it, with the ids that clients see.
type place struct {
	tasks  []string // the ids of the tasks, outermost first
	nodes  []string
	ids    []string          // the ids of the tasks as clients see them
	points map[string]string // the checkpoints of the graphs around it, by namespace
}

// namespace returns the namespace as clients see it.
func (p place) namespace() string {
	parts := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		parts[i] = n + ":" + p.ids[i]
	}
	return strings.Join(parts, "|")
}

// taskID returns the id of a task of the subgraph as clients see it.
func (p place) taskID(snap *graph.Info, task string) string {
	if len(p.ids) == 0 {
		return taskID(snap.ID, task)
	}
	return subtaskID(p.ids[len(p.ids)-1], snap.Step+1, task)
}

// inputs is the key of the metadata of a checkpoint with the number of inputs of its thread.
const (
	metaInputs = "inputs"
	metaRun    = "run_id"
	metaUser   = "metadata"
)

// inputsOf returns how many inputs a state of the thread contains. Checkpoints that the server did
// not write have no number.
func inputsOf(i *graph.Info) int {
	n, err := strconv.Atoi(i.Metadata[metaInputs])
	if err != nil {
		return 1
	}
	return n
}

// stepOf returns the number of the step as clients see it: inputs count twice, and the first
// input has the number -1.
func (p place) stepOf(i *graph.Info) int {
	if len(p.tasks) > 0 {
		return i.Step
	}
	return i.Step + inputsOf(i) - 1
}

// state returns a snapshot as clients see it. A live snapshot has the open questions of the
// thread. With deep, it contains the states of subgraphs.
func (r *reader) state(ctx context.Context, snap *graph.Snapshot, live, deep bool, p place) (*threadState, error) {
	ch := r.g.channels.at(p.nodes)
	values, err := ch.values(snap.View)
	if err != nil {
		return nil, err
	}
	st := r.frame(&snap.Info, p, false)
	st.Values, st.Next = values, append([]string{}, snap.Next...)
	results, err := r.results(ctx, snap.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range snap.Tasks {
		task := taskState{ID: p.taskID(&snap.Info, t.ID), Name: t.Node, Interrupts: []interrupt{}, Path: []string{"__pregel_pull", t.Node}, Result: json.RawMessage("null")}
		task.add(results[task.ID])
		if asked, ok := results[task.ID+asked]; ok {
			task.Interrupts = append(task.Interrupts, asked.Interrupts...)
		}
		if live {
			task.Interrupts = questionsOf(snap.Pauses, append(slices.Clone(p.tasks), t.ID))
		}
		if t.Err != "" {
			text := storedFailure(t.Err)
			task.Error = &text
		}
		if isSubgraph(r.g.draw, t.Node) || t.Namespace != "" {
			inner := p.inner(snap, t, task.ID)
			task.Checkpoint = &checkpointID{Thread: snap.Thread, Namespace: inner.namespace()}
			if deep && live {
				if err := r.deepen(ctx, &task, inner); err != nil {
					return nil, err
				}
			}
		}
		st.Tasks = append(st.Tasks, task)
		st.Interrupts = append(st.Interrupts, task.Interrupts...)
	}
	return st, nil
}

// asked ends the id of a record with the questions of a task.
const asked = "?"

func (t *taskState) add(r taskResult) {
	if len(r.Result) > 0 {
		t.Result = r.Result
	}
	if r.Error != "" {
		t.Error = &r.Error
	}
}

// inner returns the place of the subgraph that a task runs.
func (p place) inner(snap *graph.Snapshot, t graph.Task, id string) place {
	in := place{tasks: append(slices.Clone(p.tasks), t.ID), nodes: append(slices.Clone(p.nodes), t.Node), ids: append(slices.Clone(p.ids), id), points: map[string]string{}}
	for ns, c := range p.points {
		in.points[ns] = c
	}
	in.points[p.namespace()] = snap.ID
	return in
}

// deepen adds the state of the subgraph that a task runs, if it has begun.
func (r *reader) deepen(ctx context.Context, t *taskState, p place) error {
	sub, err := r.thread.Subgraph(p.tasks...).Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t.State, err = r.state(ctx, sub, true, true, p)
	t.Checkpoint = nil
	if t.State != nil {
		t.State.Interrupts = slices.Clone(t.Interrupts)
	}
	return err
}

// questionsOf returns the open questions of a task and of the subgraphs that it runs.
func questionsOf(pauses []graph.Pause, path []string) []interrupt {
	out := []interrupt{}
	prefix := strings.Join(path, "/")
	for _, p := range pauses {
		if p.Kind == graph.Question && (p.Path == prefix || strings.HasPrefix(p.Path, prefix+"/") || strings.HasPrefix(p.Path, prefix+"~")) {
			out = append(out, newInterrupt(p))
		}
	}
	return out
}

// frame returns the description of a checkpoint without values and tasks. With start, it is that
// of the checkpoint before the one of an input.
func (r *reader) frame(i *graph.Info, p place, start bool) *threadState {
	id, parent, step, source := i.ID, i.Parent, p.stepOf(i), "loop"
	switch {
	case start:
		id, step, source = startID(i.ID), step-1, "input"
	case i.Source == checkpoint.Input:
		parent = startID(i.ID)
	case i.Source == checkpoint.Edited:
		source = "update"
	case i.Source == checkpoint.Fork:
		source = "fork"
	}
	meta := r.metadata(i)
	meta["source"], meta["step"], meta["thread_id"] = source, step, i.Thread
	parents := map[string]string{}
	for ns, c := range p.points {
		parents[ns] = c
	}
	meta["parents"] = parents
	st := &threadState{
		Next: []string{}, Tasks: []taskState{}, Interrupts: []interrupt{}, Metadata: meta, Created: &i.Time,
		Checkpoint: p.checkpoint(i.Thread, id), Parent: p.checkpoint(i.Thread, parent), ID: &id,
	}
	if parent != "" {
		st.ParentID = &parent
	}
	return st
}

// checkpoint names a checkpoint of the place. It returns nil if id is empty.
func (p place) checkpoint(thread, id string) *checkpointID {
	if id == "" {
		return nil
	}
	c := &checkpointID{Thread: thread, Namespace: p.namespace(), ID: id}
	if len(p.points) > 0 {
		c.Map = map[string]string{c.Namespace: id}
		for ns, at := range p.points {
			c.Map[ns] = at
		}
	}
	return c
}

// metadata returns the metadata of the run that wrote a checkpoint.
func (r *reader) metadata(i *graph.Info) map[string]any {
	meta := map[string]any{}
	if text := i.Metadata[metaUser]; text != "" {
		var fields map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &fields) == nil {
			for k, v := range fields {
				meta[k] = v
			}
		}
	}
	for k, v := range i.Metadata {
		if _, ok := meta[k]; !ok && k != metaUser && k != metaInputs {
			meta[k] = v
		}
	}
	if meta["graph_id"] == nil {
		meta["graph_id"] = r.g.name
	}
	return meta
}

// results returns what the store keeps of the tasks of a checkpoint, by the id of the task.
func (r *reader) results(ctx context.Context, checkpoint string) (map[string]taskResult, error) {
	found, err := r.s.o.Runs.Tasks(ctx, r.thread.ID(), checkpoint)
	out := make(map[string]taskResult, len(found))
	for _, t := range found {
		var result taskResult
		err = errors.Join(err, json.Unmarshal(t.Data, &result))
		out[t.ID] = result
	}
	return out, err
}

// start returns the checkpoint that clients see before that of an input.
func (r *reader) start(ctx context.Context, i *graph.Info) (*threadState, error) {
	st := r.frame(i, place{}, true)
	st.Next = []string{graph.Start}
	results, err := r.results(ctx, startID(i.ID))
	if err != nil {
		return nil, err
	}
	task := taskState{
		ID: taskID(startID(i.ID), graph.Start), Name: graph.Start, Path: []string{"__pregel_pull", graph.Start}, Interrupts: []interrupt{}, Result: json.RawMessage("null"),
	}
	task.add(results[task.ID])
	st.Tasks = append(st.Tasks, task)
	if r.light {
		st.Values = map[string]json.RawMessage{}
		return st, nil
	}
	st.Values, err = r.valuesAt(ctx, i.Parent)
	return st, err
}

// valuesAt returns the values at a checkpoint. Without a checkpoint, they are those of a new thread.
func (r *reader) valuesAt(ctx context.Context, id string) (map[string]json.RawMessage, error) {
	if id == "" {
		out := map[string]json.RawMessage{}
		for name, text := range r.g.channels.empty {
			out[name] = json.RawMessage(text)
		}
		return out, nil
	}
	snap, err := r.thread.At(id).Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	return r.g.channels.values(snap.View)
}

// at returns the state at a checkpoint that clients see.
func (r *reader) at(ctx context.Context, id string, deep bool) (*threadState, error) {
	input, start := isStart(id)
	if start {
		id = input
	}
	newest, err := r.thread.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	snap, live := newest, true
	if id != "" && id != newest.ID {
		live = false
		if snap, err = r.thread.At(id).Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	if start {
		return r.start(ctx, &snap.Info)
	}
	return r.state(ctx, snap, live, deep, place{})
}

// emptyState is the state of a thread without checkpoints.
func emptyState() *threadState {
	return &threadState{Values: map[string]json.RawMessage{}, Next: []string{}, Tasks: []taskState{}, Interrupts: []interrupt{}}
}

// readState answers a request for the state at a checkpoint; an empty id means the newest one.
func (c *call) readState(r runs.Record, id string, deep bool) error {
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	if g == nil {
		return c.send(emptyState())
	}
	st, err := c.s.reader(g, r.ID).at(c.ctx(), id, deep)
	if errors.Is(err, checkpoint.ErrNotFound) {
		if id != "" {
			return notFound("checkpoint", id)
		}
		return c.send(emptyState())
	}
	if err != nil {
		return err
	}
	return c.send(st)
}

func (c *call) getState() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	id := c.r.PathValue("checkpoint")
	if id != "" && !isUUID(id) {
		return invalid("%q is not the id of a checkpoint.", shortened(id))
	}
	return c.readState(r, id, c.flag("subgraphs"))
}

func (c *call) getStateAt() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	var b struct {
		Checkpoint checkpointID `json:"checkpoint"`
		Subgraphs  bool         `json:"subgraphs"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	return c.readState(r, b.Checkpoint.ID, b.Subgraphs)
}

// A stateUpdate is an edit of a state as if a node had run.
type stateUpdate struct {
	Values json.RawMessage `json:"values"`
	AsNode string          `json:"as_node"`
}

func (c *call) updateState() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	var b struct {
		stateUpdate
		Checkpoint   *checkpointID `json:"checkpoint"`
		CheckpointID string        `json:"checkpoint_id"`
	}
	if err := c.body(&b, true); err != nil {
		return err
	}
	if b.Checkpoint != nil && b.CheckpointID == "" {
		b.CheckpointID = b.Checkpoint.ID
	}
	ns := ""
	if b.Checkpoint != nil {
		ns = b.Checkpoint.Namespace
	}
	id, err := c.update(&r, b.CheckpointID, ns, []stateUpdate{b.stateUpdate})
	if err != nil {
		return err
	}
	point := checkpointID{Thread: r.ID, Namespace: ns, ID: id}
	return c.send(map[string]any{"checkpoint": point, "checkpoint_id": id, "configurable": point})
}

// update edits the state of a thread at a checkpoint and returns the id of the new checkpoint.
func (c *call) update(r *runs.Record, at, ns string, updates []stateUpdate) (string, error) {
	g, err := c.s.graphOf(r)
	if err != nil {
		return "", err
	}
	var edits []graph.NodeUpdate
	for _, u := range updates {
		list, err := readUpdates(g, u)
		if err != nil {
			return "", refuse(http.StatusBadRequest, "The values cannot be read: %v.", err)
		}
		edits = append(edits, list)
	}
	inputs, base, err := c.base(g, r.ID, at)
	if err != nil {
		return "", err
	}
	th := g.graph.Thread(r.ID).With(graph.RunOptions{Metadata: map[string]string{metaInputs: strconv.Itoa(inputs)}}).At(base)
	snap, err := c.edit(th, g, ns, edits)
	switch {
	case errors.Is(err, checkpoint.ErrConflict):
		return "", refuse(http.StatusConflict, "The thread is busy.")
	case errors.Is(err, checkpoint.ErrNotFound):
		return "", notFound("checkpoint", at)
	case err != nil:
		return "", refuse(http.StatusBadRequest, "The state cannot be updated: %v.", err)
	}
	_, err = c.s.change(c.ctx(), runs.Thread, r.ID, func(r *runs.Record) error {
		r.Updated = now()
		return nil
	})
	return snap.ID, err
}

// edit applies updates to a thread, or to the subgraph with a namespace.
func (c *call) edit(th *graph.Thread, g *served, ns string, edits []graph.NodeUpdate) (*graph.Snapshot, error) {
	if ns == "" {
		return th.UpdateNodes(c.ctx(), edits...)
	}
	tasks, err := c.s.reader(g, th.ID()).tasksOf(c.ctx(), ns)
	if err != nil {
		return nil, err
	}
	if len(edits) != 1 {
		return nil, errors.New("a subgraph takes one update")
	}
	return th.Subgraph(tasks...).Update(c.ctx(), edits[0].Node, edits[0].Update...)
}

// tasksOf returns the ids of the tasks that lead to the subgraph with a namespace.
func (r *reader) tasksOf(ctx context.Context, ns string) ([]string, error) {
	st, err := r.thread.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	p := place{}
	for part := range strings.SplitSeq(ns, "|") {
		i := slices.IndexFunc(st.Tasks, func(t graph.Task) bool { return t.Node+":"+p.taskID(&st.Info, t.ID) == part })
		if i < 0 {
			return nil, checkpoint.ErrNotFound
		}
		p = p.inner(st, st.Tasks[i], p.taskID(&st.Info, st.Tasks[i].ID))
		if st, err = r.thread.Subgraph(p.tasks...).Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	return p.tasks, nil
}

func readUpdates(g *served, u stateUpdate) (graph.NodeUpdate, error) {
	edit := graph.NodeUpdate{Node: u.AsNode}
	list := []json.RawMessage{u.Values}
	if isArray(u.Values) {
		list = nil
		if err := json.Unmarshal(u.Values, &list); err != nil {
			return edit, err
		}
	}
	for _, values := range list {
		if string(orEmpty(values)) == "{}" {
			continue
		}
		update, err := g.readInput(values)
		if err != nil {
			return edit, err
		}
		edit.Update = append(edit.Update, update...)
	}
	return edit, nil
}

// base returns the checkpoint of the graph that a checkpoint of a client stands for, and how many
// inputs its state contains. A start stands for the checkpoint before it.
func (c *call) base(g *served, thread, at string) (inputs int, id string, err error) {
	th := g.graph.Thread(thread)
	input, start := isStart(at)
	if start {
		at = input
	}
	snap, err := th.At(at).Snapshot(c.ctx())
	switch {
	case errors.Is(err, checkpoint.ErrNotFound) && at == "":
		return 0, "", nil
	case errors.Is(err, checkpoint.ErrNotFound):
		return 0, "", notFound("checkpoint", at)
	case err != nil:
		return 0, "", err
	case !start:
		return inputsOf(&snap.Info), at, nil
	case snap.Parent == "":
		return 0, graph.Start, nil
	}
	return inputsOf(&snap.Info) - 1, snap.Parent, nil
}

type historyBody struct {
	Limit      *int            `json:"limit"`
	Before     json.RawMessage `json:"before"`
	Metadata   json.RawMessage `json:"metadata"`
	Checkpoint checkpointID    `json:"checkpoint"`
}

// beforeID returns the id of the checkpoint that a request names as the upper bound.
func (b *historyBody) beforeID() (string, error) {
	var text string
	var named struct {
		checkpointID
		Configurable checkpointID `json:"configurable"`
	}
	switch data := bytes.TrimSpace(b.Before); {
	case len(data) == 0 || string(data) == "null":
		return "", nil
	case json.Unmarshal(data, &text) == nil:
		return text, nil
	case json.Unmarshal(data, &named) == nil && named.Configurable.ID != "":
		return named.Configurable.ID, nil
	case named.ID != "":
		return named.ID, nil
	}
	return "", invalid("before names no checkpoint.")
}

func (c *call) history() error {
	r, err := c.pathThread()
	if err != nil {
		return err
	}
	var b historyBody
	limit := 10
	if c.r.Method == http.MethodGet {
		if limit, err = c.number("limit", 1); err != nil {
			return err
		}
		if before := c.r.URL.Query().Get("before"); before != "" {
			b.Before = encoded(before)
		}
	} else {
		if err := c.body(&b, false); err != nil {
			return err
		}
		if b.Limit != nil {
			limit = *b.Limit
		}
	}
	if limit < 1 || limit > maxLimit {
		return invalid("The limit is %d; it must be from 1 to %d.", limit, maxLimit)
	}
	if err := object("metadata", b.Metadata); err != nil {
		return err
	}
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	if g == nil {
		return c.send([]*threadState{})
	}
	before, err := b.beforeID()
	if err != nil {
		return err
	}
	read := c.s.reader(g, r.ID)
	read.light = c.prefersMinimal()
	list, err := read.history(c.ctx(), before, b.Metadata, limit)
	if err != nil {
		return err
	}
	return c.send(list)
}

// history returns the states of a thread, newest first.
func (r *reader) history(ctx context.Context, before string, metadata json.RawMessage, limit int) ([]*threadState, error) {
	out := []*threadState{}
	newest, err := r.thread.Snapshot(ctx)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	input, start := isStart(before)
	if before != "" && !start { // the checkpoint that clients see before that of an input comes first
		if snap, err := r.thread.At(before).Snapshot(ctx); err == nil && snap.Source == checkpoint.Input {
			st, err := r.start(ctx, &snap.Info)
			if err != nil {
				return nil, err
			}
			out = r.add(out, st, metadata)
		}
	}
	if start {
		before = input
	}
	for info, err := range r.thread.History(ctx, graph.HistoryQuery{Before: before}) {
		if errors.Is(err, checkpoint.ErrNotFound) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(out) >= limit {
			break
		}
		states, err := r.statesOf(ctx, &info, newest)
		if err != nil {
			return nil, err
		}
		for _, st := range states {
			out = r.add(out, st, metadata)
		}
	}
	return out[:min(limit, len(out))], nil
}

// statesOf returns what a history has for a checkpoint.
func (r *reader) statesOf(ctx context.Context, i *graph.Info, newest *graph.Snapshot) ([]*threadState, error) {
	if !r.light {
		return r.statesAt(ctx, i.ID, newest)
	}
	st := r.frame(i, place{}, false)
	st.Next, st.Values = append([]string{}, i.Next...), map[string]json.RawMessage{}
	if i.Source != checkpoint.Input {
		return []*threadState{st}, nil
	}
	start, err := r.start(ctx, i)
	return []*threadState{st, start}, err
}

// statesAt returns the state at a checkpoint, and that before it if it is the checkpoint of an
// input.
func (r *reader) statesAt(ctx context.Context, id string, newest *graph.Snapshot) ([]*threadState, error) {
	snap, live := newest, id == newest.ID
	if !live {
		var err error
		if snap, err = r.thread.At(id).Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	st, err := r.state(ctx, snap, live, false, place{})
	if err != nil || snap.Source != checkpoint.Input {
		return []*threadState{st}, err
	}
	start, err := r.start(ctx, &snap.Info)
	return []*threadState{st, start}, err
}

// add appends a state whose metadata contains the wanted one.
func (r *reader) add(list []*threadState, st *threadState, metadata json.RawMessage) []*threadState {
	if runs.Contains(encoded(st.Metadata), metadata) {
		list = append(list, st)
	}
	return list
}

// firstOf returns the first task of a path.
func firstOf(path string) string {
	first, _, _ := strings.Cut(path, "/")
	first, _, _ = strings.Cut(first, "~")
	return first
}

// noWrites says that an update has no writes to channels.
func noWrites(u state.Update) bool {
	return !slices.ContainsFunc(u, func(w state.Write) bool { return w.Channel() != "" })
}
