package graph

import (
	"slices"

	"github.com/weft-go/weft/state"
)

// A Description says what a graph consists of, subgraphs included. It is plain
// data: print it as JSON, or draw it.
type Description struct {
	Name     string              `json:"name"`
	Channels []state.Description `json:"channels"`
	Nodes    []NodeDescription   `json:"nodes"`
	Edges    []EdgeDescription   `json:"edges"`
}

// A NodeDescription is a node of a [Description]. [Start] and [End] are not
// among them.
type NodeDescription struct {
	Name     string `json:"name"`
	Deferred bool   `json:"deferred,omitempty"`
	// PauseBefore and PauseAfter say that every run stops there.
	PauseBefore bool `json:"pauseBefore,omitempty"`
	PauseAfter  bool `json:"pauseAfter,omitempty"`
	// Subgraph is what the node runs, if it is a graph; Memory is the name
	// under which that remembers.
	Subgraph *Description `json:"subgraph,omitempty"`
	Memory   string       `json:"memory,omitempty"`
}

// An EdgeDescription is an edge of a [Description].
type EdgeDescription struct {
	// From is the source; Join says that the edge fires only together with the
	// others of the same number, which is 0 for an edge of its own.
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
	Join int      `json:"join,omitempty"`
}

// An EdgeKind says when an edge fires.
type EdgeKind string

// The kinds of edge.
const (
	StaticEdge EdgeKind = "edge"   // always
	BranchEdge EdgeKind = "branch" // when a branch chooses it
	RouteEdge  EdgeKind = "route"  // when a node goes or sends there itself
	JoinEdge   EdgeKind = "join"   // when every source has run
)

// Describe returns what the graph consists of, in the order of names.
func (g *Graph) Describe() Description {
	d := Description{Name: g.name, Channels: slices.Clone(g.describe)}
	for _, n := range g.nodes {
		nd := NodeDescription{
			Name: n.name, Deferred: n.deferred,
			PauseBefore: named(g.opts.PauseBefore, n.name), PauseAfter: named(g.opts.PauseAfter, n.name),
		}
		if n.sub != nil {
			sub := n.sub.Describe()
			nd.Subgraph, nd.Memory = &sub, n.sub.memory
		}
		d.Nodes = append(d.Nodes, nd)
	}
	d.Edges = g.describeEdges()
	return d
}

func named(list []string, name string) bool {
	return slices.Contains(list, name) || slices.Contains(list, AllNodes)
}

func (g *Graph) describeEdges() []EdgeDescription {
	var out []EdgeDescription
	add := func(from string, kind EdgeKind, targets []string) {
		for _, to := range targets {
			e := EdgeDescription{From: from, To: to, Kind: kind}
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	for _, n := range append([]*node{g.start}, g.nodes...) {
		add(n.name, StaticEdge, n.edges)
		for _, b := range n.branches {
			add(n.name, BranchEdge, b.targets)
		}
		add(n.name, RouteEdge, n.routes)
	}
	for i, j := range slices.Concat(g.joins, g.exits) {
		for _, from := range j.sources {
			out = append(out, EdgeDescription{From: from, To: j.target, Kind: JoinEdge, Join: i + 1})
		}
	}
	return out
}
