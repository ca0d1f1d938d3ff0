package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/statecore"
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

// A scope is where the tasks of a superstep run: what a task needs to know of
// its run.
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

// taskExtras is what few tasks have.
type taskExtras struct {
	asked []Pause
	keys  map[string]bool // ids of the questions of this attempt
	once  map[string]*onceCall
	fault error // fails the task whatever its node returns
	// storing counts what storeNow has under way.
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

// Deadline is that of the context of the run's nodes.
func (t *Task) Deadline() (time.Time, bool) { return t.scope.nodeCtx.Deadline() }

// Done is that of the context of the run's nodes.
func (t *Task) Done() <-chan struct{} { return t.scope.nodeCtx.Done() }

// AfterFunc lets package context derive contexts without a goroutine for each.
func (t *Task) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(t.scope.nodeCtx, f)
}

// Err is that of the context of the run's nodes.
func (t *Task) Err() error { return t.scope.nodeCtx.Err() }

// Value returns the task itself, and what the context of the run's nodes has. The
// attempt of a node around a subgraph is not that of the subgraph's nodes.
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

// tasks returns the tasks of the superstep that is due: plain ones by name, then
// the sent ones. What pending writes say about a task is restored.
func (s *scope) tasks() []Task {
	f := &s.front
	tasks := make([]Task, len(f.next)+len(f.sends))
	for i, n := range f.next {
		t := &tasks[i]
		t.scope, t.node, t.view = s, n, s.view
	}
	for i := range f.sends {
		t, sent := &tasks[len(f.next)+i], &f.sends[i]
		t.scope, t.node, t.view, t.sent = s, sent.node, sent.view, i+1
		switch {
		case sent.err != nil:
			t.err = t.fail(fmt.Errorf("what was sent cannot be applied: %w", sent.err))
		case s.Logger != nil:
			t.view = statecore.WatchSent(sent.view, s.view, t.logMissed)
		}
	}
	if s.pending != nil {
		for i := range tasks {
			tasks[i].restore()
		}
	}
	return tasks
}

// logMissed logs that the task read a channel which was not sent to it, once in a run
// for each node and channel.
func (t *Task) logMissed(channel string) {
	s := t.scope
	s.mu.Lock()
	key := [2]string{t.node.Name, channel}
	known := s.missed[key]
	if s.missed == nil {
		s.missed = map[[2]string]bool{}
	}
	s.missed[key] = true
	s.mu.Unlock()
	if !known {
		s.Logger.Warn("graph: a sent task reads a channel that was not sent to it, and sees no value; add it to the Send",
			"graph", s.plan.Name, "thread", s.thread, "node", t.node.Name, "task", t.ID(), "channel", channel)
	}
}

// restore takes over what an earlier run left of the task.
func (t *Task) restore() {
	saved := t.scope.pending.tasks[t.ID()]
	if saved == nil {
		return
	}
	t.saved, t.nextIndex = saved, saved.next
	switch {
	case saved.done:
		t.finished, t.err = true, nil
		t.writes, t.targets = saved.writes, saved.targets
		if saved.sends != nil || saved.persistent != nil {
			t.own().sends, t.own().persistent = saved.sends, saved.persistent
		}
		for _, stored := range saved.toParent {
			w, err := t.scope.decodeParentWrite(stored)
			if err != nil {
				t.finished, t.err = false, t.fail(err)
			}
			t.own().toParent = append(t.own().toParent, w)
		}
	case saved.asked && t.scope.stillWaits(saved.pauses):
		t.own().pauses = saved.pauses
	}
	for key, value := range saved.once {
		if t.own().once == nil {
			t.own().once = map[string]*onceCall{}
		}
		t.own().once[key] = completedCall(value)
	}
}

// stillWaits reports whether a task that asked would only ask again: the caller
// gave answers and nothing else, and none of the task's questions has one.
func (s *session) stillWaits(pauses []Pause) bool {
	return s.answersOnly && len(pauses) > 0 && !slices.ContainsFunc(pauses, func(p Pause) bool {
		_, ok := s.answers[p.ID]
		return ok || p.Kind != Question
	})
}

