package graph_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// A pair is a thread of a random graph and the model of that thread. It applies
// random operations to both and compares the results.
type pair struct {
	t     testing.TB
	e     *entropy
	g     *modelGraph
	world *modelWorld
	model *modelThread
	graph *graph.Graph
	th    *graph.Thread
	ops   int
	log   []string // the operations so far
}

func newPair(t testing.TB, e *entropy, s checkpoint.Store, thread string) *pair {
	p := &pair{t: t, e: e, g: newModelGraph(e), world: newModelWorld()}
	p.model = newModelThread(p.g)
	var err error
	p.graph, err = p.g.build(p.world, graph.Options{Checkpoints: s, MaxParallel: e.n(3)})
	require.NoError(t, err)
	p.th = p.graph.Thread(thread)
	return p
}

// String describes the graph and all operations, for failure messages.
func (p *pair) String() string {
	var b strings.Builder
	for _, n := range append([]*modelNode{&p.g.start}, slices.Collect(maps.Values(p.g.nodes))...) {
		fmt.Fprintf(&b, "node %+v\n", *n)
	}
	fmt.Fprintf(&b, "joins %+v\nthread %q\n%s", p.g.joins, p.th.ID(), strings.Join(p.log, "\n"))
	return b.String()
}

// op applies one random operation and compares the thread with the model.
func (p *pair) op() {
	p.ops++
	in := p.input()
	if in.updateAs != noUpdate {
		p.update(in)
	} else {
		p.invoke(in)
	}
	p.compareThread()
}

// input draws the input of the next operation.
func (p *pair) input() modelInput {
	e, in := p.e, modelInput{updateAs: noUpdate, maxSteps: 1 + p.e.n(6)}
	write := modelOutcome{trail: []string{fmt.Sprint("op", p.ops)}, total: 1 + e.n(3)}
	if len(p.model.all) > 0 && e.n(3) == 0 {
		in.at = p.model.all[e.n(len(p.model.all))]
	}
	switch kind := e.n(12); kind {
	case 0, 1:
		in.write, in.begins = write, true
	case 2:
		in.write, in.edits = write, true
	case 3:
		in.gotos = []string{e.one(p.g.names)}
	case 4:
		in.sends = []modelSend{{e.one(p.g.names), 1 + e.n(3)}}
	case 5, 6:
		p.drawUpdate(&in, write)
		return in
	case 7, 8, 9:
		p.drawAnswers(&in)
	}
	in.mode = modes[e.n(3)]
	if e.n(4) == 0 {
		in.inject = map[string]string{e.one(p.g.names): []string{"fail", "panic"}[e.n(2)], e.one(p.g.names): "fail"}
	}
	if e.n(6) == 0 {
		in.before = []string{e.one(append(slices.Clone(p.g.names), graph.AllNodes))}
	}
	if e.n(6) == 0 {
		in.after = []string{e.one(p.g.names)}
	}
	return in
}

// drawUpdate draws an update on behalf of one node or of two nodes.
func (p *pair) drawUpdate(in *modelInput, write modelOutcome) {
	in.write = write
	in.updateAs = p.e.one(append(slices.Clone(p.g.names), "", graph.Start, graph.End))
	if in.updateAs == "" {
		return
	}
	if n := p.g.nodes[in.updateAs]; n != nil && len(n.routes) > 0 {
		in.write.gotos = []string{p.e.one(n.routes)}
	}
	if p.e.n(4) == 0 {
		in.updateAs2 = p.e.one(p.g.names)
	}
}

// drawAnswers draws answers to some of the open questions.
func (p *pair) drawAnswers(in *modelInput) {
	in.at = nil
	if len(p.model.all) == 0 {
		return
	}
	_, _, open := p.model.visible()
	for _, task := range open {
		if p.e.n(3) > 0 {
			if in.answers == nil {
				in.answers = map[string]string{}
			}
			in.answers[task] = fmt.Sprint("!", p.ops)
		}
	}
}

// handle returns a handle of the thread with the options of in.
func (p *pair) handle(in modelInput) *graph.Thread {
	th := p.th
	if in.at != nil {
		th = th.At(in.at.id)
	}
	return th.With(graph.RunOptions{MaxSteps: in.maxSteps, PauseBefore: in.before, PauseAfter: in.after, Durability: &in.mode})
}

// writes returns the outcome of an operation as an update of the engine.
func (o modelOutcome) writes() state.Update {
	u := state.Update{trail.Put(o.trail...)}
	if o.total != 0 {
		u = append(u, total.Put(o.total))
	}
	for _, to := range o.gotos {
		u = append(u, graph.Goto(to))
	}
	return u
}

