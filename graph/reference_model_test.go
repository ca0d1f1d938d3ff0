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

// This file and reference_thread_test.go are a reference model of graphs and
// threads. It shares no code with the engine and executes one task after another,
// which makes it simple enough to be checked by reading.

var (
	cells  = state.Map[string, int]("cells")
	latest = state.LastWins[string]("latest")
)

// entropy draws numbers from the bytes of a fuzzer or of a random generator.
type entropy struct {
	data []byte
	more func() byte // called after data is used up; nil yields zeros
}

// n draws a number below k.
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

// one draws one of the names.
func (e *entropy) one(of []string) string { return of[e.n(len(of))] }

// some draws a random number of different names, but not more than the parameter most.
func (e *entropy) some(of []string, most int) []string {
	var out []string
	for range e.n(most + 1) {
		if name := e.one(of); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// modelNode describes a node of a random graph.
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
	names []string // the names of the nodes, sorted
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

// modelWorld is the state that the nodes of one graph share with the test: the
// failures that they must cause, and the executions of each task.
type modelWorld struct {
	mu     sync.Mutex
	inject map[string]string // "fail" or "panic" for each node that must fail
	runs   map[string]int    // the number of executions of each task
}

func newModelWorld() *modelWorld { return &modelWorld{runs: map[string]int{}} }

// enter counts an execution and returns the failure that the node must cause.
func (w *modelWorld) enter(node, task string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[task]++
	return w.inject[node]
}

// build compiles the graph for the engine.
func (g *modelGraph) build(w *modelWorld, o graph.Options) (*graph.Graph, error) {
	b := graph.New("model", trail, total, item, cells, latest)
	b.Destinations(graph.Start, g.names...)
	for _, name := range g.names {
		n := g.nodes[name]
		b.Node(name, func(ctx context.Context, v state.View) (state.Update, error) { return n.run(ctx, v, w) })
		b.AllowEdgesAndBranches(name)
		b.Destinations(name, n.routes...)
		g.addEdges(b, n)
		if n.deferred {
			b.Defer(name)
		}
	}
	b.AllowEdgesAndBranches(graph.Start)
	g.addEdges(b, &g.start)
	for _, j := range g.joins {
		b.Join(j.to, j.from...)
	}
	return b.Compile(o)
}

// addEdges adds the edges and the branch of a node.
func (g *modelGraph) addEdges(b *graph.Builder, n *modelNode) {
	for _, to := range n.edges {
		b.Edge(n.name, to)
	}
	if n.branch != nil {
		b.Branch(n.name, func(v state.View) (string, error) { return n.choose(trail.Len(v), total.Get(v)), nil }, n.branch...)
	}
}

// errInjected is the error of a node that must fail.
var errInjected = errors.New("injected")

// run is the node's function for the engine.
func (n *modelNode) run(ctx context.Context, v state.View, w *modelWorld) (state.Update, error) {
	at, _ := graph.FromContext(ctx)
	switch w.enter(n.name, at.Task) {
	case "fail":
		return nil, errInjected
	case "panic":
		panic("injected")
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

// modelSeen is the part of the state that a node reads.
type modelSeen struct{ length, total, item int }

// modelOutcome is the update of a task or of a caller.
type modelOutcome struct {
	trail  []string
	total  int
	cells  map[string]int
	latest string
	gotos  []string
	sends  []modelSend
	branch string // the target of the node's branch, if it has one
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

// asksFor reports whether the node asks a question in this state.
func (n *modelNode) asksFor(s modelSeen) bool { return n.asks && hashOf("ask", n.name, s)%2 == 0 }

// choose returns the target of the node's branch.
func (n *modelNode) choose(length, total int) string {
	return n.branch[hashOf("branch", n.name, length, total)%len(n.branch)]
}

// act returns the outcome of a task, which depends only on its arguments.
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

// modelValues holds the values of the channels.
type modelValues struct {
	trail  []string
	total  int
	cells  map[string]int
	latest string
}

// with returns the values after an update.
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

// diff describes the first difference between v and a view, or returns "".
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

// modelFrontier is the frontier of a checkpoint.
type modelFrontier struct {
	next    []string // the due nodes, sorted
	sends   []modelSend
	waiting []string          // the triggered deferred nodes, sorted
	arrived []map[string]bool // the completed sources of each join
	by      []string          // the nodes of the superstep before the checkpoint
}

// idle reports whether nothing is due.
func (f modelFrontier) idle() bool { return len(f.next)+len(f.sends) == 0 }

// names returns the nodes that are due.
func (f modelFrontier) names() []string {
	out := slices.Clone(f.next)
	for _, s := range f.sends {
		out = append(out, s.node)
	}
	return out
}

// with adds the targets and sends of a caller. A deferred target waits, unless it is due
// already or nothing else is due.
func (f modelFrontier) with(g *modelGraph, gotos []string, sends []modelSend) modelFrontier {
	due := f.next
	for _, to := range gotos {
		if n := g.nodes[to]; n != nil && n.deferred && !slices.Contains(due, to) {
			f.waiting = insert(f.waiting, to)
		} else {
			f.next = insert(f.next, to)
		}
	}
	f.sends = append(slices.Clone(f.sends), sends...)
	if f.idle() {
		f.next, f.waiting = f.waiting, nil
	}
	return f
}

// insert adds names to a sorted set and drops graph.End.
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

// tasks returns the tasks of the superstep that is due.
func (g *modelGraph) tasks(v modelValues, f modelFrontier) []modelTask {
	var out []modelTask
	for _, name := range f.next {
		out = append(out, modelTask{name, g.nodes[name], modelSeen{len(v.trail), v.total, 0}})
	}
	for i, s := range f.sends {
		out = append(out, modelTask{fmt.Sprintf("%s[%d]", s.node, i), g.nodes[s.node], modelSeen{0, 0, s.item}})
	}
	return out
}

// branched adds the target of the node's branch, which sees the node's update.
func (n *modelNode) branched(base modelValues, out modelOutcome) modelOutcome {
	if n.branch != nil {
		after := base.with(out)
		out.branch = n.choose(len(after.trail), after.total)
	}
	return out
}

// follow returns the frontier after a superstep of the nodes with these outcomes.
func (g *modelGraph) follow(before modelFrontier, nodes []*modelNode, outs []modelOutcome) modelFrontier {
	f := modelFrontier{waiting: before.waiting, arrived: make([]map[string]bool, len(g.joins))}
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