// execute runs the node and keeps the outcome.
func (t *Task) execute() {
	update, err := t.call()
	open, fault := t.close()
	switch {
	case fault != nil && !errors.Is(err, fault):
		err = errors.Join(fault, err)
	case fault != nil:
	case open != nil:
		t.own().pauses = open
		return
	case err == nil:
		err = t.split(update)
	}
	if err != nil {
		t.err = t.fail(err)
		return
	}
	t.finished = true
	if ns := t.extra().ended; ns != "" {
		t.scope.log.writer.drop(ns)
	}
}

// call runs the node. A node that ends its goroutine fails; see worker.
func (t *Task) call() (update state.Update, err error) {
	returned := false
	defer func() {
		if !returned {
			_, _ = t.close()
			t.err = t.fail(errExited)
		}
	}()
	run := t.node.Run
	if wrap := t.scope.wrap; wrap != nil {
		run = wrap(t.node)
	}
	update, err = run(t, t.view)
	returned = true
	return update, err
}

// close marks the node as returned, and waits for what a goroutine of the node is
// storing. It returns the open questions, and a failure that counts whatever the
// node made of it.
func (t *Task) close() (open []Pause, fault error) {
	t.over.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.extras
	if x == nil {
		return nil, nil
	}
	t.mu.Unlock()
	x.storing.Wait()
	t.mu.Lock()
	return x.asked, x.fault
}

// fail makes err the error of the task.
func (t *Task) fail(err error) error {
	return t.scope.taskError(TaskFailure{Path: t.scope.path, Node: t.node.Name, Task: t.ID(), Err: err})
}

// split separates what the node returned into writes, targets and writes for the
// parent, and runs the branches of the node.
//
// A branch of a single task reads the state after the superstep, and runs when
// that exists. See commitStep.
func (t *Task) split(update state.Update) error {
	writes, err := t.splitUpdate(update, t.node.Destinations)
	if err != nil {
		return err
	}
	t.writes = writes
	if len(t.node.Branches) == 0 || t.scope.branchesReadCommit() {
		return nil
	}
	return t.branch(statecore.Overlay(t.scope.plan.Schema, t.view0(), t.writes))
}

// branchesReadCommit reports whether branches run on the state after the commit.
func (s *scope) branchesReadCommit() bool { return s.single && !s.plan.branchNeedsOverlay }

// view0 is the state on which branches are evaluated: that of the superstep, also
// for a task that was sent another one.
func (t *Task) view0() state.View { return t.scope.view }

// splitUpdate returns the writes of an update, and follows its signals.
func (t *Task) splitUpdate(update state.Update, allowed []string) (state.Update, error) {
	if !slices.ContainsFunc(update, func(w state.Write) bool { return w.Signal() != nil }) {
		return update, nil
	}
	var (
		writes state.Update
		tx     *statecore.Tx
	)
	for i, w := range update {
		switch s := w.Signal().(type) {
		case nil:
			writes = append(writes, w)
		case *Send:
			if tx == nil {
				tx = t.scope.plan.Schema.Begin(t.scope.plan.empty)
				t.own().sends = slices.Grow(t.own().sends, len(update)-i)
			}
			if err := t.addSend(tx, s, allowed); err != nil {
				return nil, err
			}
		default:
			if err := t.follow(s, allowed); err != nil {
				return nil, err
			}
		}
	}
	return writes, nil
}

// follow follows a signal that is not a Send.
func (t *Task) follow(s statecore.Signal, allowed []string) error {
	switch s := s.(type) {
	case Goto:
		return t.addTarget(s.Node, allowed)
	case ToParent:
		if t.scope.parent == nil {
			return fmt.Errorf("%s: %w: the graph has no parent", s.Signal(), ErrSignal)
		}
		t.own().toParent = append(t.own().toParent, s.Write)
		return nil
	}
	return fmt.Errorf("%s: %w: a node returned it", s.Signal(), ErrSignal)
}