// update applies an update to the thread and to the model.
func (p *pair) update(in modelInput) {
	p.log = append(p.log, fmt.Sprintf("%d update as %q %q of %s: %+v", p.ops, in.updateAs, in.updateAs2, in.at.name(), in.write))
	updates := []graph.NodeUpdate{{Node: in.updateAs, Update: in.write.writes()}}
	if in.updateAs2 != "" {
		updates = append(updates, graph.NodeUpdate{Node: in.updateAs2})
	}
	want := p.model.update(in)
	snap, err := p.handle(in).UpdateNodes(p.t.Context(), updates...)
	require.ErrorIs(p.t, err, want, p)
	if want != nil {
		return
	}
	p.compareNew()
	p.compare("the snapshot that Update returned", snap)
}

// name names the checkpoint in the log of a pair.
func (c *modelCheckpoint) name() string {
	if c == nil {
		return "the newest"
	}
	return c.id
}

// invoke applies a run to the thread and to the model.
func (p *pair) invoke(in modelInput) {
	var u state.Update
	if in.begins || in.edits {
		u = in.write.writes()
	}
	if in.edits {
		u = append(u, graph.Continue())
	}
	for _, to := range in.gotos {
		u = append(u, graph.Goto(to))
	}
	for _, s := range in.sends {
		u = append(u, s.write())
	}
	u = append(u, p.answers(in)...)
	p.world.inject = in.inject
	p.log = append(p.log, fmt.Sprintf("%d %v run of %s: %+v begins %v, edits %v, goto %v, send %v, answers %v, max %d, before %v, after %v, inject %v",
		p.ops, in.mode, in.at.name(), in.write, in.begins, in.edits, in.gotos, in.sends, in.answers, in.maxSteps, in.before, in.after, in.inject))
	failed, want := p.model.invoke(in)
	snap, err := p.run(in, u)
	require.Equal(p.t, failed, taskFailures(err), p)
	if failed == nil { // the error of a panic does not wrap errInjected
		require.ErrorIs(p.t, err, want, p)
	}
	p.compareNew()
	if snap == nil {
		if p.model.head() != nil {
			require.ErrorIs(p.t, err, graph.ErrNoInput, "a run without a snapshot\n%s", p)
		}
		return
	}
	if err == nil {
		require.Equal(p.t, p.model.paused, len(snap.Pauses) > 0, "paused\n%s", p)
	}
	p.compare("the snapshot that the run returned", snap)
}

// run calls Invoke or Stream, at random. It returns the snapshot at the end of
// the run, also if the run fails.
func (p *pair) run(in modelInput, u state.Update) (*graph.Snapshot, error) {
	th := p.handle(in)
	if p.e.n(2) == 0 {
		return th.Invoke(p.t.Context(), u...)
	}
	var snap *graph.Snapshot
	for ev, err := range th.Stream(p.t.Context(), u...) {
		if err != nil {
			s, serr := p.th.Snapshot(p.t.Context())
			if errors.Is(serr, checkpoint.ErrNotFound) {
				return nil, err
			}
			return s, errors.Join(err, serr)
		}
		if end, ok := ev.(graph.RunEnded); ok {
			snap = end.Snapshot
		}
	}
	return snap, nil
}

// taskFailures returns the tasks that failed, in the order of the joined errors.
func taskFailures(err error) []string {
	var out []string
	for _, e := range unwrapAll(err) {
		if ne, ok := e.(*graph.NodeError); ok { //nolint:errorlint // unwrapAll returns all wrapped errors
			out = append(out, ne.Task)
		}
	}
	return out
}

