package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// Errors that a task can have. Package graph exports them.
var (
	ErrUnknownNode = errors.New("the graph has no such node")
	ErrRoute       = errors.New("not among the targets that were declared")
	ErrSignal      = errors.New("this write has no meaning here")
	ErrNoStore     = errors.New("this needs a thread and a checkpoint store: compile the graph with Options.Checkpoints (an agent with agent.Options.Graph.Checkpoints), and run it by Graph.Thread")
	ErrTimeout     = errors.New("timed out")
	errExited      = errors.New("the node called runtime.Goexit")
)

// A scope is the part of a run that its tasks can access.
type scope struct {
	*session
	plan   *Plan
	wrap   func(*Node) Func // the middleware around nodes; nil for none
	limits *Options
	parent *Task  // in a subgraph, the task that called it
	ns     string // the namespace of the checkpoints
	path   string // the ids of the tasks around the run, joined by "/"
	// nodeCtx is the context of the nodes.
	// In a subgraph, it is the context with which the calling node runs the subgraph.
	nodeCtx context.Context
	stepCtx context.Context // the context of the superstep's hook

	checkpoint string // the id of the current checkpoint
	head       string // the id of the newest checkpoint of the namespace; it may not be stored yet
	step       int
	stepsDone  int // the number of supersteps of this run
	view       state.View
	single     bool // the superstep has a single task
	front      frontier
	pending    *pendingWrites // the pending writes of the checkpoint; nil for none
	began      time.Time      // the start of the superstep; zero if it is not known yet, or without events
	location   *Location      // the location of the run's own events; nil before the first
	locations  []*Location    // the locations of plain tasks, by the index of the node
	touched    atomic.Bool    // this run stored pending writes for the checkpoint
}

// key names the current checkpoint.
func (s *scope) key() checkpoint.Key {
	return checkpoint.Key{Thread: s.thread, Namespace: s.ns, ID: s.checkpoint}
}

// after returns the state of the superstep after the writes of one task.
func (s *scope) after(writes state.Update) state.View {
	return statecore.Overlay(s.plan.Schema, s.view, writes)
}

// A Task is one execution of a node in a superstep, and the context of the node.
// Any goroutine of the node may call its exported methods.
type Task struct {
	// Emit reads these fields at each call, so they are next to each other.
	scope    *scope
	returned atomic.Bool // the node has returned
	watched  atomic.Bool // the context of the node has an IdleWatch
	location *Location   // the location of its events; nil if they have no reader

	node  *Node
	sent  int // the number among the sent tasks of the superstep, from 1; 0 for a plain task
	view  state.View
	saved *savedTask // the decoded pending writes of the task; nil for none

	// These fields are the outcome of the task.
	// The goroutine that runs the task writes them.
	// The run reads them after all tasks have ended.
	finished bool
	writes   state.Update
	targets  []*Node
	err      error // made by session.taskError

	mu        sync.Mutex  // guards extras and nextIndex
	nextIndex int         // the index of the next pending write
	extras    *taskExtras // nil for most tasks
}

// taskExtras holds the fields of a task that are rarely set.
type taskExtras struct {
	asked []Pause              // the open questions of this attempt, and the static pauses of its subgraph
	keys  map[string]bool      // the ids of all questions of this attempt, and the keys of its inner tasks
	once  map[string]*onceCall // the side effects of the task by key
	inner []*Task              // the newest inner task of each key
	fault error                // an error that fails the task, even if its node returns nil
	// storing counts the calls of storeNow and the inner tasks that have not ended.
	storing sync.WaitGroup

	// These fields are parts of the outcome.
	sends  []sentTask
	pauses []Pause

	// These fields are parts of the outcome in a subgraph, or of a node that runs one.
	toParent   []state.Write
	persistent map[string]string // the newest checkpoints of persistent subgraphs, by name
	ended      string            // the namespace of an ended call, which no run resumes
}

// noExtras is the value of extras that are nil. It is never changed.
var noExtras taskExtras

// extrasOrNone returns the extras for reading.
// The caller holds t.mu, or the node has ended.
func (t *Task) extrasOrNone() *taskExtras {
	if t.extras == nil {
		return &noExtras
	}
	return t.extras
}

// ensureExtras returns the extras for writing, and allocates them if necessary.
// The caller holds t.mu, or the node has ended.
func (t *Task) ensureExtras() *taskExtras {
	if t.extras == nil {
		t.extras = &taskExtras{}
	}
	return t.extras
}

