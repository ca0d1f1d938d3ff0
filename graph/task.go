package graph

import (
	"errors"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-go/weft/state"
)

// task is one node's part of a superstep. It is the context that its node
// gets.
type task struct {
	run  *run
	node *node

	// The outcome.
	writes state.Update
	lead   *node // where its branches and signals lead, but for what is sent

	over atomic.Bool // the node has returned
	sent uint32      // 0 for a plain task; else its place among the sent ones, from 1; and whether it is finished
	rare atomic.Pointer[rare]
}

// finishedBit is set in task.sent when what the task did is to be applied.
const finishedBit = 1 << 31

func (t *task) finished() bool { return t.sent&finishedBit != 0 }
func (t *task) finish()        { t.sent |= finishedBit }

// place is that among the sent tasks, from 1; 0 for a plain task.
func (t *task) place() int { return int(t.sent &^ finishedBit) }

// kept reports whether an earlier run finished the task.
func (t *task) kept() bool {
	k := t.seldom().saved
	return k != nil && k.done && t.finished()
}

// rare is what most tasks do without. Every superstep makes tasks: they are kept
// small.
type rare struct {
	mu       sync.Mutex // for the goroutines of the node
	err      error      // why the task failed
	leads    []*node    // where it leads, beside its lead
	sends    []*send
	saved    *kept // what pending writes say of the task
	toParent []state.Write
	memory   map[string]string
	pauses   []Pause
	asked    []Pause
	keys     map[string]bool // questions of this attempt
	once     map[string]*onceCall
	index    int   // the first free index of a pending write
	fault    error // a failure that counts whatever the node makes of it
}

var nothingRare rare // is only read

// seldom returns the task's rare part, to be read.
func (t *task) seldom() *rare {
	if x := t.rare.Load(); x != nil {
		return x
	}
	return &nothingRare
}

// own returns the task's rare part, to be changed.
func (t *task) own() *rare {
	if x := t.rare.Load(); x != nil {
		return x
	}
	t.rare.CompareAndSwap(nil, &rare{})
	return t.rare.Load()
}

// routes is where the task leads.
func (t *task) routes() routes {
	x, nodes := t.seldom(), []*node(nil)
	if t.lead != nil {
		nodes = t.lead.alone
		if len(x.leads) > 0 {
			nodes = slices.Concat(nodes, x.leads)
		}
	}
	return routes{nodes, x.sends}
}

// view is the state that the task's node sees.
func (t *task) view() state.View {
	if at := t.place(); at > 0 {
		return t.run.desk.views[at-1]
	}
	return t.run.view
}

// Value finds the task itself, and what the run's context holds.
func (t *task) Value(key any) any {
	if key == (taskKey{}) {
		return t
	}
	return t.run.ctx.Value(key)
}

// Deadline, Done and Err are those of the run's context.
func (t *task) Deadline() (time.Time, bool) { return t.run.ctx.Deadline() }
func (t *task) Done() <-chan struct{}       { return t.run.ctx.Done() }
func (t *task) Err() error                  { return t.run.ctx.Err() }

// tasks makes the tasks of the superstep that is due: plain ones by name, then
// the sent ones.
func (r *run) tasks() ([]task, error) {
	f := &r.front
	tasks := r.makeTasks(len(f.next) + len(f.sends))
	for i, n := range f.next {
		tasks[i].run, tasks[i].node = r, n
	}
	if len(f.sends) == 0 {
		r.takeUp(tasks)
		return tasks, nil
	}
	d, n := r.work(), (*node)(nil)
	d.views = d.views[:0]
	for i, s := range f.sends {
		t := &tasks[len(f.next)+i]
		if n == nil || n.name != s.node {
			n = r.g.byName[s.node]
		}
		view, err := d.tx.Only(s.writes)
		if err != nil {
			return nil, &NodeError{Path: r.path, Node: s.node, Task: s.node, Attempt: 1, Err: err}
		}
		t.run, t.node, t.sent = r, n, uint32(i+1)
		d.views = append(d.views, view)
	}
	r.takeUp(tasks)
	return tasks, nil
}

// takeUp gives the tasks what an earlier run left of them.
func (r *run) takeUp(tasks []task) {
	if r.pending == nil {
		return
	}
	for i := range tasks {
		tasks[i].restore(r.pending)
	}
}