// unwrapAll returns err and all errors that it wraps, in depth-first order.
func unwrapAll(err error) []error {
	if err == nil {
		return nil
	}
	out := []error{err}
	switch e := err.(type) { //nolint:errorlint // the function unwraps err itself
	case interface{ Unwrap() error }:
		out = append(out, unwrapAll(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range e.Unwrap() {
			out = append(out, unwrapAll(e)...)
		}
	}
	return out
}

// answers returns the input's answers as writes to the open questions.
func (p *pair) answers(in modelInput) state.Update {
	if len(in.answers) == 0 {
		return nil
	}
	_, ids, err := questions(snapshot(p.t, p.th))
	require.NoError(p.t, err, p)
	var u state.Update
	for _, task := range slices.Sorted(maps.Keys(in.answers)) {
		u = append(u, ask.Answer(ids[task], in.answers[task]))
	}
	return u
}

// compareNew compares the checkpoints that the last operation stored with the model's
// checkpoints, and copies their ids to the model.
func (p *pair) compareNew() {
	known := map[string]bool{}
	for _, c := range p.model.all {
		known[c.id] = true
	}
	var got []graph.Info
	for info, err := range p.th.History(p.t.Context(), graph.HistoryQuery{}) {
		require.NoError(p.t, err, p)
		if known[info.ID] {
			break
		}
		got = append(got, info)
	}
	slices.Reverse(got)
	require.Len(p.t, got, len(p.model.stored), "new checkpoints\n%s", p)
	for i, c := range p.model.stored {
		c.id = got[i].ID
		p.compareInfo(c, got[i])
	}
}

func (p *pair) compareInfo(c *modelCheckpoint, got graph.Info) {
	want := graph.Info{Thread: p.th.ID(), ID: c.id, Step: c.step, Source: c.source}
	if c.parent != nil {
		want.Parent = c.parent.id
	}
	got = graph.Info{Thread: got.Thread, ID: got.ID, Step: got.Step, Source: got.Source, Parent: got.Parent}
	require.Equal(p.t, want, got, p)
}

// compareNames requires two lists of names to be equal. Nil equals empty.
func (p *pair) compareNames(what string, want, got []string) {
	if len(want)+len(got) > 0 {
		require.Equal(p.t, want, got, "%s\n%s", what, p)
	}
}

// compare compares a snapshot of the newest checkpoint with the model.
func (p *pair) compare(what string, got *graph.Snapshot) {
	v, next, _ := p.model.visible()
	require.Empty(p.t, v.diff(got), "%s\n%s", what, p)
	p.compareNames(what+": next", next, got.Next)
	p.compareInfo(p.model.head(), got.Info)
}

// compareThread compares the thread and the executions of each task with the model.
func (p *pair) compareThread() {
	snap, err := p.th.Snapshot(p.t.Context())
	if p.model.head() == nil {
		require.ErrorIs(p.t, err, checkpoint.ErrNotFound, p)
		return
	}
	require.NoError(p.t, err, p)
	p.compare("the thread", snap)
	var asked []string
	for _, q := range pending(p.t, ask, snap) {
		asked = append(asked, q.Path)
	}
	_, _, open := p.model.visible()
	p.compareNames("open questions", open, asked)
	require.Equal(p.t, p.model.runs, p.world.runs, "executions\n%s", p)
}

// compareAll compares the state at every checkpoint of every branch.
func (p *pair) compareAll() {
	for _, c := range p.model.all {
		got, err := p.th.At(c.id).Snapshot(p.t.Context())
		require.NoError(p.t, err, "checkpoint %s\n%s", c.id, p)
		require.Empty(p.t, c.values.diff(got), "checkpoint %s\n%s", c.id, p)
		p.compareNames("next at checkpoint "+c.id, c.frontier.names(), got.Next)
		p.compareInfo(c, got.Info)
	}
}

// TestThreadsMatchReferenceModel proves that random inputs, answers, updates,
// forks and failures have the same effect on threads of random graphs as on the
// reference model, at every checkpoint of every branch. WEFT_OPS is the number
// of operations. WEFT_SEED selects them.
func TestThreadsMatchReferenceModel(t *testing.T) {
	s := seed(t)
	bubbled(t, func(t *testing.T, store checkpoint.Store, memory bool) {
		ops := int64(setting(t, "WEFT_OPS", 300))
		if memory {
			ops = int64(setting(t, "WEFT_OPS", 2000))
		}
		var left, checkpoints atomic.Int64
		left.Store(ops)
		var all sync.WaitGroup
		for w := range 2 {
			all.Go(func() {
				for i := 0; left.Load() > 0 && !t.Failed(); i++ {
					rng := rand.New(rand.NewPCG(s, uint64(i)<<1|uint64(w)))
					p := newPair(t, &entropy{more: func() byte { return byte(rng.Uint32()) }}, store, fmt.Sprint(w, ".", i))
					for range 10 + rng.IntN(60) {
						if left.Add(-1) >= 0 {
							p.op()
						}
					}
					p.compareAll()
					checkpoints.Add(int64(len(p.model.all)))
				}
			})
		}
		all.Wait()
		t.Logf("%d operations, %d checkpoints compared", ops, checkpoints.Load())
	})
}

// FuzzGraphMatchesReferenceModel compares random graphs with the model: a run
// without a thread, and operations on a thread.
func FuzzGraphMatchesReferenceModel(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		data := make([]byte, 40+rng.IntN(400))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		compareRunWithoutThread(t, slices.Clone(data))
		p := newPair(t, &entropy{data: data}, memcheckpoint.New(memcheckpoint.Options{}), "fuzz")
		for len(p.e.data) > 0 {
			p.op()
		}
		p.compareAll()
	})
}

// compareRunWithoutThread runs a graph without a thread, with parallel tasks and
// with one task at a time.
func compareRunWithoutThread(t *testing.T, data []byte) {
	g := newModelGraph(&entropy{data: data})
	for _, n := range g.nodes {
		n.asks = false // a run without a thread cannot pause
	}
	m := newModelThread(g)
	input := modelOutcome{trail: []string{"go"}}
	_, want := m.invoke(modelInput{begins: true, write: input, maxSteps: 12})
	for _, parallel := range []int{0, 1} {
		world := newModelWorld()
		c, err := g.build(world, graph.Options{MaxSteps: 12, MaxParallel: parallel})
		require.NoError(t, err)
		snap, err := c.Invoke(t.Context(), input.writes()...)
		require.ErrorIs(t, err, want)
		require.Empty(t, m.head().values.diff(snap))
		require.Equal(t, m.runs, world.runs, "executions")
	}
}
