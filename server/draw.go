package server

import (
	"slices"

	"github.com/weft-go/weft/graph"
	"github.com/weft-go/weft/graph/draw"
)

// A drawing is a graph as clients draw it.
type drawing struct {
	Nodes []drawnNode `json:"nodes"`
	Edges []drawnEdge `json:"edges"`
}

type drawnNode struct {
	ID   string            `json:"id"`
	Type string            `json:"type,omitempty"`
	Data map[string]string `json:"data,omitempty"`
}

type drawnEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Conditional bool   `json:"conditional,omitempty"`
}

// drawGraph draws a graph. If deep is set, it draws the nodes of a subgraph in place of the node that runs the subgraph.
func drawGraph(g draw.Graph, deep bool) drawing {
	d := drawing{Nodes: []drawnNode{newDrawnNode(graph.Start)}, Edges: []drawnEdge{}}
	for _, n := range g.Nodes {
		if deep && n.Subgraph != nil {
			d.addSubgraph(n)
			continue
		}
		d.Nodes = append(d.Nodes, newDrawnNode(n.Name))
	}
	for _, e := range g.Edges {
		d.addEdge(g, e, deep)
	}
	for _, n := range g.Nodes { // a node without an edge after it is an end of the graph
		if !slices.ContainsFunc(g.Edges, func(e draw.Edge) bool { return e.From == n.Name }) {
			d.addEdge(g, draw.Edge{From: n.Name, To: graph.End, Kind: draw.StaticEdge}, deep)
		}
	}
	d.Nodes = append(d.Nodes, drawnNode{ID: graph.End})
	return d
}

func newDrawnNode(name string) drawnNode {
	return drawnNode{ID: name, Type: "runnable", Data: map[string]string{"name": name}}
}

func (d *drawing) addSubgraph(n draw.Node) {
	inner := drawGraph(*n.Subgraph, true)
	for _, in := range inner.Nodes {
		in.ID = n.Name + ":" + in.ID
		if in.Type == "" {
			in = newDrawnNode(in.ID)
		}
		d.Nodes = append(d.Nodes, in)
	}
	for _, e := range inner.Edges {
		e.Source, e.Target = n.Name+":"+e.Source, n.Name+":"+e.Target
		d.Edges = append(d.Edges, e)
	}
}

func (d *drawing) addEdge(g draw.Graph, e draw.Edge, deep bool) {
	out := drawnEdge{Source: e.From, Target: e.To, Conditional: e.Kind == draw.BranchEdge || e.Kind == draw.DestinationEdge}
	if deep {
		if isSubgraph(g, e.From) {
			out.Source = e.From + ":" + graph.End
		}
		if isSubgraph(g, e.To) {
			out.Target = e.To + ":" + graph.Start
		}
	}
	if !slices.Contains(d.Edges, out) {
		d.Edges = append(d.Edges, out)
	}
}

func isSubgraph(g draw.Graph, node string) bool {
	return slices.ContainsFunc(g.Nodes, func(n draw.Node) bool { return n.Name == node && n.Subgraph != nil })
}

func (c *call) drawAssistant() error {
	r, err := c.assistantOf(c.action, c.r.PathValue("assistant"))
	if err != nil {
		return err
	}
	x := c.r.URL.Query().Get("xray")
	return c.send(drawGraph(c.s.graphs[r.Graph].draw, x != "" && x != "false" && x != "0"))
}
