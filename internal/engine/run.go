package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/mark"
	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// Errors that a run can have. Package graph exports them.
var (
	ErrMaxSteps       = errors.New("the run reached its limit of supersteps")
	ErrPersistentBusy = errors.New("the persistent subgraph is in use by another task of the superstep")
)

// A run executes a graph or a subgraph once.
// It begins with an input or a stored checkpoint.
// It ends when no task is due, or with a pause or an error.
type run struct {
	scope

	stored      Info                // the current checkpoint, without Next; the id is empty before the first
	resuming    bool                // static pauses at the current checkpoint have no effect
	hasPending  bool                // the current checkpoint has pending writes
	restored    *frontier           // the frontier of the restored checkpoint, without targets of callers; nil for none
	editChanges []checkpoint.Change // changes before the superstep, which the next commit stores
	pauses      []Pause
	uncommitted []Task       // the tasks of a superstep that was not committed
	resumed     bool         // the run resumes the turn of the thread, or the call of the subgraph
	stoppedBy   string       // the mark of the static pause at which the run began
	previous    string       // the id of the run that stored the checkpoint at which the run began
	tx          statecore.Tx // used again for each superstep; see transaction
	snapshots   snapshotPolicy

	only   map[string]bool // the ids of the tasks to run; RunTasks sets it
	buffer commitBuffer

	// These are the writes of a subgraph for its parent:
	// writes to shared channels, and writes that were passed with ToParent.
	shared   []state.Write
	toParent []state.Write
}

// loop runs supersteps until no task is due or the run pauses.
func (r *run) loop() error {
	// An earlier run may have stored this checkpoint and crashed before it recorded a static pause.
	if r.stored.Source == checkpoint.Loop && !r.resuming && r.recordPausesAfter() {
		return r.recordStop()
	}
	for !r.front.left && !r.front.idle() {
		if err := r.checkLimits(); err != nil {
			return err
		}
		if r.limits.pausesBefore() && !r.resuming && r.recordPauses(r.limits.PauseBefore, PauseBefore, r.front.dueNames()) {
			return r.recordStop()
		}
		// Static pauses are checked first. After recordStop the next run does not pause at this
		// checkpoint, so a pause that was not checked would be lost.
		if r.ctx.drained() {
			return r.endDrained()
		}
		if err := r.superstep(); err != nil || r.pauses != nil {
			return err
		}
		if r.recordPausesAfter() {
			return r.recordStop()
		}
	}
	return nil
}

// endDrained stores that the run stopped because it was drained, and returns [ErrDrained].
// In a subgraph, the tasks around it end too, even if their nodes handle the error.
func (r *run) endDrained() error {
	err := r.recordStop()
	return errors.Join(r.failCallers(fmt.Errorf("%w before %q", ErrDrained, r.front.dueNames())), err)
}

// recordPausesAfter records a static pause for each node in PauseAfter of the superstep that the
// current checkpoint ends. It reports whether the run pauses.
func (r *run) recordPausesAfter() bool {
	return r.limits.pausesAfter() && !r.front.left && !r.front.idle() && r.recordPauses(r.limits.PauseAfter, PauseAfter, r.front.by)
}

// checkLimits returns an error if the due superstep must not run.
func (r *run) checkLimits() error {
	if cause := r.ctx.cause(); cause != nil {
		return cause
	}
	if r.parent != nil && r.nodeCtx.Err() != nil { // the calling node may have timed out
		return context.Cause(r.nodeCtx)
	}
	if err := r.checkNodes(); err != nil {
		return err
	}
	if r.stepsDone >= r.limits.MaxSteps {
		err := fmt.Errorf("%w: %d ran, and %q are due; %s; the next run continues",
			ErrMaxSteps, r.stepsDone, r.front.dueNames(), r.loopAdvice())
		return errors.Join(err, r.recordStop())
	}
	return nil
}

// loopAdvice returns advice for the error text of a run with too many supersteps.
func (r *run) loopAdvice() string {
	for _, n := range r.front.next {
		if cycle := n.cycle(); cycle != nil {
			return fmt.Sprintf("the edges %s are a cycle that never ends, because an edge always fires; replace one of them by a branch or a Goto that can lead to End",
				strings.Join(cycle, " → "))
		}
	}
	return "raise MaxSteps, or look for a loop that does not end"
}

// checkNodes returns an error if the graph does not have a node that is due.
func (r *run) checkNodes() error {
	unknown := r.front.unknown()
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the thread is to run %q%s; if it was renamed, compile graph %q with Migrations{Nodes: map[string]string{%q: its present name}}; new input or Update also get past it",
		ErrUnknownNode, unknown, suggestNode(r.plan, unknown[0]), r.plan.Name, unknown[0])
}

