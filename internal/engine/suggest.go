package engine

import "github.com/weft-go/weft/internal/suggest"

// suggestNode returns "; did you mean ...?" if a node has a name similar to name.
func suggestNode(p *Plan, name string) string {
	names := make([]string, 0, len(p.Nodes))
	for _, n := range p.Nodes {
		names = append(names, n.Name)
	}
	return suggest.For(name, names)
}
