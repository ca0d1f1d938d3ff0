package graph_test

import (
	"errors"
	"maps"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/graph"
)

// modelCheckpoint is a node of the tree of a thread.
type modelCheckpoint struct {
	id     string // as the engine named it
	parent *modelCheckpoint
	step   int
	source checkpoint.Source
	values modelValues
	front  modelFront
}

// modelPending is what an unfinished superstep left.
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

// modelThread is a thread, checkpoint by checkpoint.
type modelThread struct {
	g    *modelGraph
	all  []*modelCheckpoint // in the order of their storage
	pend modelPending       // of the newest
	runs map[string]int     // executions, by task

	// What the last run left to look at.
	made   []*modelCheckpoint
	paused bool
}

func (t *modelThread) head() *modelCheckpoint {
	if len(t.all) == 0 {
		return nil
	}
	return t.all[len(t.all)-1]
}

// edited is the state and what is due at the newest checkpoint, as the caller
// edited it.
func (t *modelThread) edited() (modelValues, modelFront) {
	c := t.head()
	v := c.values
	for _, e := range t.pend.edits {
		v = v.with(e)
	}
	return v, c.front.with(t.pend.gotos, t.pend.sends)
}

// shown is the state of the newest checkpoint with the finished tasks applied,
// what is still due, and the open questions.
func (t *modelThread) shown() (v modelValues, next, open []string) {
	v, f := t.edited()
	for _, task := range t.g.tasks(v, f) {
		out, ok := t.pend.done[task.id]
		if !ok {
			next = append(next, task.node.name)
			if _, answered := t.pend.answers[task.id]; t.pend.asked[task.id] && !answered {
				open = append(open, task.id)
			}
			continue
		}
		v = v.with(out)
	}
	return v, next, open
}

func (t *modelThread) commit(parent *modelCheckpoint, source checkpoint.Source, v modelValues, f modelFront) {
	c := &modelCheckpoint{parent: parent, source: source, values: v, front: f}
	if parent != nil {
		c.step = parent.step + 1
	}
	t.all, t.made = append(t.all, c), append(t.made, c)
	t.pend = newModelPending()
}

// modelInput is what a run, or an edit, is given.
type modelInput struct {
	at      *modelCheckpoint // nil for the newest
	write   modelOutcome
	begins  bool // the write is input
	edits   bool // it is an edit
	gotos   []string
	sends   []modelSend
	answers map[string]string

	maxSteps            int
	before, after       []string
	mode                graph.Durability
	trouble             map[string]string
	updateAs, updateAs2 string
}

var errModelAsked = errors.New("a task asked")

// invoke is a run. Its error names the kind; failed are the nodes that did.
func (t *modelThread) invoke(in modelInput) (failed []string, err error) {
	t.made, t.paused = nil, false
	stored := len(t.all)
	base := t.head()
	if in.at != nil && in.at != base || in.at != nil && len(in.answers) == 0 {
		base = in.at
		t.pend = newModelPending()
	}
	goesOn := false
	switch {
	case base == nil && !in.begins && !in.edits && len(in.gotos)+len(in.sends) == 0:
		return nil, graph.ErrNoInput
	case in.begins || base == nil:
		t.begin(base, in)
	default:
		goesOn = true
		if in.at != nil {
			t.commit(base, checkpoint.Fork, base.values, base.front)
		}
		if in.edits {
			t.pend.edits = append(t.pend.edits, in.write)
		}
		t.pend.gotos = append(t.pend.gotos, in.gotos...)
		t.pend.sends = append(t.pend.sends, in.sends...)
		maps.Copy(t.pend.answers, in.answers)
	}
	failed, err = t.loop(in, goesOn)
	if in.mode == graph.Exit && len(t.made) > 1 { // one checkpoint stands for all
		last := t.made[len(t.made)-1]
		last.parent = t.made[0].parent
		t.made = []*modelCheckpoint{last}
		t.all = append(t.all[:stored], last)
	}
	return failed, err
}

func (t *modelThread) begin(base *modelCheckpoint, in modelInput) {
	var v modelValues
	before := modelFront{}
	if base != nil {
		v = base.values
		if base == t.head() {
			v, _ = t.edited()
		}
		before.waiting, before.arrived = base.front.waiting, base.front.arrived
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

func (t *modelThread) loop(in modelInput, goesOn bool) (failed []string, err error) {
	for done := 0; ; done++ {
		v, f := t.edited()
		switch {
		case f.idle():
			return nil, nil
		case done >= in.maxSteps:
			return nil, graph.ErrMaxSteps
		case !goesOn && overlap(in.before, f.names()):
			t.paused = true
			return nil, nil
		}
		given := goesOn && done == 0 && len(in.answers) > 0 && !in.edits && len(in.gotos)+len(in.sends) == 0
		if failed, err = t.superstep(v, f, in, given); err != nil {
			if errors.Is(err, errModelAsked) {
				t.paused, err = true, nil
			}
			return failed, err
		}
		goesOn = false
		if next := t.head().front; !next.idle() && overlap(in.after, next.by) {
			t.paused = true
			return nil, nil
		}
	}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) || s == graph.AllNodes && len(b) > 0 })
}

func (t *modelThread) superstep(v modelValues, f modelFront, in modelInput, given bool) (failed []string, err error) {
	tasks := t.g.tasks(v, f)
	asked := false
	for _, task := range tasks {
		if _, ok := t.pend.done[task.id]; ok {
			continue
		}
		answer, answered := t.pend.answers[task.id]
		if given && t.pend.asked[task.id] && !answered {
			asked = true // it would only ask again
			continue
		}
		t.runs[task.id]++
		switch {
		case in.trouble[task.node.name] != "":
			failed = append(failed, task.id)
		case task.node.asksFor(task.seen) && !answered:
			asked, t.pend.asked[task.id] = true, true
		default:
			if !task.node.asksFor(task.seen) {
				answer = ""
			}
			t.pend.done[task.id] = task.node.branched(v, task.node.act(task.seen, answer))
		}
	}
	switch {
	case failed != nil:
		return failed, errTrouble
	case asked:
		return nil, errModelAsked
	}
	nodes, outs, by := []*modelNode{}, []modelOutcome{}, []string{}
	after := v
	for _, task := range tasks {
		out := t.pend.done[task.id]
		after = after.with(out)
		nodes, outs = append(nodes, task.node), append(outs, out)
		by = append(by, task.node.name)
	}
	next := t.g.follow(f, nodes, outs)
	next.by = slices.Compact(by)
	t.commit(t.head(), checkpoint.Loop, after, next)
	return nil, nil
}

// update is an edit from outside, as one node or two.
func (t *modelThread) update(in modelInput) error {
	t.made, t.paused = nil, false
	base := t.head()
	var v modelValues
	before := modelFront{}
	switch {
	case base == nil:
	case in.at != nil:
		base, v, before = in.at, in.at.values, in.at.front
	default:
		v, _, _ = t.shown()
		_, before = t.edited()
	}
	as := in.updateAs
	if as == "" {
		var ran []string
		if base != nil && in.at == nil {
			for _, task := range t.g.tasks(t.edited()) {
				if _, done := t.pend.done[task.id]; done && task.id == task.node.name { // not sent
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
	f := t.g.follow(modelFront{arrived: before.arrived}, nodes, outs)
	f.by = by
	t.commit(base, checkpoint.Edited, after, f)
	return nil
}
