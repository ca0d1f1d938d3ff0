package graph_test

import (
	"errors"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// modelCheckpoint is a checkpoint in the tree of a thread.
type modelCheckpoint struct {
	id       string // the id that the engine assigned
	parent   *modelCheckpoint
	step     int
	source   checkpoint.Source
	values   modelValues
	frontier modelFrontier
}

// modelPending holds the pending writes of an unfinished superstep.
type modelPending struct {
	done    map[string]modelOutcome
	asked   map[string]bool
	answers map[string]string
	edits   []modelOutcome
	gotos   []string
	sends   []modelSend
}

func newModelPending() modelPending {
	return modelPending{done: map[string]modelOutcome{}, asked: map[string]bool{}, answers: map[string]string{}}
}

// modelThread is a thread with all its checkpoints.
type modelThread struct {
	g       *modelGraph
	all     []*modelCheckpoint // in the order in which they were stored
	pending modelPending       // the pending writes of the newest checkpoint
	runs    map[string]int     // the number of executions of each task

	// The result of the last operation.
	stored []*modelCheckpoint
	paused bool
}

func newModelThread(g *modelGraph) *modelThread {
	return &modelThread{g: g, runs: map[string]int{}, pending: newModelPending()}
}

// head returns the newest checkpoint, or nil.
func (t *modelThread) head() *modelCheckpoint {
	if len(t.all) == 0 {
		return nil
	}
	return t.all[len(t.all)-1]
}

// edited returns the state and the frontier of the newest checkpoint with the
// caller's edits.
func (t *modelThread) edited() (modelValues, modelFrontier) {
	c := t.head()
	v := c.values
	for _, e := range t.pending.edits {
		v = v.with(e)
	}
	return v, c.frontier.with(t.g, t.pending.gotos, t.pending.sends)
}

// visible returns the content of a snapshot of the newest checkpoint: the state
// with the results of finished tasks, the unfinished nodes, and the open
// questions.
func (t *modelThread) visible() (v modelValues, next, open []string) {
	v, f := t.edited()
	for _, task := range t.g.tasks(v, f) {
		out, ok := t.pending.done[task.id]
		if !ok {
			next = append(next, task.node.name)
			if _, answered := t.pending.answers[task.id]; t.pending.asked[task.id] && !answered {
				open = append(open, task.id)
			}
			continue
		}
		v = v.with(out)
	}
	return v, next, open
}

// commit stores a checkpoint and clears the pending writes.
func (t *modelThread) commit(parent *modelCheckpoint, source checkpoint.Source, v modelValues, f modelFrontier) {
	c := &modelCheckpoint{parent: parent, source: source, values: v, frontier: f}
	if parent != nil {
		c.step = parent.step + 1
	}
	t.all, t.stored = append(t.all, c), append(t.stored, c)
	t.pending = newModelPending()
}

// noUpdate is the value of modelInput.updateAs for a run.
const noUpdate = "no"

// modelInput is the input of a run or of an update.
type modelInput struct {
	at      *modelCheckpoint // nil means the newest checkpoint
	write   modelOutcome
	begins  bool // the write starts a new turn
	edits   bool // the write is an edit of the unfinished turn
	gotos   []string
	sends   []modelSend
	answers map[string]string

	maxSteps            int
	before, after       []string
	mode                graph.Durability
	inject              map[string]string
	updateAs, updateAs2 string
}

// errModelAsked ends a superstep whose tasks have open questions.
var errModelAsked = errors.New("a task asked")

// invoke executes a run. It returns the kind of the run's error and the tasks
// that failed.
func (t *modelThread) invoke(in modelInput) (failed []string, err error) {
	t.stored, t.paused = nil, false
	before := len(t.all)
	base := t.head()
	if in.at != nil && in.at != base || in.at != nil && len(in.answers) == 0 {
		base = in.at
		t.pending = newModelPending()
	}
	resuming := false
	switch {
	case base == nil && !in.begins && !in.edits && len(in.gotos)+len(in.sends) == 0:
		return nil, graph.ErrNoInput
	case in.begins || base == nil:
		t.begin(base, in)
	default:
		resuming = true
		if in.at != nil {
			t.commit(base, checkpoint.Fork, base.values, base.frontier)
		}
		if in.edits {
			t.pending.edits = append(t.pending.edits, in.write)
		}
		t.pending.gotos = append(t.pending.gotos, in.gotos...)
		t.pending.sends = append(t.pending.sends, in.sends...)
		maps.Copy(t.pending.answers, in.answers)
	}
	failed, err = t.loop(in, resuming)
	if in.mode == graph.Exit && len(t.stored) > 1 { // Exit stores only the last checkpoint
		last := t.stored[len(t.stored)-1]
		last.parent = t.stored[0].parent
		t.stored = []*modelCheckpoint{last}
		t.all = append(t.all[:before], last)
	}
	return failed, err
}

// begin commits the checkpoint of a new turn.
func (t *modelThread) begin(base *modelCheckpoint, in modelInput) {
	var v modelValues
	before := modelFrontier{}
	if base != nil {
		v = base.values
		if base == t.head() {
			v, _ = t.edited()
		}
		before.waiting, before.arrived = base.frontier.waiting, base.frontier.arrived
	}
	v = v.with(in.write)
	entry, out := &t.g.start, modelOutcome{gotos: in.gotos, sends: in.sends}
	if len(in.gotos)+len(in.sends) > 0 {
		entry = &modelNode{name: graph.Start}
	} else {
		out = entry.branched(v, out)
	}
	f := t.g.follow(before, []*modelNode{entry}, []modelOutcome{out})
	f.by = []string{graph.Start}
	t.commit(base, checkpoint.Input, v, f)
}

// loop executes supersteps until the run ends.
func (t *modelThread) loop(in modelInput, resuming bool) (failed []string, err error) {
	for done := 0; ; done++ {
		v, f := t.edited()
		switch {
		case f.idle():
			return nil, nil
		case done >= in.maxSteps:
			return nil, graph.ErrMaxSteps
		case !resuming && overlap(in.before, f.names()):
			t.paused = true
			return nil, nil
		}
		given := resuming && done == 0 && len(in.answers) > 0 && !in.edits && len(in.gotos)+len(in.sends) == 0
		if failed, err = t.superstep(v, f, in, given); err != nil {
			if errors.Is(err, errModelAsked) {
				t.paused, err = true, nil
			}
			return failed, err
		}
		resuming = false
		if next := t.head().frontier; !next.idle() && overlap(in.after, next.by) {
			t.paused = true
			return nil, nil
		}
	}
}

// overlap reports whether the lists share a name. graph.AllNodes in a matches
// every name.
func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) || s == graph.AllNodes && len(b) > 0 })
}

