package graph

import (
	"slices"

	"github.com/weft-go/weft/graph/draw"
	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/state"
)

// Describe returns the channels, nodes and edges of the graph as data, in the order of
// names.
func (g *Graph) Describe() draw.Graph {
	if g == nil {
		return draw.Graph{}
	}
	return describePlan(g.plan, &g.opts, g.endJoins)
}

// Mermaid draws the graph as a Mermaid flowchart; see [draw.Mermaid].
func (g *Graph) Mermaid() string { return draw.Mermaid(g.Describe()) }

// DOT draws the graph in the language of Graphviz; see [draw.DOT].
func (g *Graph) DOT() string { return draw.DOT(g.Describe()) }

func describePlan(p *engine.Plan, o *Options, endJoins []engine.Join) draw.Graph {
	d := draw.Graph{Name: p.Name}
	for _, c := range p.Schema.Describe() {
		d.Channels = append(d.Channels, state.Description(c))
	}
	for _, n := range p.Nodes {
		nd := draw.Node{
			Name: n.Name, Deferred: n.Deferred,
			PauseBefore: pausesAt(o.PauseBefore, n.Name), PauseAfter: pausesAt(o.PauseAfter, n.Name),
		}
		if n.Subgraph != nil {
			so := Options{PauseBefore: n.Subgraph.Options.PauseBefore, PauseAfter: n.Subgraph.Options.PauseAfter}
			sub := describePlan(n.Subgraph.Plan, &so, nil)
			nd.Subgraph, nd.Persist = &sub, n.Subgraph.Persist
		}
		d.Nodes = append(d.Nodes, nd)
	}
	d.Edges = describeEdges(p, endJoins)
	return d
}

// pausesAt reports whether a list of static pauses contains a node.
func pausesAt(list []string, node string) bool {
	return slices.Contains(list, node) || slices.Contains(list, AllNodes)
}

func describeEdges(p *engine.Plan, endJoins []engine.Join) []draw.Edge {
	var out []draw.Edge
	add := func(from string, kind draw.EdgeKind, targets []string) {
		for _, to := range targets {
			e := draw.Edge{From: from, To: to, Kind: kind}
			if !slices.Contains(out, e) {
				out = append(out, e)
			}
		}
	}
	for _, n := range append([]*engine.Node{p.Start}, p.Nodes...) {
		add(n.Name, draw.StaticEdge, n.Edges)
		for _, b := range n.Branches {
			add(n.Name, draw.BranchEdge, b.Targets)
		}
		add(n.Name, draw.DestinationEdge, n.Destinations)
	}
	for i, j := range slices.Concat(p.Joins, endJoins) {
		for _, from := range j.Sources {
			out = append(out, draw.Edge{From: from, To: j.Target, Kind: draw.JoinEdge, Join: i + 1})
		}
	}
	return out
}
