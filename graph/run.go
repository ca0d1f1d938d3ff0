package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/state"
)

// root is what a run shares with the runs of its subgraphs.
type root struct {
	thread   string
	id       string
	metadata map[string]string
	version  string
	logger   *slog.Logger

	reader *reader     // nil when nobody reads the events
	ctx    *runContext // nil if the caller's never ends

	given   bool                       // answers were given, and nothing else
	answers map[string]json.RawMessage // by question, those of earlier runs too

	mu       sync.Mutex
	memories map[string]bool // persistent subgraphs in use
}

// run is one run of one graph: from its input or its last checkpoint to its
// end, a pause or an error. A subgraph's call is a run of its own.
type run struct {
	g       *Graph
	root    *root
	parent  *task // in a subgraph
	ctx     context.Context
	opts    *RunOptions
	journal *journal // nil without a thread
	ns      string
	path    string

	cur     string // id of the checkpoint that the next superstep builds on
	before  string // its parent
	source  checkpoint.Source
	view    state.View
	front   frontier
	pending *pending
	step    int
	done    int                 // supersteps of this run
	goesOn  bool                // the next superstep is one that an earlier run stopped at
	alone   bool                // the superstep has one task
	settles bool                // the current checkpoint has pending writes
	touched atomic.Bool         // tasks of this superstep stored some
	edits   []checkpoint.Change // what the caller changed of the current checkpoint
	pauses  []Pause
	stuck   []task // those of a superstep that was not committed
	size    size
	slab    []task    // for the tasks of supersteps with one
	now     time.Time // of the events of this superstep
	scenes  []*scene  // of events, by node; the last is the run's own
	desk    *desk     // nil until it is needed; see work

	out      []state.Write // in a subgraph: what it wrote to shared channels
	toParent []state.Write
}

// loop runs supersteps until nothing is due. It returns nil at the end and at
// a pause.
func (r *run) loop() error {
	for !r.front.aside().left && !r.front.idle() {
		if err := r.mayGoOn(); err != nil {
			return err
		}
		if len(r.opts.PauseBefore) > 0 && !r.goesOn && r.pauseAt(r.opts.PauseBefore, PauseBefore, r.dueNames()) {
			return r.halt(r.pauses)
		}
		if err := r.superstep(); err != nil || r.pauses != nil {
			return err
		}
		if len(r.opts.PauseAfter) > 0 && !r.front.idle() && r.pauseAt(r.opts.PauseAfter, PauseAfter, r.front.by) {
			return r.halt(r.pauses)
		}
	}
	return nil
}

// mayGoOn returns why the superstep that is due does not run.
func (r *run) mayGoOn() error {
	over := r.root.ctx.over()
	if over {
		if cause := r.root.ctx.cause(); cause != nil {
			return cause
		}
	}
	if missing := r.front.aside().missing; len(missing) > 0 {
		return fmt.Errorf("%w: %q is due; a graph that has it can go on, and so can new input or Update", ErrUnknownNode, missing)
	}
	if r.done >= r.opts.MaxSteps {
		return errors.Join(fmt.Errorf("%w: %d ran, and %q are due", ErrMaxSteps, r.done, r.dueNames()), r.halt(nil))
	}
	if over { // but it was drained
		return errors.Join(fmt.Errorf("%w before %q", ErrDrained, r.dueNames()), r.halt(nil))
	}
	return nil
}

func (r *run) dueNames() []string {
	out := names(r.front.next)
	for _, s := range r.front.sends {
		out = append(out, s.node)
	}
	return out
}

func join2(path, name string) string {
	if path == "" {
		return name
	}
	return path + "/" + name
}

// superstep runs what is due and commits it; or keeps what finished, when
// something failed or asked.
func (r *run) superstep() error {
	tasks, err := r.tasks()
	if err != nil {
		return err
	}
	r.step++
	r.alone = len(tasks) == 1
	if err := r.shareNoMemory(tasks); err != nil {
		r.step--
		return err
	}
	if r.root.reader != nil {
		r.announce(tasks)
	}
	if err := r.execute(tasks); err != nil {
		r.step--
		return err
	}
	if err := r.outcome(tasks); err != nil || r.pauses != nil {
		r.stuck = tasks
		if err == nil && !r.alone {
			err = r.preview(tasks)
		}
		r.step--
		return err
	}
	if err := r.apply(tasks); err != nil {
		r.step--
		return err
	}
	r.done++
	r.goesOn, r.pending = false, nil
	if r.root.reader != nil {
		r.tellState()
	}
	return nil
}