// superstep executes the unfinished tasks and commits if all are finished. If given is
// true, tasks with open questions that got no answer do not run again.
func (t *modelThread) superstep(v modelValues, f modelFrontier, in modelInput, given bool) (failed []string, err error) {
	tasks := t.g.tasks(v, f)
	asked := false
	for _, task := range tasks {
		if _, ok := t.pending.done[task.id]; ok {
			continue
		}
		answer, answered := t.pending.answers[task.id]
		if given && t.pending.asked[task.id] && !answered {
			asked = true // the task would only ask the same question
			continue
		}
		t.runs[task.id]++
		switch {
		case in.inject[task.node.name] != "":
			failed = append(failed, task.id)
		case task.node.asksFor(task.seen) && !answered:
			asked, t.pending.asked[task.id] = true, true
		default:
			if !task.node.asksFor(task.seen) {
				answer = ""
			}
			t.pending.done[task.id] = task.node.branched(v, task.node.act(task.seen, answer))
		}
	}
	switch {
	case failed != nil:
		return failed, errInjected
	case asked:
		return nil, errModelAsked
	}
	nodes, outs, by := []*modelNode{}, []modelOutcome{}, []string{}
	after := v
	for _, task := range tasks {
		out := t.pending.done[task.id]
		after = after.with(out)
		nodes, outs = append(nodes, task.node), append(outs, out)
		by = append(by, task.node.name)
	}
	next := t.g.follow(f, nodes, outs)
	next.by = slices.Compact(by)
	t.commit(t.head(), checkpoint.Loop, after, next)
	return nil, nil
}

// update commits an update by a caller, on behalf of one node or of two nodes.
func (t *modelThread) update(in modelInput) error {
	t.stored, t.paused = nil, false
	base := t.head()
	var v modelValues
	before := modelFrontier{}
	switch {
	case base == nil:
	case in.at != nil:
		base, v, before = in.at, in.at.values, in.at.frontier
	default:
		v, _, _ = t.visible()
		_, before = t.edited()
	}
	as := in.updateAs
	if as == "" {
		var ran []string
		if base != nil && in.at == nil {
			for _, task := range t.g.tasks(t.edited()) {
				if _, done := t.pending.done[task.id]; done && task.id == task.node.name { // not a sent task
					ran = append(ran, task.node.name)
				}
			}
		}
		switch {
		case len(ran) > 1:
			return graph.ErrAmbiguous
		case len(ran) == 1:
			as = ran[0]
		case base == nil:
			as = graph.Start
		case len(before.by) != 1:
			return graph.ErrAmbiguous
		default:
			as = before.by[0]
		}
	}
	var nodes []*modelNode
	var outs []modelOutcome
	after := v
	var by []string
	for i, name := range []string{as, in.updateAs2} {
		if name == "" {
			continue
		}
		out := modelOutcome{}
		if i == 0 {
			out = in.write
		}
		n := t.g.nodes[name]
		switch name {
		case graph.Start:
			n = &t.g.start
		case graph.End:
			n = &modelNode{name: graph.End}
		}
		nodes, outs = append(nodes, n), append(outs, n.branched(v, out))
		after = after.with(out)
		by = append(by, name)
	}
	f := t.g.follow(modelFrontier{arrived: before.arrived}, nodes, outs)
	f.by = by
	t.commit(base, checkpoint.Edited, after, f)
	return nil
}
