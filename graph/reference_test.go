package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/memcheckpoint"
	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// player does random operations to a thread of a random graph and to the model
// of both, and compares.
type player struct {
	t     testing.TB
	e     *entropy
	g     *modelGraph
	world *modelWorld
	model *modelThread
	graph *graph.Graph
	th    *graph.Thread
	ops   int
	log   []string
}

func newPlayer(t testing.TB, e *entropy, s checkpoint.Store, thread string) *player {
	p := &player{t: t, e: e, g: newModelGraph(e), world: &modelWorld{runs: map[string]int{}}}
	p.model = &modelThread{g: p.g, runs: map[string]int{}, pend: newModelPending()}
	var err error
	if p.graph, err = p.g.build(p.world, graph.Options{Checkpoints: s, MaxParallel: e.n(3)}); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	p.th = p.graph.Thread(thread)
	return p
}

// String tells all that is needed to see what went wrong.
func (p *player) String() string {
	var b strings.Builder
	for _, n := range append([]*modelNode{&p.g.start}, slices.Collect(maps.Values(p.g.nodes))...) {
		fmt.Fprintf(&b, "node %+v\n", *n)
	}
	fmt.Fprintf(&b, "joins %+v\nthread %q\n%s", p.g.joins, p.th.ID(), strings.Join(p.log, "\n"))
	return b.String()
}

func (p *player) fatal(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s\n%s", fmt.Sprintf(format, args...), p)
}

// op does one operation.
func (p *player) op() {
	p.t.Helper()
	p.ops++
	in := p.input()
	if in.updateAs != "no" {
		p.update(in)
	} else {
		p.invoke(in)
	}
	p.look()
}

// input draws what the next operation is given.
func (p *player) input() modelInput {
	e, in := p.e, modelInput{updateAs: "no", maxSteps: 1 + p.e.n(6)}
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
		in.trouble = map[string]string{e.one(p.g.names): []string{"fail", "panic"}[e.n(2)], e.one(p.g.names): "fail"}
	}
	if e.n(6) == 0 {
		in.before = []string{e.one(append(slices.Clone(p.g.names), graph.AllNodes))}
	}
	if e.n(6) == 0 {
		in.after = []string{e.one(p.g.names)}
	}
	return in
}

