package engine

import (
	"context"
	"slices"

	"github.com/weft-go/weft/internal/statecore"
	"github.com/weft-go/weft/state"
)

// Start and End are the two ends of every graph.
const (
	Start = "__start__"
	End   = "__end__"
)

// AllNodes means every node. It is used in a list of static pauses.
const AllNodes = "*"

// A Func is the function of a node.
type Func func(ctx context.Context, v state.View) (state.Update, error)

// Protect wraps a node function and converts its panics to errors.
// Package graph sets it, because the errors have a public type.
var Protect func(fn Func) Func

// SubgraphOf returns a subgraph without options that runs a graph of package graph.
// Package graph sets SubgraphOf.
var SubgraphOf func(graph any) *Subgraph

// A Plan is a compiled graph. It is immutable after [Plan.Link].
type Plan struct {
	Name    string
	Schema  *statecore.Schema
	Start   *Node
	Nodes   []*Node           // sorted by name
	Joins   []Join            // without joins to End, which schedule nothing
	Renamed map[string]string // from a former name of a node to its present name
	// Wrap returns the function of a node, wrapped in the middleware of this graph.
	// The nodes of subgraphs are wrapped too. Nil means no middleware.
	Wrap func(n *Node) Func

	byName   map[string]*Node
	previous map[string][]string // the former names of a node, by its present name
	empty    state.View
	// branchNeedsOverlay is true if the graph has ephemeral channels.
	// A commit clears them, so a branch cannot read the state after the superstep.
	branchNeedsOverlay bool
}

// A Node is a step of a graph.
type Node struct {
	Name string
	// Run is nil for Start and End, for the node of an inner task, and for a stored node that the
	// graph does not have.
	Run Func
	// Subgraph is the graph that Run calls; nil if the node runs no graph.
	Subgraph *Subgraph
	// Edges are the targets of static edges, sorted.
	Edges    []string
	Branches []Branch
	// Destinations are the nodes that Goto and Send of this node may name.
	Destinations []string
	// Deferred means that the node waits until no other work remains.
	Deferred bool

	// Each inner task has a node of its own; see [Inner].
	outer  *Task  // the task around the inner task
	suffix string // the end of its id; empty for a node of a graph

	index int
	next  []*Node  // the targets of edges, without End
	self  []*Node  // a list of this node alone, to save allocations
	names []string // a list of its name alone, to save allocations
}

// A Branch chooses the targets after a node. Either One or Many is set.
type Branch struct {
	One     func(v state.View) (string, error)
	Many    func(v state.View) (state.Update, error)
	Targets []string
}

// A Join schedules its target once every source has completed.
type Join struct {
	Target  string
	Sources []string // sorted, without duplicates
}

// A Subgraph is a graph that a node runs.
type Subgraph struct {
	Plan *Plan
	// Options are the options with which the graph was compiled.
	Options *Options
	// Persist is the name of a persistent subgraph; empty for any other subgraph.
	// A persistent subgraph keeps its own channels from one call to the next.
	Persist string
	// Private has the names of channels that the subgraph does not share with its parent.
	Private []string
	// Input returns writes to the subgraph's own channels at the start of a call.
	// Its argument is the state of the parent. Input may be nil.
	Input func(v state.View) (state.Update, error)
	// Output returns writes to the parent's channels at the end of a call.
	// Its arguments are the state of the parent and the state of the subgraph. Output may be nil.
	Output func(parent, sub state.View) (state.Update, error)
}

// Link resolves the names of a plan. It is called once, when the plan is complete.
func (p *Plan) Link() {
	p.byName = map[string]*Node{}
	p.empty = p.Schema.Empty()
	p.branchNeedsOverlay = p.Schema.HasEphemeral()
	for i, n := range p.Nodes {
		n.index = i
		p.byName[n.Name] = n
	}
	for _, n := range append([]*Node{p.Start}, p.Nodes...) {
		n.self, n.names = []*Node{n}, []string{n.Name}
		for _, to := range n.Edges {
			if to != End {
				n.next = append(n.next, p.byName[to])
			}
		}
	}
	p.previous = map[string][]string{}
	for old, now := range p.Renamed {
		p.previous[now] = append(p.previous[now], old)
		slices.Sort(p.previous[now])
	}
}

// Node returns the node with the given name, or nil.
// For a small graph, a scan is faster than a map lookup.
func (p *Plan) Node(name string) *Node {
	if len(p.Nodes) > 8 {
		return p.byName[name]
	}
	for _, n := range p.Nodes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// cycle returns the names of the nodes in a shortest cycle of static edges through n.
// The name of n is both the first and the last one. If there is no cycle, the result is nil.
func (n *Node) cycle() []string {
	before := map[*Node]*Node{}
	for queue := []*Node{n}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for _, to := range at.next {
			if to == n {
				names := []string{n.Name}
				for ; at != nil; at = before[at] {
					names = append(names, at.Name)
				}
				slices.Reverse(names)
				return names
			}
			if before[to] == nil {
				before[to] = at
				queue = append(queue, to)
			}
		}
	}
	return nil
}

// Empty returns the state in which every channel is absent.
func (p *Plan) Empty() state.View { return p.empty }

// current returns the present name of a node that was stored under the given name.
func (p *Plan) current(stored string) string {
	if now, ok := p.Renamed[stored]; ok {
		return now
	}
	return stored
}

// nodeNames returns the names of the nodes; nil if there are none.
func nodeNames(nodes []*Node) []string {
	if len(nodes) == 0 {
		return nil
	}
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name
	}
	return out
}
