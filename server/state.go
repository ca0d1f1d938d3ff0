package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/server/runs"
)

// Clients see more checkpoints than a graph stores. Before the checkpoint of each input, they see a start checkpoint, in
// which only the node __start__ is due. The result of this node is the input. The id of the start checkpoint is derived
// from the id of the input's checkpoint.

// variantAt is the index of the digit that contains the two variant bits, which are 10 in each id of a graph.
const variantAt = 19

// startID returns the id of the start checkpoint before an input's checkpoint. Its variant is 00, and the variant of the
// other ids of its run is 10, so it sorts before them: clients compare ids as texts.
func startID(id string) string { return withVariant(id, 0x8) }

// oldStartID returns the start id of older versions, with the variant 11. Stored results may have such ids.
func oldStartID(id string) string { return withVariant(id, 0x4) }

// withVariant flips bits of the variant in an id.
func withVariant(id string, bits uint64) string {
	digit, err := strconv.ParseUint(id[variantAt:variantAt+1], 16, 8)
	if err != nil {
		return id
	}
	return id[:variantAt] + strconv.FormatUint(digit^bits, 16) + id[variantAt+1:]
}

// isStart reports whether startID or oldStartID made the id, and returns the id of the input's checkpoint.
func isStart(id string) (input string, ok bool) {
	if !isUUID(id) {
		return id, false
	}
	switch digit := rune(id[variantAt]); {
	case strings.ContainsRune("0123", digit):
		return withVariant(id, 0x8), true
	case strings.ContainsRune("cdef", digit):
		return withVariant(id, 0x4), true
	}
	return id, false
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

// taskResult is the stored data of a task.
type taskResult struct {
	Result     json.RawMessage `json:"result,omitempty"`
	Error      string          `json:"error,omitempty"`
	Interrupts []interrupt     `json:"interrupts,omitempty"`
	Started    time.Time       `json:"started,omitzero"`
	Ended      time.Time       `json:"ended,omitzero"`
	// Node, Step and Run belong to the task. Usage is the sum of the tokens of its messages.
	Node  string     `json:"node,omitempty"`
	Step  int        `json:"step,omitempty"`
	Run   string     `json:"run,omitempty"`
	Usage *llm.Usage `json:"usage,omitempty"`
	// Attempts are the failed attempts before the last one.
	Attempts []failedAttempt `json:"attempts,omitempty"`
	Logs     []logLine       `json:"logs,omitempty"`
}

// A reader reads the states of a thread, or of a subgraph of the thread.
type reader struct {
	s      *Server
	g      *served
	thread *graph.Thread
	place  place // the subgraph; the zero value for the thread itself
	light  bool  // the states of a history have no values, and only inputs have results
}

func (s *Server) reader(g *served, thread string) *reader {
	return &reader{s: s, g: g, thread: g.graph.Thread(thread)}
}

// The keys of the metadata of a checkpoint: the number of inputs of its thread, and the id and the metadata of its run.
const (
	metaInputs = "inputs"
	metaRun    = "run_id"
	metaUser   = "metadata"
)

// inputsOf returns the number of inputs that a state of the thread contains. It returns 1 for a checkpoint that the
// server did not write, because that has no number.
func inputsOf(i *graph.Info) int {
	n, err := strconv.Atoi(i.Metadata[metaInputs])
	if err != nil {
		return 1
	}
	return n
}

// state returns a snapshot as clients see it. If live is set, it has the open questions of the thread. If deep is set
// too, it contains the states of subgraphs.
func (r *reader) state(ctx context.Context, snap *graph.Snapshot, live, deep bool, p place) (*threadState, error) {
	read := r.values
	if len(p.tasks) > 0 {
		read = func(_ context.Context, snap *graph.Snapshot) (map[string]json.RawMessage, error) {
			return r.g.channels.at(p.nodes).values(snap.View)
		}
	}
	values, err := read(ctx, snap)
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

// values returns a state of the thread as clients see it. If a command has added tasks to a superstep that waits, the
// values do not contain the writes of the finished tasks yet.
func (r *reader) values(ctx context.Context, snap *graph.Snapshot) (map[string]json.RawMessage, error) {
	if !slices.ContainsFunc(snap.Tasks, func(t graph.Task) bool { return t.Finished }) {
		return r.g.channels.values(snap.View)
	}
	stored, err := r.thread.At(snap.ID).Snapshot(ctx) // the stored state, without the added tasks
	if err != nil {
		return nil, err
	}
	for _, t := range snap.Tasks {
		if t.Finished && !slices.ContainsFunc(stored.Tasks, func(o graph.Task) bool { return o.ID == t.ID }) {
			return r.g.channels.values(snap.Due())
		}
	}
	return r.g.channels.values(snap.View)
}

// asked is the suffix of the id under which the questions of a task are stored.
const asked = "?"

func (t *taskState) add(r taskResult) {
	if len(r.Result) > 0 {
		t.Result = r.Result
	}
	if r.Error != "" {
		t.Error = &r.Error
	}
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

// frame returns the description of a checkpoint without values and tasks. If start is set, it describes the start
// checkpoint before the checkpoint of an input.
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

// results returns the stored data of the tasks of checkpoints, by the id of the task.
func (r *reader) results(ctx context.Context, checkpoints ...string) (map[string]taskResult, error) {
	found, err := r.s.o.Runs.Tasks(ctx, r.thread.ID(), checkpoints...)
	out := make(map[string]taskResult, len(found))
	for _, t := range found {
		var result taskResult
		err = errors.Join(err, json.Unmarshal(t.Data, &result))
		out[t.ID] = result
	}
	return out, err
}

// start returns the start checkpoint before the checkpoint of an input.
func (r *reader) start(ctx context.Context, i *graph.Info) (*threadState, error) {
	st := r.frame(i, r.place, true)
	st.Next = []string{graph.Start}
	results, err := r.results(ctx, startID(i.ID), oldStartID(i.ID))
	if err != nil {
		return nil, err
	}
	task := taskState{
		ID: taskID(startID(i.ID), graph.Start), Name: graph.Start, Path: []string{"__pregel_pull", graph.Start}, Interrupts: []interrupt{}, Result: json.RawMessage("null"),
	}
	result, ok := results[task.ID]
	if !ok {
		result = results[taskID(oldStartID(i.ID), graph.Start)]
	}
	task.add(result)
	st.Tasks = append(st.Tasks, task)
	if r.light {
		st.Values = map[string]json.RawMessage{}
		return st, nil
	}
	st.Values, err = r.valuesAt(ctx, i.Parent)
	return st, err
}

// valuesAt returns the values at a checkpoint. If id is empty, it returns the values of a new thread.
func (r *reader) valuesAt(ctx context.Context, id string) (map[string]json.RawMessage, error) {
	channels := r.g.channels.at(r.place.nodes)
	if id == "" {
		return maps.Clone(channels.initial), nil
	}
	snap, err := r.snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return channels.values(snap.View)
}

// at returns the state at a checkpoint that a client names.
func (r *reader) at(ctx context.Context, id string, deep bool) (*threadState, error) {
	input, start := isStart(id)
	if start {
		id = input
	}
	newest, err := r.snapshot(ctx, "")
	if err != nil {
		return nil, err
	}
	snap, live := newest, true
	if id != "" && id != newest.ID {
		live = false
		if snap, err = r.snapshot(ctx, id); err != nil {
			return nil, err
		}
	}
	if start {
		return r.start(ctx, &snap.Info)
	}
	return r.state(ctx, snap, live, deep, r.place)
}

// emptyState is the state of a thread without checkpoints.
func emptyState() *threadState {
	return &threadState{Values: map[string]json.RawMessage{}, Next: []string{}, Tasks: []taskState{}, Interrupts: []interrupt{}}
}

// readState sends the state at a checkpoint. An empty id means the newest one.
func (c *call) readState(r runs.Record, at checkpointID, deep bool) error {
	id := at.ID
	g, err := c.s.servedOf(c.ctx(), &r)
	if err != nil {
		return err
	}
	if g == nil {
		return c.send(emptyState())
	}
	read, err := c.s.reader(g, r.ID).in(c.ctx(), at.Namespace)
	if err != nil {
		return err
	}
	st, err := read.at(c.ctx(), id, deep)
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
	return c.readState(r, checkpointID{ID: id}, c.flag("subgraphs"))
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
	return c.readState(r, b.Checkpoint, b.Subgraphs)
}
