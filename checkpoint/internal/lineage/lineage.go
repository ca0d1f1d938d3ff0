// Package lineage works out what removing checkpoints does to those that stay,
// for the stores that can prune.
package lineage

// A Node is what is known of a checkpoint. Nodes are given in the order in
// which the store accepted them, so that a parent comes before its children.
type Node struct {
	// Parent is the index of the parent, negative for none.
	Parent int
	// Whole says that a lineage can start here: the checkpoint has a snapshot,
	// or it has a base which begins with one.
	Whole bool
	// Remove says that the checkpoint goes.
	Remove bool
}

// A Graft is what a checkpoint that stays needs because its parent goes.
type Graft struct {
	// Node is the index of the checkpoint that stays.
	Node int
	// Parent is the index of its new parent, the nearest ancestor that stays,
	// negative for none.
	Parent int
	// Through are the removed ancestors whose part of the lineage has to be
	// kept as the checkpoint's base, oldest first. Each stands for its own
	// base, if it has one and no snapshot, followed by its own delta. When
	// the oldest is Whole, the lineage starts with it; else it goes on with
	// the lineage of Parent. A checkpoint with a snapshot needs none.
	Through []int
}

// Grafts returns what has to be stored for the checkpoints that stay, in
// their order. They apply to the nodes as they were: a base which the node has
// already stays, behind what Through adds, unless that base begins with a
// snapshot.
func Grafts(nodes []Node) []Graft {
	var grafts []Graft
	for i, n := range nodes {
		if n.Remove || n.Parent < 0 || !nodes[n.Parent].Remove {
			continue
		}
		grafts = append(grafts, graft(nodes, i))
	}
	return grafts
}

func graft(nodes []Node, i int) Graft {
	g := Graft{Node: i}
	// A node that is whole starts its own lineage: it needs a parent only.
	needed := !nodes[i].Whole
	p := nodes[i].Parent
	for ; p >= 0 && nodes[p].Remove; p = nodes[p].Parent {
		if !needed {
			continue
		}
		g.Through = append(g.Through, p)
		needed = !nodes[p].Whole
	}
	g.Parent = max(p, -1)
	for a, b := 0, len(g.Through)-1; a < b; a, b = a+1, b-1 {
		g.Through[a], g.Through[b] = g.Through[b], g.Through[a]
	}
	return g
}
