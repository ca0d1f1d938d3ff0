package draw

import "strings"

// Mermaid draws a graph as a Mermaid flowchart. Solid arrows are edges, dotted arrows
// are branches and destinations, and thick arrows are joins. Subgraphs are boxes.
// Deferred nodes have a double frame. Nodes with a static pause are hexagons.
func Mermaid(g Graph) string {
	m := mermaid{newPainter()}
	m.line(0, "flowchart TD")
	m.graph(&g, "", 1)
	return m.String()
}

type mermaid struct{ *painter }

func (m mermaid) graph(g *Graph, prefix string, depth int) {
	m.line(depth, "%s((start))", m.id(prefix, start))
	for i := range g.Nodes {
		m.node(&g.Nodes[i], prefix, depth)
	}
	if g.leadsToEnd() {
		m.line(depth, "%s((end))", m.id(prefix, end))
	}
	for _, e := range g.drawn() {
		arrow := map[EdgeKind]string{StaticEdge: "-->", BranchEdge: "-.->", DestinationEdge: "-.->", JoinEdge: "==>"}[e.Kind]
		m.line(depth, "%s %s %s", m.id(prefix, e.From), arrow, m.id(prefix, e.To))
	}
}

func (m mermaid) node(n *Node, prefix string, depth int) {
	id, label := m.id(prefix, n.Name), `"`+strings.NewReplacer("#", "#35;", ";", "#59;").Replace(n.Name)+`"`
	switch {
	case n.Subgraph != nil:
		m.line(depth, "subgraph %s [%s]", id, label)
		m.graph(n.Subgraph, prefix+n.Name+"/", depth+1)
		m.line(depth, "end")
	case n.Deferred:
		m.line(depth, "%s[[%s]]", id, label)
	case n.PauseBefore || n.PauseAfter:
		m.line(depth, "%s{{%s}}", id, label)
	default:
		m.line(depth, "%s[%s]", id, label)
	}
}
