package graph

import (
	"fmt"
	"strings"
)

// Mermaid draws the graph as a Mermaid flowchart, which Markdown viewers show.
// Solid arrows are edges, dotted ones are chosen at run time, thick ones wait
// for one another. Subgraphs are drawn as boxes, deferred nodes with a double
// frame, nodes with a pause as hexagons.
func (g *Graph) Mermaid() string {
	m := &mermaid{}
	m.line(0, "flowchart TD")
	m.graph(g.Describe(), "", 1)
	return m.String()
}

type mermaid struct{ strings.Builder }

func (m *mermaid) line(depth int, format string, args ...any) {
	m.WriteString(strings.Repeat("  ", depth))
	m.WriteString(fmt.Sprintf(format, args...))
	m.WriteByte('\n')
}

func (m *mermaid) graph(d Description, prefix string, depth int) {
	m.line(depth, "%s((start))", drawID(prefix, Start))
	for _, n := range d.Nodes {
		m.node(n, prefix, depth)
	}
	if leadsToEnd(d) {
		m.line(depth, "%s((end))", drawID(prefix, End))
	}
	for _, e := range d.Edges {
		if e.From == Start && e.Kind == RouteEdge {
			continue // a caller's own way in
		}
		arrow := map[EdgeKind]string{StaticEdge: "-->", BranchEdge: "-.->", RouteEdge: "-.->", JoinEdge: "==>"}[e.Kind]
		m.line(depth, "%s %s %s", drawID(prefix, e.From), arrow, drawID(prefix, e.To))
	}
}

func (m *mermaid) node(n NodeDescription, prefix string, depth int) {
	id, label := drawID(prefix, n.Name), `"`+strings.NewReplacer("#", "#35;", ";", "#59;").Replace(n.Name)+`"`
	switch {
	case n.Subgraph != nil:
		m.line(depth, "subgraph %s [%s]", id, label)
		m.graph(*n.Subgraph, prefix+n.Name+"/", depth+1)
		m.line(depth, "end")
	case n.Deferred:
		m.line(depth, "%s[[%s]]", id, label)
	case n.PauseBefore || n.PauseAfter:
		m.line(depth, "%s{{%s}}", id, label)
	default:
		m.line(depth, "%s[%s]", id, label)
	}
}

// leadsToEnd reports whether End is worth drawing.
func leadsToEnd(d Description) bool {
	for _, e := range d.Edges {
		if e.To == End {
			return true
		}
	}
	return false
}

// drawID makes a name that both languages take as an identifier, and that no
// other name has.
func drawID(prefix, name string) string {
	var b strings.Builder
	b.WriteString("n_")
	for _, r := range prefix + name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	return b.String()
}

// DOT draws the graph in the language of Graphviz, in the style of
// [Graph.Mermaid].
func (g *Graph) DOT() string {
	d := &dot{}
	d.line(0, "digraph %s {", drawID("", g.name))
	d.line(1, "node [shape=box, style=rounded];")
	d.graph(g.Describe(), "", 1)
	d.line(0, "}")
	return d.String()
}

type dot struct{ mermaid }

func (d *dot) graph(desc Description, prefix string, depth int) {
	d.line(depth, "%s [label=start, shape=circle];", drawID(prefix, Start))
	for _, n := range desc.Nodes {
		d.node(n, prefix, depth)
	}
	if leadsToEnd(desc) {
		d.line(depth, "%s [label=end, shape=doublecircle];", drawID(prefix, End))
	}
	subs := map[string]bool{}
	for _, n := range desc.Nodes {
		subs[n.Name] = n.Subgraph != nil
	}
	for _, e := range desc.Edges {
		if e.From == Start && e.Kind == RouteEdge {
			continue
		}
		style := map[EdgeKind]string{StaticEdge: "solid", BranchEdge: "dashed", RouteEdge: "dashed", JoinEdge: "bold"}[e.Kind]
		from, to, attrs := drawID(prefix, e.From), drawID(prefix, e.To), "style="+style
		if subs[e.From] {
			attrs += ", ltail=cluster_" + from
			from = drawID(prefix+e.From+"/", Start)
		}
		if subs[e.To] {
			attrs += ", lhead=cluster_" + to
			to = drawID(prefix+e.To+"/", Start)
		}
		d.line(depth, "%s -> %s [%s];", from, to, attrs)
	}
}

func (d *dot) node(n NodeDescription, prefix string, depth int) {
	id, label := drawID(prefix, n.Name), fmt.Sprintf("%q", n.Name)
	switch {
	case n.Subgraph != nil:
		d.line(depth, "compound=true;")
		d.line(depth, "subgraph cluster_%s {", id)
		d.line(depth+1, "label=%s;", label)
		d.graph(*n.Subgraph, prefix+n.Name+"/", depth+1)
		d.line(depth, "}")
	case n.Deferred:
		d.line(depth, "%s [label=%s, peripheries=2];", id, label)
	case n.PauseBefore || n.PauseAfter:
		d.line(depth, "%s [label=%s, shape=hexagon];", id, label)
	default:
		d.line(depth, "%s [label=%s];", id, label)
	}
}