// tellState ends the events of a superstep.
func (r *run) tellState() {
	rd := r.root.reader
	if r.parent != nil {
		rd.post(StateChanged{Place: r.placeAt(r.now), State: r.view})
		return
	}
	if n := rd.newest(); n != nil && n.done != nil && n.view == nil {
		n.view = r.view
	} else {
		rd.add(note{time: r.now, step: r.step, of: r.scene(nil), view: r.view})
	}
	if r.journal != nil {
		rd.flush(r.now) // the next superstep waits until this one was seen
		r.now = time.Time{}
	}
}

// shareNoMemory refuses a superstep in which two tasks run one persistent
// subgraph: each would miss what the other remembers.
func (r *run) shareNoMemory(tasks []task) error {
	if r.alone {
		return nil
	}
	users := map[string]string{}
	for i := range tasks {
		t := &tasks[i]
		if t.node.sub == nil || t.node.sub.memory == "" {
			continue
		}
		memory := t.node.sub.memory
		if first, taken := users[memory]; taken {
			return t.fail(fmt.Errorf("memory %q: %w %q", memory, ErrBusyMemory, first))
		}
		users[memory] = t.id()
	}
	return nil
}

// plain reports whether the superstep has nothing but one task of the run's own
// graph, which is due.
func (r *run) plain(tasks []task) bool {
	return r.alone && r.parent == nil && tasks[0].place() == 0 && tasks[0].due()
}

func (r *run) announce(tasks []task) {
	if r.plain(tasks) {
		r.announceLone(&tasks[0])
		return
	}
	r.now = time.Now()
	ids := make([]string, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].id()
	}
	r.emit(StepStarted{Place: r.placeAt(r.now), Tasks: ids})
	for i := range tasks {
		if t := &tasks[i]; t.kept() {
			r.emit(TaskFinished{Place: t.placeAt(r.now), Update: t.writes, Kept: true})
		}
	}
}

// announceLone is announce for a superstep that is plain.
func (r *run) announceLone(t *task) {
	rd := r.root.reader
	if r.now.IsZero() {
		r.now = time.Now()
	} else if n := rd.newest(); n != nil && n.view != nil && n.next == nil { // it has just ended
		n.next = r.scene(t.node)
		return
	}
	rd.add(note{time: r.now, step: r.step - 1, next: r.scene(t.node)})
}

// emit sends an event of the run itself.
func (r *run) emit(ev Event) {
	switch {
	case r.root.reader == nil:
	case r.parent == nil:
		r.root.reader.add(note{event: ev})
	default:
		r.root.reader.post(ev)
	}
}

func (r *run) place() Place { return r.placeAt(time.Now()) }

func (r *run) placeAt(now time.Time) Place {
	return Place{Time: now, Step: r.step, Origin: &r.scene(nil).Origin}
}

// scene returns that of the run's events, or of those of a node's lone task.
// It is for the run's own goroutine.
func (r *run) scene(n *node) *scene {
	if r.scenes == nil {
		r.scenes = make([]*scene, len(r.g.nodes)+1)
	}
	at := len(r.g.nodes)
	if n != nil {
		at = n.index
	}
	s := r.scenes[at]
	if s == nil {
		s = &scene{Origin: Origin{Run: r.root.id, Path: r.path}}
		s.run = &s.Origin
		if n != nil {
			s.Node, s.Task, s.ids, s.run = n.name, n.name, n.ids, &r.scene(nil).Origin
		}
		r.scenes[at] = s
	}
	return s
}

// outcome looks at a superstep that can not be committed: it returns the
// failures, joined, or notes the pauses.
func (r *run) outcome(tasks []task) error {
	var errs []error
	for i := range tasks {
		t := &tasks[i]
		x := t.seldom()
		if x.err != nil {
			errs = append(errs, x.err)
		}
		if len(x.pauses) > 0 {
			r.pauses = append(r.pauses, x.pauses...)
		}
	}
	if errs == nil && r.pauses == nil {
		return nil
	}
	if cause := r.root.ctx.cause(); cause != nil {
		r.pauses = nil
		return errors.Join(append([]error{cause}, errs...)...)
	}
	if len(errs) > 0 {
		r.pauses = nil
		return errors.Join(errs...)
	}
	return nil
}

// preview shows a paused superstep with its finished tasks applied. What could not be applied behind the pause
// is refused before anybody is asked.
func (r *run) preview(tasks []task) error {
	view, at, err := r.partly(tasks)
	if err != nil {
		r.pauses, r.stuck = nil, nil
		return r.refuse(tasks, at, err)
	}
	if r.root.reader != nil && view != r.view {
		r.emit(StateChanged{Place: r.place(), State: view})
	}
	return nil
}

