// Package draw describes graphs as plain data, and draws them as Mermaid flowcharts or
// in DOT, the language of Graphviz.
//
//	fmt.Println(draw.Mermaid(g.Describe())) // or g.Mermaid()
//
// A [Graph] is plain data and can be encoded as JSON. All functions are safe for
// concurrent use.
package draw

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/state"
)

// The names of the two ends of a graph, as edges use them.
const (
	start = "__start__"
	end   = "__end__"
)

// A Graph describes a graph and its subgraphs.
type Graph struct {
	Name     string              `json:"name"`
	Channels []state.Description `json:"channels"`
	Nodes    []Node              `json:"nodes"`
	Edges    []Edge              `json:"edges"`
}

// A Node is a node of a [Graph], other than the start and the end.
type Node struct {
	Name     string `json:"name"`
	Deferred bool   `json:"deferred,omitempty"`
	// PauseBefore and PauseAfter say that every run pauses before or after the node.
	PauseBefore bool `json:"pauseBefore,omitempty"`
	PauseAfter  bool `json:"pauseAfter,omitempty"`
	// Subgraph is the graph that the node runs, or nil. Persist is the name under which
	// the subgraph keeps its private channels between calls.
	Subgraph *Graph `json:"subgraph,omitempty"`
	Persist  string `json:"persist,omitempty"`
}

// An Edge is an edge of a [Graph].
type Edge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
	// Join is the number of the join to which the edge belongs. The edges of a join fire
	// together. It is 0 for an edge that fires alone.
	Join int `json:"join,omitempty"`
}

// An EdgeKind says when an edge fires.
type EdgeKind string

// The kinds of edge.
const (
	StaticEdge      EdgeKind = "edge"        // fires whenever its source completes
	BranchEdge      EdgeKind = "branch"      // fires when a branch chooses its target
	DestinationEdge EdgeKind = "destination" // fires when the node returns Goto or Send
	JoinEdge        EdgeKind = "join"        // fires when every source has completed
)

// A painter writes the lines of a drawing, and gives every node an identifier.
type painter struct {
	strings.Builder
	ids   map[string]string // identifiers by path and name of the node
	taken map[string]bool
}

func newPainter() *painter { return &painter{ids: map[string]string{}, taken: map[string]bool{}} }

func (p *painter) line(depth int, format string, args ...any) {
	p.WriteString(strings.Repeat("  ", depth))
	p.WriteString(fmt.Sprintf(format, args...))
	p.WriteByte('\n')
}

// id returns the identifier of a node: its path and name, with an underscore for each character
// that is not an ASCII letter, a digit or an underscore. If the result begins with a digit or is a
// reserved word, n_ is put before it. If it is taken, it gets a number at its end.
func (p *painter) id(prefix, name string) string {
	key := prefix + name
	if id, ok := p.ids[key]; ok {
		return id
	}
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, key)
	if reserved[strings.ToLower(base)] || base[0] >= '0' && base[0] <= '9' {
		base = "n_" + base
	}
	id := base
	for i := 2; p.taken[id]; i++ {
		id = fmt.Sprintf("%s_%d", base, i)
	}
	p.ids[key], p.taken[id] = id, true
	return id
}

// reserved has the words that cannot be identifiers in Mermaid or DOT.
var reserved = map[string]bool{
	"end": true, "start": true, "graph": true, "digraph": true, "subgraph": true, "node": true, "edge": true, "strict": true,
	"flowchart": true, "style": true, "class": true, "classdef": true, "click": true, "linkstyle": true, "default": true, "direction": true,
}

// leadsToEnd reports whether an edge leads to the end. Otherwise the end is not drawn.
func (g *Graph) leadsToEnd() bool {
	for _, e := range g.Edges {
		if e.To == end {
			return true
		}
	}
	return false
}

// drawn returns the edges to draw. It leaves out the destinations of the start, which
// only a caller can schedule.
func (g *Graph) drawn() []Edge {
	var out []Edge
	for _, e := range g.Edges {
		if e.From != start || e.Kind != DestinationEdge {
			out = append(out, e)
		}
	}
	return out
}