func (p *player) drawUpdate(in *modelInput, write modelOutcome) {
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

// drawAnswers answers some of the open questions.
func (p *player) drawAnswers(in *modelInput) {
	in.at = nil
	if len(p.model.all) == 0 {
		return
	}
	_, _, open := p.model.shown()
	for _, task := range open {
		if p.e.n(3) > 0 {
			if in.answers == nil {
				in.answers = map[string]string{}
			}
			in.answers[task] = fmt.Sprint("!", p.ops)
		}
	}
}

func (p *player) handle(in modelInput) *graph.Thread {
	th := p.th
	if in.at != nil {
		th = th.At(in.at.id)
	}
	return th.With(graph.RunOptions{MaxSteps: in.maxSteps, PauseBefore: in.before, PauseAfter: in.after, Durability: &in.mode})
}

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

func (p *player) update(in modelInput) {
	p.t.Helper()
	p.log = append(p.log, fmt.Sprintf("%d update as %q %q of %s: %+v", p.ops, in.updateAs, in.updateAs2, in.at.name(), in.write))
	updates := []graph.NodeUpdate{{Node: in.updateAs, Update: in.write.writes()}}
	if in.updateAs2 != "" {
		updates = append(updates, graph.NodeUpdate{Node: in.updateAs2})
	}
	want := p.model.update(in)
	snap, err := p.handle(in).UpdateNodes(p.t.Context(), updates...)
	if !errors.Is(err, want) {
		p.fatal("update: got error %v, want %v", err, want)
	}
	if want != nil {
		return
	}
	p.made()
	p.compare("what Update returned", snap)
}

func (c *modelCheckpoint) name() string {
	if c == nil {
		return "the newest"
	}
	return c.id
}

func (p *player) invoke(in modelInput) {
	p.t.Helper()
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
	p.world.trouble = in.trouble
	p.log = append(p.log, fmt.Sprintf("%d %v run of %s: %+v begins %v, edits %v, goto %v, send %v, answers %v, max %d, before %v, after %v, trouble %v",
		p.ops, in.mode, in.at.name(), in.write, in.begins, in.edits, in.gotos, in.sends, in.answers, in.maxSteps, in.before, in.after, in.trouble))
	failed, want := p.model.invoke(in)
	snap, err := p.run(in, u)
	if !errors.Is(err, want) && !(errors.Is(want, errTrouble) && len(taskFailures(err)) > 0) {
		p.fatal("run: got error %v, want %v", err, want)
	}
	if got := taskFailures(err); !slices.Equal(got, failed) {
		p.fatal("run: got failures of %q, want %q", got, failed)
	}
	p.made()
	if snap == nil {
		if p.model.head() != nil && !errors.Is(err, graph.ErrNoInput) {
			p.fatal("run: no snapshot beside %v", err)
		}
		return
	}
	if paused := len(snap.Pauses) > 0; err == nil && paused != p.model.paused {
		p.fatal("run: got pauses %+v, want paused %v", snap.Pauses, p.model.paused)
	}
	p.compare("what the run returned", snap)
}

// run is Invoke or Stream.
func (p *player) run(in modelInput, u state.Update) (*graph.Snapshot, error) {
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

// taskFailures returns the tasks that failed, in order.
func taskFailures(err error) []string {
	var out []string
	for _, e := range unwrapAll(err) {
		if ne, ok := e.(*graph.NodeError); ok { //nolint:errorlint // every error of the tree is looked at
			out = append(out, ne.Task)
		}
	}
	return out
}

// unwrapAll returns err and all that it wraps.
func unwrapAll(err error) []error {
	if err == nil {
		return nil
	}
	out := []error{err}
	switch e := err.(type) { //nolint:errorlint // this walks the tree
	case interface{ Unwrap() error }:
		out = append(out, unwrapAll(e.Unwrap())...)
	case interface{ Unwrap() []error }:
		for _, e := range e.Unwrap() {
			out = append(out, unwrapAll(e)...)
		}
	}
	return out
}

func (p *player) answers(in modelInput) state.Update {
	if len(in.answers) == 0 {
		return nil
	}
	snap, err := p.th.Snapshot(p.t.Context())
	if err != nil {
		p.fatal("%v", err)
	}
	_, ids, err := questions(snap)
	if err != nil {
		p.fatal("%v", err)
	}
	var u state.Update
	for _, task := range slices.Sorted(maps.Keys(in.answers)) {
		u = append(u, ask.Answer(ids[task], in.answers[task]))
	}
	return u
}

// made gives the checkpoints that the model expects the ids that they got.
func (p *player) made() {
	p.t.Helper()
	known := map[string]bool{}
	for _, c := range p.model.all {
		known[c.id] = true
	}
	var got []graph.Info
	for info, err := range p.th.History(p.t.Context(), graph.HistoryQuery{}) {
		if err != nil {
			p.fatal("history: %v", err)
		}
		if known[info.ID] {
			break
		}
		got = append(got, info)
	}
	slices.Reverse(got)
	if len(got) != len(p.model.made) {
		p.fatal("got %d new checkpoints %+v, want %d", len(got), got, len(p.model.made))
	}
	for i, c := range p.model.made {
		c.id = got[i].ID
		p.compareInfo(c, got[i])
	}
}

func (p *player) compareInfo(c *modelCheckpoint, got graph.Info) {
	p.t.Helper()
	parent := ""
	if c.parent != nil {
		parent = c.parent.id
	}
	if got.ID != c.id || got.Parent != parent || got.Step != c.step || got.Source != c.source || got.Thread != p.th.ID() {
		p.fatal("got checkpoint %+v, want %+v of %q", got, *c, parent)
	}
}

// compare compares a snapshot of the newest checkpoint.
func (p *player) compare(what string, got *graph.Snapshot) {
	p.t.Helper()
	v, next, open := p.model.shown()
	if d := v.diff(got); d != "" {
		p.fatal("%s: %s", what, d)
	}
	if !slices.Equal(got.Next, next) {
		p.fatal("%s: got next %q, want %q", what, got.Next, next)
	}
	p.compareInfo(p.model.head(), got.Info)
	if what != "the thread" {
		return
	}
	var asked []string
	for _, q := range pending(p.t, ask, got) {
		asked = append(asked, q.Path)
	}
	if !slices.Equal(asked, open) {
		p.fatal("%s: got questions %q, want %q", what, asked, open)
	}
}

// look compares the thread with the model, and how often each task ran.
func (p *player) look() {
	p.t.Helper()
	snap, err := p.th.Snapshot(p.t.Context())
	if p.model.head() == nil {
		if !errors.Is(err, checkpoint.ErrNotFound) {
			p.fatal("snapshot: got error %v, want none to be found", err)
		}
		return
	}
	if err != nil {
		p.fatal("snapshot: %v", err)
	}
	p.compare("the thread", snap)
	if !maps.Equal(p.world.runs, p.model.runs) {
		p.fatal("the tasks ran %v, want %v", p.world.runs, p.model.runs)
	}
}

// tree compares the state at every checkpoint of every branch.
func (p *player) tree() {
	p.t.Helper()
	for _, c := range p.model.all {
		got, err := p.th.At(c.id).Snapshot(p.t.Context())
		if err != nil {
			p.fatal("at %s: %v", c.id, err)
		}
		if d := c.values.diff(got); d != "" {
			p.fatal("at %s: %s", c.id, d)
		}
		if !slices.Equal(got.Next, c.front.names()) {
			p.fatal("at %s: got next %q, want %q", c.id, got.Next, c.front.names())
		}
		p.compareInfo(c, got.Info)
	}
}

// TestModel does WEFT_OPS random updates, forks, resumes, inputs and failures
// to threads of random graphs, and compares every checkpoint of every branch
// with the model.
func TestModel(t *testing.T) {
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
					p := newPlayer(t, &entropy{more: func() byte { return byte(rng.Uint32()) }}, store, fmt.Sprint(w, ".", i))
					for range 10 + rng.IntN(60) {
						if left.Add(-1) >= 0 {
							p.op()
						}
					}
					p.tree()
					checkpoints.Add(int64(len(p.model.all)))
				}
			})
		}
		all.Wait()
		t.Logf("%d operations, %d checkpoints compared", ops, checkpoints.Load())
	})
}

