package draw_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/graph/draw"
)

var (
	mermaidNode = regexp.MustCompile(`(?m)^  ([^ ]+?)\["(.*)"\]$`)
	dotNode     = regexp.MustCompile(`(?m)^  ([^ ]+) \[label="(.*)"\];$`)
	identifier  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// TestIdentifiers proves that a node whose name is a free identifier is drawn under its name,
// and that each other node has a valid identifier that no other node has.
func TestIdentifiers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ names, ids []string }{
		"plain names":                 {[]string{"plan", "Act2", "_x"}, []string{"plan", "Act2", "_x"}},
		"space and punctuation":       {[]string{"end game", "a.b", "s-1"}, []string{"end_game", "a_b", "s_1"}},
		"only punctuation differs":    {[]string{"a b", "a-b", "a_b"}, []string{"a_b", "a_b_2", "a_b_3"}},
		"a number is already in use":  {[]string{"a_2", "a-2", "a", "a_2_2"}, []string{"a_2", "a_2_2", "a", "a_2_2_2"}},
		"digits first":                {[]string{"1", "2nd"}, []string{"n_1", "n_2nd"}},
		"reserved words":              {[]string{"end", "graph", "subgraph", "style"}, []string{"n_end", "n_graph", "n_subgraph", "n_style"}},
		"reserved words of any case":  {[]string{"End", "GRAPH", "classDef"}, []string{"n_End", "n_GRAPH", "n_classDef"}},
		"a node called like a prefix": {[]string{"end", "n_end"}, []string{"n_end", "n_end_2"}},
		"letters outside ASCII":       {[]string{"prüfen", "東京"}, []string{"pr_fen", "__"}},
		"a label of the drawing":      {[]string{"start"}, []string{"n_start"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := draw.Graph{Name: "g"}
			for _, n := range c.names {
				g.Nodes = append(g.Nodes, draw.Node{Name: n})
			}
			for language, found := range map[string][][]string{
				"Mermaid": mermaidNode.FindAllStringSubmatch(draw.Mermaid(g), -1),
				"DOT":     dotNode.FindAllStringSubmatch(draw.DOT(g), -1),
			} {
				var ids, labels []string
				for _, m := range found {
					assert.Regexp(t, identifier, m[1], language)
					ids, labels = append(ids, m[1]), append(labels, m[2])
				}
				assert.Equal(t, c.ids, ids, language)
				assert.Equal(t, c.names, labels, language)
			}
		})
	}
}

// TestIdentifiersOfSubgraphs proves that the nodes of a subgraph and of its parent have
// different identifiers, and that each edge uses the identifiers of its graph.
func TestIdentifiersOfSubgraphs(t *testing.T) {
	t.Parallel()
	inner := draw.Graph{
		Name:  "inner",
		Nodes: []draw.Node{{Name: "end"}, {Name: "check"}},
		Edges: []draw.Edge{{From: "check", To: "end", Kind: draw.StaticEdge}},
	}
	g := draw.Graph{
		Name:  "outer",
		Nodes: []draw.Node{{Name: "sub", Subgraph: &inner}, {Name: "sub_check"}, {Name: "end"}},
		Edges: []draw.Edge{{From: "sub_check", To: "end", Kind: draw.StaticEdge}, {From: "sub", To: "sub_check", Kind: draw.StaticEdge}},
	}
	mermaid := draw.Mermaid(g)
	for _, line := range []string{
		`subgraph sub ["sub"]`, `sub_check["check"]`, `sub_end["end"]`, "sub_check --> sub_end",
		`sub_check_2["sub_check"]`, `n_end["end"]`, "sub_check_2 --> n_end", "sub --> sub_check_2",
	} {
		require.Contains(t, mermaid, line+"\n")
	}
	dot := draw.DOT(g)
	for _, line := range []string{
		"subgraph cluster_sub {", `sub_check [label="check"];`, "sub_check -> sub_end [style=solid];",
		`sub_check_2 [label="sub_check"];`, "sub_check_2 -> n_end [style=solid];",
		"sub___start__ -> sub_check_2 [style=solid, ltail=cluster_sub];",
	} {
		require.Contains(t, dot, line+"\n")
	}
}

// TestLabelsAreEscaped proves that characters with a meaning in a drawing's language
// are escaped in labels.
func TestLabelsAreEscaped(t *testing.T) {
	t.Parallel()
	g := draw.Graph{Name: `a "graph"`, Nodes: []draw.Node{{Name: "s;2#"}}}
	require.Contains(t, draw.Mermaid(g), `["s#59;2#35;"]`)
	require.Contains(t, draw.DOT(g), `digraph "a \"graph\"" {`)
}

// TestKindsOfNodesAndEdges proves the shape of each kind of node and the arrow of each kind of
// edge, and that the end is not drawn if no edge leads to it.
func TestKindsOfNodesAndEdges(t *testing.T) {
	t.Parallel()
	g := draw.Graph{
		Name:  "g",
		Nodes: []draw.Node{{Name: "a"}, {Name: "b", Deferred: true}, {Name: "c", PauseBefore: true}, {Name: "d", PauseAfter: true}},
		Edges: []draw.Edge{
			{From: "__start__", To: "a", Kind: draw.StaticEdge},
			{From: "__start__", To: "b", Kind: draw.DestinationEdge},
			{From: "a", To: "b", Kind: draw.BranchEdge},
			{From: "a", To: "c", Kind: draw.DestinationEdge},
			{From: "b", To: "d", Kind: draw.JoinEdge, Join: 1},
		},
	}
	const mermaid = `flowchart TD
  __start__((start))
  a["a"]
  b[["b"]]
  c{{"c"}}
  d{{"d"}}
  __start__ --> a
  a -.-> b
  a -.-> c
  b ==> d
`
	const dot = `digraph "g" {
  compound=true;
  node [shape=box, style=rounded];
  __start__ [label=start, shape=circle];
  a [label="a"];
  b [label="b", peripheries=2];
  c [label="c", shape=hexagon];
  d [label="d", shape=hexagon];
  __start__ -> a [style=solid];
  a -> b [style=dashed];
  a -> c [style=dashed];
  b -> d [style=bold];
}
`
	assert.Equal(t, mermaid, draw.Mermaid(g))
	assert.Equal(t, dot, draw.DOT(g))
	g.Edges = append(g.Edges, draw.Edge{From: "d", To: "__end__", Kind: draw.StaticEdge})
	assert.Contains(t, draw.Mermaid(g), "  __end__((end))\n")
	assert.Contains(t, draw.DOT(g), "  __end__ [label=end, shape=doublecircle];\n")
}