// superstep runs the due tasks and commits their writes.
// If a task fails or asks a question, nothing is committed,
// but the results of finished tasks are stored.
func (r *run) superstep() error {
	tasks := r.tasks()
	r.single = len(tasks) == 1
	r.step++
	if err := r.runHooked(tasks); err != nil || r.pauses != nil {
		r.step--
		return err
	}
	r.stepsDone++
	r.resuming, r.pending = false, nil
	if r.events == nil {
		return nil
	}
	e := r.event(StateChanged)
	e.State = r.view
	r.emit(&e)
	r.began = time.Time{}
	switch {
	case r.parent != nil:
	case r.log != nil:
		r.events.offer(r.storeCtx, 0) // the reader sees a commit before the run continues
	default:
		r.began = e.Time // the run does not wait, so the next superstep begins now
	}
	return nil
}

// runAndCommit runs the tasks of a superstep. It commits unless a task failed or paused.
func (r *run) runAndCommit(tasks []Task) error {
	if err := r.checkPersistent(tasks); err != nil {
		return err
	}
	r.emitStepStarted(tasks)
	if err := r.runTasks(tasks); err != nil {
		return err
	}
	if err := r.classify(tasks); err != nil || r.pauses != nil {
		r.uncommitted = tasks
		if err == nil && !r.single {
			err = r.preview(tasks)
		}
		return err
	}
	return r.commitStep(tasks)
}

// checkPersistent returns an error if two tasks would run one persistent subgraph.
// Each of the two calls would miss the changes of the other one.
func (r *run) checkPersistent(tasks []Task) error {
	if r.single {
		return nil
	}
	users := map[string]string{}
	for i := range tasks {
		t := &tasks[i]
		if t.node.Subgraph == nil || t.node.Subgraph.Persist == "" {
			continue
		}
		name := t.node.Subgraph.Persist
		if first, taken := users[name]; taken {
			return t.fail(fmt.Errorf("persistent subgraph %q: %w: %q", name, ErrPersistentBusy, first))
		}
		users[name] = t.ID()
	}
	return nil
}

// emitStepStarted emits the first events of a superstep.
// These are its start and the results of tasks that an earlier run finished.
func (r *run) emitStepStarted(tasks []Task) {
	if r.events == nil {
		return
	}
	if r.began.IsZero() {
		r.began = time.Now()
	}
	e := r.eventAt(StepStarted, r.began)
	d := newTaskDetail(len(tasks))
	e.Detail = d
	for i := range tasks {
		t := &tasks[i]
		t.location = r.locationOf(t)
		d.Tasks[i] = t.location.Task
		if t.due() {
			d.Views[i] = t.view
		}
	}
	r.emit(&e)
	for i := range tasks {
		if t := &tasks[i]; t.restored() {
			e := t.event(TaskFinished, r.began)
			e.Update, e.Saved = t.writes, true
			r.emit(&e)
		}
	}
}

// newTaskDetail returns a detail with room for the given number of tasks. For one task, which is the most
// frequent number, the detail and its two slices are one allocation.
func newTaskDetail(tasks int) *EventDetail {
	if tasks != 1 {
		return &EventDetail{Tasks: make([]string, tasks), Views: make([]state.View, tasks)}
	}
	d := &struct {
		EventDetail
		task [1]string
		view [1]state.View
	}{}
	d.Tasks, d.Views = d.task[:], d.view[:]
	return &d.EventDetail
}

// locationOf returns the location of a task.
// All plain tasks of one node in a run share a location.
func (r *run) locationOf(t *Task) *Location {
	if t.sent > 0 {
		return r.newLocation(t)
	}
	if r.locations == nil {
		r.locations = make([]*Location, len(r.plan.Nodes))
	}
	known := &r.locations[t.node.index]
	if *known == nil {
		*known = r.newLocation(t)
	}
	return *known
}

func (r *run) newLocation(t *Task) *Location {
	return &Location{Run: r.id, Path: r.path, Node: t.node.Name, Task: t.ID()}
}

// classify decides the outcome of a superstep after its tasks have ended.
// It returns the errors of the tasks, or records their pauses in the run.
// If there are neither, the superstep can be committed.
func (r *run) classify(tasks []Task) error {
	var errs []error
	for i := range tasks {
		t := &tasks[i]
		if t.err != nil {
			errs = append(errs, t.err)
		}
		r.pauses = append(r.pauses, t.extrasOrNone().pauses...)
	}
	if errs == nil && r.pauses == nil {
		return nil
	}
	if cause := r.ctx.cause(); cause != nil {
		errs = append([]error{cause}, errs...)
	}
	if len(errs) > 0 {
		r.pauses = nil
	}
	return errors.Join(errs...)
}