// addSend schedules a sent task. What cannot be applied is refused here, where
// the sender can be named.
func (t *Task) addSend(tx *statecore.Tx, s *Send, allowed []string) error {
	if err := t.allow(s.Node, allowed); err != nil {
		return err
	}
	if s.Node == End {
		return fmt.Errorf("%s: %w", s.Signal(), ErrSignal)
	}
	sent := newSentTask(tx, t.scope.plan.byName[s.Node], s.Writes)
	if sent.err != nil {
		return fmt.Errorf("%s: %w", s.Signal(), sent.err)
	}
	t.own().sends = append(t.own().sends, sent)
	return nil
}

// addTarget schedules a node after the task.
func (t *Task) addTarget(name string, allowed []string) error {
	if err := t.allow(name, allowed); err != nil || name == End {
		return err
	}
	n := t.scope.plan.byName[name]
	if t.targets == nil {
		t.targets = n.self[:1:1] // a single target needs no allocation
		return nil
	}
	t.targets = append(t.targets, n)
	return nil
}

// allow returns an error if a target is not among the declared ones.
func (t *Task) allow(target string, declared []string) error {
	if slices.Contains(declared, target) {
		return nil
	}
	if target != End && t.scope.plan.byName[target] == nil {
		return fmt.Errorf("target %q: %w%s", target, ErrUnknownNode, suggestNode(t.scope.plan, target))
	}
	return fmt.Errorf("target %q: %w: %s", target, ErrRoute, declaredTargets(t.node.Name, target, declared))
}

// declaredTargets says which targets are declared, and how to declare another one.
func declaredTargets(node, target string, declared []string) string {
	if len(declared) > 0 {
		return fmt.Sprintf("%q are; add %q to them", declared, target)
	}
	return fmt.Sprintf("none are; declare it with Destinations(%q, %q)", node, target)
}

// branch runs the node's branches on a state that has the task's writes.
func (t *Task) branch(v state.View) error {
	for i := range t.node.Branches {
		b := &t.node.Branches[i]
		if b.One != nil {
			name, err := b.One(v)
			if err == nil {
				err = t.addTarget(name, b.Targets)
			}
			if err != nil {
				return fmt.Errorf("branch: %w", err)
			}
			continue
		}
		update, err := b.Many(v)
		var writes state.Update
		if err == nil {
			writes, err = t.splitUpdate(update, b.Targets)
		}
		if err == nil && len(writes) > 0 {
			err = fmt.Errorf("%s: %w: a branch returned it; it may return Goto and Send", writes[0], ErrSignal)
		}
		if err != nil {
			return fmt.Errorf("branch: %w", err)
		}
	}
	return nil
}

// routed returns where the task leads.
func (t *Task) routed() routed {
	return routed{node: t.node, targets: t.targets, sends: t.extra().sends}
}

// result returns the pending writes that hold the outcome of the task.
func (t *Task) result() ([]checkpoint.Write, error) {
	switch {
	case t.extra().pauses != nil:
		w, err := encodeMark(t.ID(), markAsk, indexAsk, t.extra().pauses)
		return []checkpoint.Write{w}, err
	case t.err != nil:
		return []checkpoint.Write{{Task: t.ID(), Index: indexError, Channel: markError, Data: []byte(t.err.Error())}}, nil
	}
	e := pendingEncoder{plan: t.scope.plan, task: t.ID(), index: t.nextIndex}
	for _, w := range t.writes {
		e.write(w)
	}
	e.routes(t.targets, t.extra().sends)
	for _, w := range t.extra().toParent {
		stored, err := t.scope.encodeParentWrite(w)
		if err != nil {
			return nil, err
		}
		e.addJSON(markParent, stored)
	}
	if persistent := t.extra().persistent; persistent != nil {
		e.addJSON(markPersist, persistent)
	}
	e.add(markDone, 0, nil)
	return e.out, e.err
}

// ended returns the event of a task that has its outcome.
func (t *Task) ended() Event {
	e := t.event(TaskFinished, time.Now())
	e.Update, e.Asked, e.Err = t.writes, t.extra().pauses != nil, t.err
	return e
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
