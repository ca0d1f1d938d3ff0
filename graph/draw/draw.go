// Package draw describes graphs as plain data, and draws them: as Mermaid, which
// Markdown viewers show, and in the language of Graphviz.
//
//	fmt.Println(draw.Mermaid(g.Describe())) // or g.Mermaid()
//
// A [Graph] is data: print it as JSON, or draw it in another way. All functions are
// safe for concurrent use.
package draw

import (
	"fmt"
	"strings"

	"github.com/weft-go/weft/state"
)

// The names of the two ends of a graph, as they stand in edges.
const (
	start = "__start__"
	end   = "__end__"
)

// A Graph says what a graph consists of, subgraphs included.
type Graph struct {
	Name     string              `json:"name"`
	Channels []state.Description `json:"channels"`
	Nodes    []Node              `json:"nodes"`
	Edges    []Edge              `json:"edges"`
}

// A Node is a node of a [Graph]. The two ends are not among them.
type Node struct {
	Name     string `json:"name"`
	Deferred bool   `json:"deferred,omitempty"`
	// PauseBefore and PauseAfter say that every run stops there.
	PauseBefore bool `json:"pauseBefore,omitempty"`
	PauseAfter  bool `json:"pauseAfter,omitempty"`
	// Subgraph is what the node runs, if that is a graph; Persist is the name under
	// which it keeps its channels from one call to the next.
	Subgraph *Graph `json:"subgraph,omitempty"`
	Persist  string `json:"persist,omitempty"`
}

// An Edge is an edge of a [Graph].
type Edge struct {
	From string   `json:"from"`
	To   string   `json:"to"`
	Kind EdgeKind `json:"kind"`
	// Join says that the edge fires only together with the others of this number. It
	// is 0 for an edge that fires alone.
	Join int `json:"join,omitempty"`
}

// An EdgeKind says when an edge fires.
type EdgeKind string

// The kinds of edge.
const (
	StaticEdge      EdgeKind = "edge"        // always
	BranchEdge      EdgeKind = "branch"      // when a branch chooses it
	DestinationEdge EdgeKind = "destination" // when a node goes or sends there itself
	JoinEdge        EdgeKind = "join"        // when every source has completed
)

// A painter writes the lines of a drawing, and gives every node an identifier.
type painter struct {
	strings.Builder
	ids   map[string]string // by path and name of the node
	taken map[string]bool
}

func newPainter() *painter { return &painter{ids: map[string]string{}, taken: map[string]bool{}} }

func (p *painter) line(depth int, format string, args ...any) {
	p.WriteString(strings.Repeat("  ", depth))
	p.WriteString(fmt.Sprintf(format, args...))
	p.WriteByte('\n')
}

// id returns the identifier of a node: its name, where both languages accept it.
// Other letters become underscores, and a number makes it unique.
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

// reserved are the words that cannot be identifiers in one of the languages.
var reserved = map[string]bool{
	"end": true, "start": true, "graph": true, "digraph": true, "subgraph": true, "node": true, "edge": true, "strict": true,
	"flowchart": true, "style": true, "class": true, "classdef": true, "click": true, "linkstyle": true, "default": true, "direction": true,
}

// leadsToEnd reports whether an edge leads to the end, which is drawn only then.
func (g *Graph) leadsToEnd() bool {
	for _, e := range g.Edges {
		if e.To == end {
			return true
		}
	}
	return false
}

// drawn returns the edges to draw: those that a run can follow by itself.
func (g *Graph) drawn() []Edge {
	var out []Edge
	for _, e := range g.Edges {
		if e.From != start || e.Kind != DestinationEdge {
			out = append(out, e)
		}
	}
	return out
}
