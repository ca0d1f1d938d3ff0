package draw

import "fmt"

// DOT draws a graph in the language of Graphviz, in the style of [Mermaid].
func DOT(g Graph) string {
	d := dot{newPainter()}
	d.line(0, "digraph %q {", g.Name)
	d.line(1, "compound=true;")
	d.line(1, "node [shape=box, style=rounded];")
	d.graph(&g, "", 1)
	d.line(0, "}")
	return d.String()
}

type dot struct{ *painter }

func (d dot) graph(g *Graph, prefix string, depth int) {
	d.line(depth, "%s [label=start, shape=circle];", d.id(prefix, start))
	subgraphs := map[string]bool{}
	for i := range g.Nodes {
		d.node(&g.Nodes[i], prefix, depth)
		subgraphs[g.Nodes[i].Name] = g.Nodes[i].Subgraph != nil
	}
	if g.leadsToEnd() {
		d.line(depth, "%s [label=end, shape=doublecircle];", d.id(prefix, end))
	}
	for _, e := range g.drawn() {
		style := map[EdgeKind]string{StaticEdge: "solid", BranchEdge: "dashed", DestinationEdge: "dashed", JoinEdge: "bold"}[e.Kind]
		from, to, attrs := d.id(prefix, e.From), d.id(prefix, e.To), "style="+style
		if subgraphs[e.From] { // draw the arrow from an inner node, and cut it at the box
			attrs += ", ltail=cluster_" + from
			from = d.id(prefix+e.From+"/", start)
		}
		if subgraphs[e.To] {
			attrs += ", lhead=cluster_" + to
			to = d.id(prefix+e.To+"/", start)
		}
		d.line(depth, "%s -> %s [%s];", from, to, attrs)
	}
}

func (d dot) node(n *Node, prefix string, depth int) {
	id, label := d.id(prefix, n.Name), fmt.Sprintf("%q", n.Name)
	switch {
	case n.Subgraph != nil:
		d.line(depth, "subgraph cluster_%s {", id)
		d.line(depth+1, "label=%s;", label)
		d.graph(n.Subgraph, prefix+n.Name+"/", depth+1)
		d.line(depth, "}")
	case n.Deferred:
		d.line(depth, "%s [label=%s, peripheries=2];", id, label)
	case n.PauseBefore || n.PauseAfter:
		d.line(depth, "%s [label=%s, shape=hexagon];", id, label)
	default:
		d.line(depth, "%s [label=%s];", id, label)
	}
}