// partly returns the state with the finished tasks' writes applied; or as it is, with the task whose writes it
// does not take.
func (r *run) partly(tasks []task) (view state.View, at int, err error) {
	var tx *state.Tx
	for i := range tasks {
		if !tasks[i].finished() || len(tasks[i].writes) == 0 {
			continue
		}
		if tx == nil {
			tx = r.g.schema.Begin(r.view)
		}
		if err := tx.Apply(i, tasks[i].writes...); err != nil {
			return r.view, i, err
		}
	}
	if tx == nil || !tx.Changed() {
		return r.view, 0, nil
	}
	if view, err = tx.Finish(false); err != nil {
		return r.view, 0, err
	}
	return view, 0, nil
}

// apply folds the tasks' writes into the state, in task order, finds what is
// due next and commits both.
func (r *run) apply(tasks []task) error {
	tx := r.transaction()
	for i := range tasks {
		if err := tx.Apply(i, tasks[i].writes...); err != nil {
			return r.refuse(tasks, i, err)
		}
	}
	view, err := tx.Finish(true)
	if err != nil {
		return r.refuse(tasks, 0, err)
	}
	if r.alone && !r.g.exact && !tasks[0].kept() {
		if err := tasks[0].route(view); err != nil {
			return tasks[0].fail(err)
		}
	}
	front := r.follow(tasks)
	if err := r.commit(tx, view, tasks, &front, checkpoint.Loop); err != nil {
		return err
	}
	r.view = view
	r.front.become(&front)
	return nil
}

// transaction returns one on the current state. Supersteps share it: a step's
// is done with when the next begins.
func (r *run) transaction() *state.Tx {
	tx := r.work().tx
	tx.Reset(r.view)
	return tx
}

// refuse names the task whose write the state did not take, and voids the
// results that are stored, so that the next run does not trip over them.
func (r *run) refuse(tasks []task, i int, err error) error {
	t := &tasks[i]
	var ce *state.ChannelError
	if errors.Is(err, state.ErrConcurrentWrite) && errors.As(err, &ce) {
		for j := range i {
			if slices.ContainsFunc(tasks[j].writes, func(w state.Write) bool { return w.Channel() == ce.Channel }) {
				err = fmt.Errorf("%w (the other is %q)", err, tasks[j].id())
				break
			}
		}
	}
	err = t.fail(err)
	if r.journal != nil && !r.alone {
		err = errors.Join(err, r.void(tasks))
	}
	return err
}

// void marks the stored results of a superstep that was refused.
func (r *run) void(tasks []task) error {
	below := map[string]int{}
	for i := range tasks {
		rec, err := tasks[i].record()
		if err != nil {
			return err
		}
		below[tasks[i].id()] = tasks[i].seldom().index + len(rec)
	}
	data, err := json.Marshal(below)
	if err != nil {
		return err
	}
	return r.journal.write(r.ctx, r.key(), []checkpoint.Write{{Index: indexVoid, Channel: markVoid, Data: data}})
}

// follow finds what the superstep makes due.
func (r *run) follow(tasks []task) frontier {
	if r.alone && r.parent == nil && tasks[0].seldom().memory == nil {
		t := &tasks[0]
		if next, ok := r.g.single(t.node, t.routes(), &r.front); ok {
			f := frontier{next: next, by: t.node.by}
			f.remember(r.front.aside().memory)
			return f
		}
	}
	p := r.g.plan(&r.front)
	memory := r.front.aside().memory
	by := make([]string, 0, len(r.front.next)+1)
	for i := range tasks {
		t := &tasks[i]
		if i == 0 || t.node != tasks[i-1].node || t.lead != nil || t.rare.Load() != nil {
			p.follow(t.node, t.routes())
		}
		if len(by) == 0 || by[len(by)-1] != t.node.name {
			by = append(by, t.node.name)
		}
		memory = withMemory(memory, t.seldom().memory)
		r.hand(t)
	}
	f := p.frontier()
	f.by = by
	more := *f.aside()
	more.memory, more.call = memory, r.front.aside().call
	more.left = slices.ContainsFunc(r.toParent, leaves)
	f.put(more)
	return f
}

func withMemory(memory, more map[string]string) map[string]string {
	if len(more) == 0 {
		return memory
	}
	out := map[string]string{}
	for _, m := range []map[string]string{memory, more} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// hand keeps what a subgraph's task wrote for the parent.
func (r *run) hand(t *task) {
	if r.parent == nil {
		return
	}
	outer := r.parent.run.g.schema
	for _, w := range t.writes {
		if name := w.Channel(); name != "" && r.g.schema.Shared(name, outer) {
			r.out = append(r.out, w)
		}
	}
	r.toParent = append(r.toParent, t.seldom().toParent...)
}

// leaves reports whether a write to the parent ends the subgraph.
func leaves(w state.Write) bool {
	switch s := w.Signal().(type) {
	case gotoSignal, sendSignal:
		return true
	case parentSignal:
		return leaves(s.write)
	}
	return false
}