// FuzzGraph runs random graphs and compares them with the model: without a
// thread, and with a thread that is interrupted, forked and edited.
func FuzzGraph(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		data := make([]byte, 40+rng.IntN(400))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		once(t, slices.Clone(data))
		p := newPlayer(t, &entropy{data: data}, memcheckpoint.New(memcheckpoint.Options{}), "fuzz")
		for len(p.e.data) > 0 {
			p.op()
		}
		p.tree()
	})
}

// once runs a graph without a thread, one task at a time and all at once.
func once(t *testing.T, data []byte) {
	t.Helper()
	g := newModelGraph(&entropy{data: data})
	for _, n := range g.nodes {
		n.asks = false // nobody to ask
	}
	m := &modelThread{g: g, runs: map[string]int{}, pend: newModelPending()}
	input := modelOutcome{trail: []string{"go"}}
	_, want := m.invoke(modelInput{begins: true, write: input, maxSteps: 12})
	for _, parallel := range []int{0, 1} {
		world := &modelWorld{runs: map[string]int{}}
		c, err := g.build(world, graph.Options{MaxSteps: 12, MaxParallel: parallel})
		if err != nil {
			t.Fatal(err)
		}
		snap, err := c.Invoke(context.Background(), input.writes()...)
		if !errors.Is(err, want) {
			t.Fatalf("got error %v, want %v", err, want)
		}
		if d := m.head().values.diff(snap); d != "" {
			t.Fatal(d)
		}
		if !maps.Equal(world.runs, m.runs) {
			t.Fatalf("the tasks ran %v, want %v", world.runs, m.runs)
		}
	}
}