// makeTasks returns fresh tasks. Lone ones are made a few at a time.
func (r *run) makeTasks(n int) []task {
	if n != 1 {
		return make([]task, n)
	}
	if len(r.slab) == 0 {
		r.slab = make([]task, min(r.done+1, 4))
	}
	tasks := r.slab[:1:1]
	r.slab = r.slab[1:]
	return tasks
}

// id tells the task from the others of its superstep: "node", or "node[2]" for
// the third sent task.
func (t *task) id() string {
	if t.place() == 0 {
		return t.node.name
	}
	return t.node.name + "[" + strconv.Itoa(t.place()-1) + "]"
}

// restore takes over what an earlier run left of the task.
func (t *task) restore(p *pending) {
	k := p.tasks[t.id()]
	if k == nil {
		return
	}
	x := t.own()
	x.saved, x.index = k, k.next
	switch {
	case k.done:
		t.finish()
		t.writes, x.sends, x.memory = k.writes, k.routes.sends, k.memory
		for _, n := range k.routes.nodes {
			t.leadToNode(n)
		}
		for _, s := range k.toParent {
			w, err := t.run.parentWrite(s)
			if err != nil {
				t.sent &^= finishedBit
				x.err = err
			}
			x.toParent = append(x.toParent, w)
		}
	case k.asked && t.run.root.waits(k.pauses):
		x.pauses = k.pauses
	}
	for key, value := range k.once {
		if x.once == nil {
			x.once = map[string]*onceCall{}
		}
		x.once[key] = settledCall(value)
	}
}

// waits reports whether a task that asked would only ask again: the caller gave
// answers, and it has none, now or from an earlier run that failed with it.
func (r *root) waits(pauses []Pause) bool {
	return r.given && !slices.ContainsFunc(pauses, func(p Pause) bool {
		_, ok := r.answers[p.ID]
		return ok || p.Kind != Question
	})
}

// due reports whether the task has to run.
func (t *task) due() bool { return !t.finished() && t.seldom().pauses == nil && t.seldom().err == nil }

// execute runs the task's node and keeps the outcome. What most tasks do without
// is in functions of its own: the less it takes of a worker's stack, the rarer
// that has to grow.
func (t *task) execute() {
	update, err := t.call()
	t.over.Store(true)
	if err == nil && t.rare.Load() == nil {
		if err = t.settle(update); err == nil {
			t.finish()
			return
		}
	}
	t.conclude(update, err)
}

// conclude finds the outcome of a task that asked, failed or left something.
//
//go:noinline
func (t *task) conclude(update state.Update, err error) {
	open, fault := t.leavings()
	switch {
	case fault != nil && errors.Is(err, fault):
	case fault != nil:
		err = errors.Join(fault, err)
	case open != nil:
		t.own().pauses = open
		return
	case err == nil:
		err = t.settle(update)
	}
	if err != nil {
		t.own().err = t.fail(err)
		return
	}
	t.finish()
}

// fail wraps an error of the node once.
func (t *task) fail(err error) error {
	if ne, ok := err.(*NodeError); ok && //nolint:errorlint // only the outermost is meant
		ne.Node == t.node.name && ne.Path == t.run.path {
		return err
	}
	attempt := 1
	if ae, ok := err.(*attemptError); ok { //nolint:errorlint // only the outermost is meant
		attempt, err = ae.attempt, ae.err
	}
	return &NodeError{Path: t.run.path, Node: t.node.name, Task: t.id(), Attempt: attempt, Err: err}
}

// call runs the node; its panic becomes an error.
func (t *task) call() (update state.Update, err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		} else if !returned {
			t.own().err = t.fail(errExited)
		}
	}()
	if t.node.sub != nil {
		update, err = t.callSubgraph()
	} else {
		update, err = t.node.run(t, t.view())
	}
	returned = true
	return update, err
}

// errExited is the failure of a node that ended its goroutine, as FailNow of
// package testing does.
var errExited = errors.New("the node called runtime.Goexit")

// leavings returns what the node left behind: the questions that wait for an
// answer, and a failure that counts whatever it made of it.
func (t *task) leavings() (open []Pause, fault error) {
	x := t.rare.Load()
	if x == nil {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asked, x.fault
}

func (t *task) placeAt(now time.Time) Place {
	r := t.run
	return Place{Time: now, Step: r.step, Origin: &Origin{Run: r.root.id, Path: r.path, Node: t.node.name, Task: t.id()}}
}
