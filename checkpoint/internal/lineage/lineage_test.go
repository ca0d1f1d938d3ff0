package lineage_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/checkpoint/internal/lineage"
)

func TestRebases(t *testing.T) {
	t.Parallel()
	keep := func(parent int) lineage.Node { return lineage.Node{Parent: parent} }
	gone := func(parent int) lineage.Node { return lineage.Node{Parent: parent, Remove: true} }
	whole := func(n lineage.Node) lineage.Node { n.Whole = true; return n }
	tests := []struct {
		name  string
		nodes []lineage.Node
		want  []lineage.Rebase
	}{
		{"nothing", nil, nil},
		{"nothing goes", []lineage.Node{keep(-1), keep(0)}, nil},
		{"leaf goes", []lineage.Node{keep(-1), gone(0)}, nil},
		{"all but the last", []lineage.Node{gone(-1), gone(0), keep(1)}, []lineage.Rebase{{Node: 2, Parent: -1, Through: []int{0, 1}}}},
		{"middle", []lineage.Node{keep(-1), gone(0), gone(1), keep(2), keep(3)}, []lineage.Rebase{{Node: 3, Parent: 0, Through: []int{1, 2}}}},
		{"two children", []lineage.Node{keep(-1), gone(0), keep(1), keep(1)}, []lineage.Rebase{
			{Node: 2, Parent: 0, Through: []int{1}}, {Node: 3, Parent: 0, Through: []int{1}},
		}},
		{"whole on the way", []lineage.Node{keep(-1), gone(0), whole(gone(1)), gone(2), keep(3)}, []lineage.Rebase{{Node: 4, Parent: 0, Through: []int{2, 3}}}},
		{"whole itself", []lineage.Node{keep(-1), gone(0), whole(keep(1))}, []lineage.Rebase{{Node: 2, Parent: 0}}},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, lineage.Rebases(tt.nodes), tt.name)
	}
}

// Removing random checkpoints in several rounds does not change the lineages of the kept
// checkpoints.
func TestRebasesKeepLineages(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		tree := growTree(r, 40)
		want := map[int][]int{}
		for _, n := range tree {
			want[n.id] = tree.lineage(n.id)
		}
		for range 4 {
			tree = tree.cut(func() bool { return r.IntN(3) == 0 })
			for _, n := range tree {
				require.Equal(t, want[n.id], tree.lineage(n.id))
			}
		}
	}
}

// A node is a checkpoint whose delta is its id.
type node struct {
	id       int
	parent   int // index in the tree
	snapshot bool
	base     []int
	baseFull bool
}

type tree []node

func growTree(r *rand.Rand, n int) tree {
	var t tree
	for id := range n {
		t = append(t, node{id: id, parent: r.IntN(id+1) - 1, snapshot: r.IntN(6) == 0})
	}
	return t
}

func (t tree) lineage(id int) []int {
	var newestFirst []int
	i := slices.IndexFunc(t, func(n node) bool { return n.id == id })
	for ; i >= 0; i = t[i].parent {
		newestFirst = append(newestFirst, t[i].id)
		if t[i].snapshot {
			break
		}
		for _, b := range slices.Backward(t[i].base) {
			newestFirst = append(newestFirst, b)
		}
		if t[i].baseFull {
			break
		}
	}
	slices.Reverse(newestFirst)
	return newestFirst
}

func (t tree) cut(remove func() bool) tree {
	nodes := make([]lineage.Node, len(t))
	for i, n := range t {
		nodes[i] = lineage.Node{Parent: n.parent, Whole: n.snapshot || n.baseFull, Remove: remove()}
	}
	next := slices.Clone(t)
	for _, g := range lineage.Rebases(nodes) {
		n := &next[g.Node]
		n.parent = g.Parent
		if len(g.Through) == 0 {
			continue
		}
		var base []int
		for _, i := range g.Through {
			if !t[i].snapshot {
				base = append(base, t[i].base...)
			}
			base = append(base, t[i].id)
		}
		n.base = append(base, n.base...)
		n.baseFull = nodes[g.Through[0]].Whole
	}
	moved := make([]int, len(t))
	var kept tree
	for i, n := range next {
		if nodes[i].Remove {
			continue
		}
		if n.parent >= 0 {
			n.parent = moved[n.parent]
		}
		moved[i] = len(kept)
		kept = append(kept, n)
	}
	return kept
}
