package graph_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/state"
)

// This file is a naive model of graphs and threads: it works out, one task
// after another and without sharing anything with the engine, what a random
// graph must do.

var (
	cells  = state.Map[string, int]("cells")
	latest = state.LastWins[string]("latest")
)

// entropy is a source of choices: bytes of a fuzzer, or of a random generator.
type entropy struct {
	data []byte
	more func() byte // nil means zeros
}

func (e *entropy) n(k int) int {
	if k <= 1 {
		return 0
	}
	if len(e.data) > 0 {
		b := e.data[0]
		e.data = e.data[1:]
		return int(b) % k
	}
	if e.more != nil {
		return int(e.more()) % k
	}
	return 0
}

func (e *entropy) one(of []string) string { return of[e.n(len(of))] }

// some returns up to most of the names.
func (e *entropy) some(of []string, most int) []string {
	var out []string
	for range e.n(most + 1) {
		if name := e.one(of); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// modelNode says how a node behaves.
type modelNode struct {
	name     string
	edges    []string
	branch   []string
	routes   []string
	deferred bool
	asks     bool
}

type modelJoin struct {
	to   string
	from []string
}

// modelGraph is a random graph.
type modelGraph struct {
	names []string // sorted
	nodes map[string]*modelNode
	start modelNode
	joins []modelJoin
}

func newModelGraph(e *entropy) *modelGraph {
	g := &modelGraph{nodes: map[string]*modelNode{}}
	for i := range 1 + e.n(6) {
		g.names = append(g.names, string(rune('a'+i)))
	}
	ends := append(slices.Clone(g.names), graph.End)
	for _, name := range g.names {
		n := &modelNode{name: name, edges: e.some(ends, 2), deferred: e.n(6) == 0, asks: e.n(4) == 0}
		if e.n(3) == 0 {
			n.branch = append([]string{e.one(ends)}, e.some(ends, 2)...)
		}
		if e.n(3) == 0 {
			n.routes = e.some(ends, 3)
		}
		g.nodes[name] = n
	}
	g.start = modelNode{name: graph.Start, edges: append([]string{e.one(g.names)}, e.some(g.names, 2)...)}
	if e.n(3) == 0 {
		g.start.branch = append([]string{e.one(ends)}, e.some(ends, 2)...)
	}
	for range e.n(3) {
		g.joins = append(g.joins, modelJoin{e.one(g.names), append([]string{e.one(g.names)}, e.some(g.names, 2)...)})
	}
	return g
}

// modelWorld is what the nodes of one graph share with the test: the trouble
// that they are in, and how often each task ran.
type modelWorld struct {
	mu      sync.Mutex
	trouble map[string]string // by node
	runs    map[string]int    // by task
}

func (w *modelWorld) enter(node, task string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[task]++
	return w.trouble[node]
}

// build makes the engine's graph.
func (g *modelGraph) build(w *modelWorld, o graph.Options) (*graph.Graph, error) {
	b := graph.New("model", trail, total, item, cells, latest)
	b.Destinations(graph.Start, g.names...)
	for _, name := range g.names {
		n := g.nodes[name]
		b.Node(name, func(ctx context.Context, v state.View) (state.Update, error) { return n.run(ctx, v, w) })
		b.AllowEdgesAndBranches(name)
		b.Destinations(name, n.routes...)
		g.lead(b, n)
		if n.deferred {
			b.Defer(name)
		}
	}
	b.AllowEdgesAndBranches(graph.Start)
	g.lead(b, &g.start)
	for _, j := range g.joins {
		b.Join(j.to, j.from...)
	}
	return b.Compile(o)
}

func (g *modelGraph) lead(b *graph.Builder, n *modelNode) {
	for _, to := range n.edges {
		b.Edge(n.name, to)
	}
	if n.branch != nil {
		b.Branch(n.name, func(v state.View) (string, error) { return n.choose(trail.Len(v), total.Get(v)), nil }, n.branch...)
	}
}

var errTrouble = errors.New("in trouble")

func (n *modelNode) run(ctx context.Context, v state.View, w *modelWorld) (state.Update, error) {
	at, _ := graph.FromContext(ctx)
	switch w.enter(n.name, at.Task) {
	case "fail":
		return nil, errTrouble
	case "panic":
		panic("in trouble")
	}
	seen, answer := modelSeen{trail.Len(v), total.Get(v), item.Get(v)}, ""
	if n.asksFor(seen) {
		var err error
		if answer, err = ask.Wait(ctx, at.Task+"?"); err != nil {
			return nil, err
		}
	}
	out := n.act(seen, answer)
	u := state.Update{trail.Put(out.trail...), total.Put(out.total), cells.Put(out.cells), latest.Put(out.latest)}
	for _, to := range out.gotos {
		u = append(u, graph.Goto(to))
	}
	for _, s := range out.sends {
		u = append(u, s.write())
	}
	return u, nil
}

// modelSeen is all that a node looks at.
type modelSeen struct{ length, total, item int }

// modelOutcome is what a task does.
type modelOutcome struct {
	trail  []string
	total  int
	cells  map[string]int
	latest string
	gotos  []string
	sends  []modelSend
	branch string // chosen by the node's branch, if it has one
}

type modelSend struct {
	node string
	item int
}

func (s modelSend) write() state.Write { return graph.Send(s.node, item.Put(s.item)) }

func hashOf(v ...any) int {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, v...)
	return int(h.Sum32() >> 1)
}

func (n *modelNode) asksFor(s modelSeen) bool { return n.asks && hashOf("ask", n.name, s)%2 == 0 }

func (n *modelNode) choose(length, total int) string {
	return n.branch[hashOf("branch", n.name, length, total)%len(n.branch)]
}

// act is a pure function of what the task sees.
func (n *modelNode) act(s modelSeen, answer string) modelOutcome {
	h := hashOf(n.name, s, answer)
	out := modelOutcome{
		trail:  []string{fmt.Sprint(n.name, s.length, "/", s.total, "/", s.item, answer)},
		total:  h % 3,
		cells:  map[string]int{fmt.Sprint(h % 4): h % 100},
		latest: fmt.Sprint(n.name, h%1000),
	}
	if h/7%3 == 0 {
		out.trail = append(out.trail, n.name+"+")
	}
	if len(n.routes) == 0 {
		return out
	}
	if h/100%3 == 0 {
		out.gotos = []string{n.routes[h/300%len(n.routes)]}
	}
	if h/1000%3 == 0 && s.length < 60 && s.item < 3 {
		for i := range 1 + h/3000%3 {
			if to := n.routes[(h/9000+i)%len(n.routes)]; to != graph.End {
				out.sends = append(out.sends, modelSend{to, s.item + 1 + i%2})
			}
		}
	}
	return out
}

// modelValues is a state.
type modelValues struct {
	trail  []string
	total  int
	cells  map[string]int
	latest string
}

func (v modelValues) with(out modelOutcome) modelValues {
	v.trail = append(slices.Clone(v.trail), out.trail...)
	v.total += out.total
	v.cells = maps.Clone(v.cells)
	for k, x := range out.cells {
		if v.cells == nil {
			v.cells = map[string]int{}
		}
		v.cells[k] = x
	}
	if out.latest != "" {
		v.latest = out.latest
	}
	return v
}

// diff says where a view is another than it should be.
func (v modelValues) diff(s state.View) string {
	switch {
	case !slices.Equal(trail.Get(s), v.trail):
		return fmt.Sprintf("trail is %q, want %q", trail.Get(s), v.trail)
	case total.Get(s) != v.total:
		return fmt.Sprintf("total is %d, want %d", total.Get(s), v.total)
	case !maps.Equal(cells.Get(s), v.cells):
		return fmt.Sprintf("cells are %v, want %v", cells.Get(s), v.cells)
	case latest.Get(s) != v.latest:
		return fmt.Sprintf("latest is %q, want %q", latest.Get(s), v.latest)
	}
	return ""
}

// modelFront is what is due.
type modelFront struct {
	next    []string // sorted
	sends   []modelSend
	waiting []string // sorted
	arrived []map[string]bool
	by      []string
}

func (f modelFront) idle() bool { return len(f.next)+len(f.sends) == 0 }

func (f modelFront) names() []string {
	out := slices.Clone(f.next)
	for _, s := range f.sends {
		out = append(out, s.node)
	}
	return out
}

// with adds nodes and sends that a caller asked for.
func (f modelFront) with(gotos []string, sends []modelSend) modelFront {
	f.next = insert(f.next, gotos...)
	f.sends = append(slices.Clone(f.sends), sends...)
	return f
}

// insert adds names to a sorted set.
func insert(set []string, names ...string) []string {
	set = append(slices.Clone(set), names...)
	set = slices.DeleteFunc(set, func(n string) bool { return n == graph.End })
	slices.Sort(set)
	return slices.Compact(set)
}

// modelTask is a task of a superstep.
type modelTask struct {
	id   string
	node *modelNode
	seen modelSeen
}

func (g *modelGraph) tasks(v modelValues, f modelFront) []modelTask {
	var out []modelTask
	for _, name := range f.next {
		out = append(out, modelTask{name, g.nodes[name], modelSeen{len(v.trail), v.total, 0}})
	}
	for i, s := range f.sends {
		out = append(out, modelTask{fmt.Sprintf("%s[%d]", s.node, i), g.nodes[s.node], modelSeen{0, 0, s.item}})
	}
	return out
}

// branched adds the choice of the node's branch, which sees its own update.
func (n *modelNode) branched(base modelValues, out modelOutcome) modelOutcome {
	if n.branch != nil {
		after := base.with(out)
		out.branch = n.choose(len(after.trail), after.total)
	}
	return out
}

// follow works out what is due after the nodes, with what they did.
func (g *modelGraph) follow(before modelFront, nodes []*modelNode, outs []modelOutcome) modelFront {
	f := modelFront{waiting: before.waiting, arrived: make([]map[string]bool, len(g.joins))}
	for i := range g.joins {
		f.arrived[i] = map[string]bool{}
		if before.arrived != nil {
			maps.Copy(f.arrived[i], before.arrived[i])
		}
	}
	trigger := func(to string) {
		switch n := g.nodes[to]; {
		case n == nil: // the end
		case n.deferred:
			f.waiting = insert(f.waiting, to)
		default:
			f.next = insert(f.next, to)
		}
	}
	for i, n := range nodes {
		for _, to := range slices.Concat(n.edges, outs[i].gotos) {
			trigger(to)
		}
		if outs[i].branch != "" {
			trigger(outs[i].branch)
		}
		f.sends = append(f.sends, outs[i].sends...)
		for j, join := range g.joins {
			if !slices.Contains(join.from, n.name) {
				continue
			}
			f.arrived[j][n.name] = true
		}
	}
	complete := func(j int) bool {
		return !slices.ContainsFunc(g.joins[j].from, func(s string) bool { return !f.arrived[j][s] })
	}
	for j, join := range g.joins {
		if complete(j) {
			trigger(join.to)
		}
	}
	if f.idle() {
		f.next, f.waiting = f.waiting, nil
	}
	for j, join := range g.joins {
		if complete(j) && slices.Contains(f.next, join.to) {
			clear(f.arrived[j])
		}
	}
	return f
}