// addFault makes the task fail with err, even if its node returns no error. The first fault counts.
// The caller holds t.mu.
func (t *Task) addFault(err error) {
	if x := t.ensureExtras(); x.fault == nil {
		x.fault = err
	}
}

// failCallers makes the tasks around a subgraph fail with err, even if their nodes return no error.
// It returns err.
func (s *scope) failCallers(err error) error {
	if s.parent != nil && err != nil {
		s.parent.mu.Lock()
		s.parent.addFault(err)
		s.parent.mu.Unlock()
		return s.parent.scope.failCallers(err)
	}
	return err
}

// A onceCall is a side effect of a task, with its result if it is known.
type onceCall struct {
	token chan struct{} // a lock: it holds a token while no goroutine runs the side effect
	ready bool          // value is the result
	value json.RawMessage
}

// These types are keys of context values.
type (
	taskKey    struct{}
	attemptKey struct{} // the key of the attempt number that node.Retry sets
)

// Deadline returns the deadline of the nodes' context.
func (t *Task) Deadline() (time.Time, bool) { return t.scope.nodeCtx.Deadline() }

// Done returns the channel that is closed when the nodes' context ends.
func (t *Task) Done() <-chan struct{} { return t.scope.nodeCtx.Done() }

// AfterFunc calls f in a goroutine after the nodes' context has ended.
// Package context uses it to derive a context without starting a goroutine.
func (t *Task) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(t.scope.nodeCtx, f)
}

// Err returns the error of the nodes' context.
func (t *Task) Err() error { return t.scope.nodeCtx.Err() }

// Value returns the task for its own key, else a value of the nodes' context.
// In a subgraph, it hides the attempt number of the parent's node,
// which the nodes' context contains.
func (t *Task) Value(key any) any {
	switch key {
	case taskKey{}:
		return t
	case attemptKey{}:
		return nil
	}
	return t.scope.nodeCtx.Value(key)
}

// A hookedTask is the context of a task in a superstep with a hook.
type hookedTask struct {
	context.Context // of the superstep
	task            *Task
}

// Value returns a value of the task, or of the superstep's context.
func (t *hookedTask) Value(key any) any {
	switch key {
	case taskKey{}, attemptKey{}:
		return t.task.Value(key)
	}
	return t.Context.Value(key)
}

// TaskOf returns the task whose node runs with ctx.
// It returns nil if ctx belongs to no node, or if the node has returned.
func TaskOf(ctx context.Context) *Task {
	t, ok := ctx.(*Task)
	if !ok {
		t, _ = ctx.Value(taskKey{}).(*Task)
	}
	if t == nil || t.returned.Load() {
		return nil
	}
	return t
}

// ID returns the id of the task, which is unique within its superstep.
func (t *Task) ID() string { return taskID(t.node.Name, t.sent, t.node.suffix) }

// formerIDs returns the ids of the task under the former names of its node.
func (t *Task) formerIDs() []string {
	return t.scope.plan.formerTasks(t.node.Name, t.sent, t.node.suffix)
}

// due reports whether the task still has to run in this superstep.
func (t *Task) due() bool { return !t.finished && t.err == nil && t.extrasOrNone().pauses == nil }

// restored reports whether an earlier run stored the result of the task.
func (t *Task) restored() bool { return t.finished && t.saved != nil && t.saved.done }

// fail converts err to a task error. It does not change the task.
func (t *Task) fail(err error) error {
	return t.scope.taskError(TaskFailure{Path: t.scope.path, Node: t.node.Name, Task: t.ID(), Err: err})
}

// routed returns the node of the task and the targets that the task chose.
func (t *Task) routed() routed {
	return routed{node: t.node, targets: t.targets, sends: t.extrasOrNone().sends}
}

func (t *Task) event(kind EventKind, at time.Time) Event {
	return Event{Kind: kind, Place: Place{at, t.scope.step, t.location}}
}

// wrote reports whether the update of the task has a write to the channel.
func (t *Task) wrote(channel string) bool {
	return slices.ContainsFunc(t.writes, func(w state.Write) bool { return w.Channel() == channel })
}

// channelOf returns the name of the channel in an error, or "" if it names none.
func channelOf(err error) string {
	if ce, ok := errors.AsType[*state.ChannelError](err); ok {
		return ce.Channel
	}
	return ""
}
