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
	"github.com/weft-go/weft/state"
)

// Errors of tasks.
var (
	ErrUnknownNode = errors.New("the graph has no such node")
	ErrRoute       = errors.New("not among the targets that were declared")
	ErrSignal      = errors.New("this write has no meaning here")
	ErrNoStore     = errors.New("this needs a thread and a checkpoint store")
	ErrTimeout     = errors.New("timed out")
	errExited      = errors.New("the node called runtime.Goexit")
)

// A scope is the part of a run that its tasks read.
type scope struct {
	*session
	plan   *Plan
	limits *Options
	parent *Task // in a subgraph, the task that called it
	ns     string
	path   string
	// nodeCtx is the context of the nodes: the run's, or in a subgraph the one that
	// the calling node has.
	nodeCtx context.Context

	checkpoint string // id of the checkpoint that the superstep builds on
	step       int
	stepsDone  int // supersteps of this run
	view       state.View
	single     bool // the superstep has one task
	front      frontier
	pending    *pendingWrites // of the checkpoint; nil for none
	began      time.Time      // when the superstep began, for its events
	location   *Location      // of the events of the run; nil before the first
	locations  []*Location    // of the events of plain tasks, by the index of the node
	touched    atomic.Bool    // tasks of this superstep stored pending writes
}

// key names the current checkpoint.
func (s *scope) key() checkpoint.Key {
	return checkpoint.Key{Thread: s.thread, Namespace: s.ns, ID: s.checkpoint}
}

// A Task is the part of one node in a superstep, and the context with which the
// node runs. Its exported methods may be called from any goroutine of the node.
type Task struct {
	scope *scope
	node  *Node
	sent  int // 0 for a plain task; else its place among the sent tasks, from 1
	view  state.View
	saved *savedTask // what pending writes say about the task; nil for nothing

	location *Location // of its events; nil without a reader

	// The outcome. The goroutine that runs the task writes it, and the run reads
	// it when all tasks have ended.
	finished bool
	writes   state.Update
	targets  []*Node
	err      error // a task error: see scope.taskError

	over      atomic.Bool // the node has returned
	watched   atomic.Bool // an IdleWatch is around the node
	mu        sync.Mutex  // guards extras and nextIndex
	nextIndex int         // of a pending write
	extras    *taskExtras // nil for most tasks
}

// taskExtras holds fields that few tasks need.
type taskExtras struct {
	asked []Pause
	keys  map[string]bool // ids of the questions of this attempt
	once  map[string]*onceCall
	fault error // fails the task whatever its node returns
	// storing counts the calls of storeNow that are under way.
	storing sync.WaitGroup

	// Parts of the outcome.
	sends  []sentTask
	pauses []Pause

	// Parts of the outcome in a subgraph, or of a node that calls one.
	toParent   []state.Write
	persistent map[string]string // new heads of persistent subgraphs
	ended      string            // the namespace of a call that nobody resumes once the task has finished
}

var noExtras taskExtras // is only read

// extra returns the extras of a task to read. The lock is held, or the node has ended.
func (t *Task) extra() *taskExtras {
	if t.extras == nil {
		return &noExtras
	}
	return t.extras
}

// own returns the extras of a task to change, under the same condition.
func (t *Task) own() *taskExtras {
	if t.extras == nil {
		t.extras = &taskExtras{}
	}
	return t.extras
}

// A onceCall is a side effect of a task: its result, or the call that is under way.
type onceCall struct {
	turn  chan struct{} // holds a token while no call is under way
	ready bool
	value json.RawMessage
}

func newOnceCall() *onceCall {
	c := &onceCall{turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

func completedCall(value json.RawMessage) *onceCall {
	c := newOnceCall()
	c.ready, c.value = true, value
	return c
}

type (
	taskKey    struct{}
	attemptKey struct{} // of the attempt under node.Retry
)

// Deadline returns the deadline of the context of the run's nodes.
func (t *Task) Deadline() (time.Time, bool) { return t.scope.nodeCtx.Deadline() }

// Done returns the channel of the context of the run's nodes.
func (t *Task) Done() <-chan struct{} { return t.scope.nodeCtx.Done() }

// AfterFunc lets package context derive contexts without a goroutine for each.
func (t *Task) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(t.scope.nodeCtx, f)
}

// Err returns the error of the context of the run's nodes.
func (t *Task) Err() error { return t.scope.nodeCtx.Err() }

// Value returns the task itself, and the values of the context of the run's nodes. A
// node of a subgraph does not see the attempt of the node around the subgraph.
func (t *Task) Value(key any) any {
	switch key {
	case taskKey{}:
		return t
	case attemptKey{}:
		return nil
	}
	return t.scope.nodeCtx.Value(key)
}

// TaskOf returns the task whose node runs with ctx. It returns nil outside a node,
// and for a goroutine that outlived its node.
func TaskOf(ctx context.Context) *Task {
	t, ok := ctx.(*Task)
	if !ok {
		t, _ = ctx.Value(taskKey{}).(*Task)
	}
	if t == nil || t.over.Load() {
		return nil
	}
	return t
}

// ID tells the task from the others of its superstep.
func (t *Task) ID() string { return taskID(t.node.Name, t.sent) }

// due reports whether the task has to run.
func (t *Task) due() bool { return !t.finished && t.err == nil && t.extra().pauses == nil }

// restored reports whether the result of the task is from an earlier run.
func (t *Task) restored() bool { return t.finished && t.saved != nil && t.saved.done }

// fail makes err the error of the task.
func (t *Task) fail(err error) error {
	return t.scope.taskError(TaskFailure{Path: t.scope.path, Node: t.node.Name, Task: t.ID(), Err: err})
}

// routed returns where the task leads.
func (t *Task) routed() routed {
	return routed{node: t.node, targets: t.targets, sends: t.extra().sends}
}

func (t *Task) event(kind EventKind, at time.Time) Event {
	return Event{Kind: kind, Time: at, Step: t.scope.step, Location: t.location}
}

// wrote reports whether the task wrote to a channel.
func (t *Task) wrote(channel string) bool {
	return slices.ContainsFunc(t.writes, func(w state.Write) bool { return w.Channel() == channel })
}

// channelOf returns the channel that an error names, or "".
func channelOf(err error) string {
	if ce, ok := errors.AsType[*state.ChannelError](err); ok {
		return ce.Channel
	}
	return ""
}