// preview emits the state of a paused superstep with the writes of finished tasks.
// It returns an error if the writes cannot be applied together.
// So a conflict is reported before a user answers the question.
func (r *run) preview(tasks []Task) error {
	view, at, err := r.applyFinished(tasks)
	if err != nil {
		r.pauses, r.uncommitted = nil, nil
		return r.refuse(tasks, at, err)
	}
	if r.events != nil && view != r.view {
		e := r.event(StateChanged)
		e.State = view
		r.emit(&e)
	}
	return nil
}

// applyFinished returns the state with the writes of finished tasks.
// If a write is refused, it returns the unchanged state and the index of the task.
func (s *scope) applyFinished(tasks []Task) (view state.View, at int, err error) {
	var tx *statecore.Tx
	for i := range tasks {
		if !tasks[i].finished || len(tasks[i].writes) == 0 {
			continue
		}
		if tx == nil {
			tx = s.plan.Schema.Begin(s.view)
		}
		if err := statecore.Apply(tx, i, tasks[i].writes); err != nil {
			return s.view, i, err
		}
	}
	if tx == nil || !tx.Changed() {
		return s.view, 0, nil
	}
	if view, err = tx.Finish(false); err != nil {
		return s.view, 0, err
	}
	return view, 0, nil
}

// recordPauses records a static pause for each of the nodes that the list includes.
// It reports whether the run has a pause.
func (r *run) recordPauses(list []string, kind string, nodes []string) bool {
	for i, name := range nodes {
		if r.limits.names(list, name) && !slices.Contains(nodes[:i], name) {
			p := Pause{Kind: kind, Node: name, Path: joinPath(r.path, name), Asked: askTime()}
			if r.Hooks != nil {
				p.Mark = r.Hooks.Stop(r.nodeCtx)
			}
			r.pauses = append(r.pauses, p)
		}
	}
	return r.pauses != nil
}

// recordStop stores that the run stopped at the current checkpoint without a failure.
// The run that resumes then ignores static pauses at this checkpoint.
func (r *run) recordStop() error {
	if r.log == nil {
		if r.pauses == nil {
			return nil
		}
		return fmt.Errorf("a static pause %s node %q: %w", r.pauses[0].Kind, r.pauses[0].Node, ErrNoStore)
	}
	data, err := json.Marshal(r.pauses)
	if err != nil {
		return err
	}
	r.touched.Store(true)
	return r.failCallers(r.log.write(r.storeCtx, r.key(), []checkpoint.Write{{Index: indexStop, Channel: mark.Stop, Data: data}}))
}

// event returns an event of the run itself, and not of one of its tasks.
func (r *run) event(kind EventKind) Event {
	if r.events == nil {
		return Event{}
	}
	return r.eventAt(kind, time.Now())
}

func (r *run) eventAt(kind EventKind, at time.Time) Event {
	if r.location == nil {
		r.location = &Location{Run: r.id, Path: r.path}
	}
	return Event{Kind: kind, Place: Place{at, r.step, r.location}}
}

// emitDetail emits an event of the run with a detail.
func (r *run) emitDetail(kind EventKind, d EventDetail) {
	if r.events == nil {
		return
	}
	e := r.event(kind)
	detail := d // a copy, so that a call without a reader allocates nothing
	e.Detail = &detail
	r.emit(&e)
}

// emit delivers an event of the run.
// A subgraph sends each event at once, because it runs in the goroutine of a task.
// The outermost graph collects its events, and offers them to the reader later.
func (r *run) emit(e *Event) {
	switch {
	case r.events == nil:
	case r.parent == nil:
		r.events.add(e)
	default:
		r.events.send(r.storeCtx, *e)
	}
}

// begin calls the hook of the run. It returns the context for the nodes and a function for the end.
func (r *run) begin(ctx context.Context) (context.Context, func(error)) {
	if r.Hooks == nil {
		return ctx, func(error) {}
	}
	ctx, end := r.Hooks.Enter(ctx, RunPart, r.running())
	return ctx, func(err error) {
		o := &Outcome{Resumed: r.resumed, Previous: r.previous, Stopped: r.stoppedBy, Steps: r.stepsDone, Err: err}
		if err == nil {
			o.Pauses = r.pauses
		}
		end(o)
	}
}

// runHooked runs and commits a superstep inside its hook.
func (r *run) runHooked(tasks []Task) (err error) {
	if r.Hooks == nil {
		return r.runAndCommit(tasks)
	}
	ctx, end := r.Hooks.Enter(r.nodeCtx, StepPart, r.running())
	r.stepCtx = ctx
	err = errExited // for a node that ends this goroutine with runtime.Goexit
	defer func() { end(&Outcome{Tasks: len(tasks), Paused: r.pauses != nil, Err: err}) }()
	return r.runAndCommit(tasks)
}
