// Package lineage computes how the removal of checkpoints changes the lineages of the
// checkpoints that are kept. The stores that can prune use it.
package lineage

import "slices"

// A Node is a checkpoint of a thread. Nodes are in the order in which the store
// accepted them, so a parent comes before its children.
type Node struct {
	// Parent is the index of the parent, negative for none.
	Parent int
	// Whole is set when a lineage can start at the checkpoint: it has a snapshot, or a
	// base (the changes of removed ancestors) that begins with a snapshot.
	Whole bool
	// Remove is set when the checkpoint is removed.
	Remove bool
}

// A Rebase is the update of a checkpoint that is kept and whose parent is removed.
type Rebase struct {
	// Node is the index of the checkpoint.
	Node int
	// Parent is the index of its new parent, the nearest ancestor that is kept,
	// negative for none.
	Parent int
	// Through are the indexes of the removed ancestors whose changes the checkpoint needs,
	// oldest first. They become its base: for each ancestor its base, and then its delta.
	// An ancestor with a snapshot adds the snapshot alone.
	//
	// If one of these ancestors is Whole, Through begins with the nearest such ancestor, and
	// the lineage starts there. Otherwise Through has all removed ancestors up to Parent, and
	// the lineage of Parent comes before them. Through is empty if the checkpoint itself is
	// Whole.
	Through []int
}

// Rebases returns the updates of the checkpoints that are kept, in their order. If a
// checkpoint already has a base, that base follows the deltas of Through.
func Rebases(nodes []Node) []Rebase {
	var rebases []Rebase
	for i, n := range nodes {
		if n.Remove || n.Parent < 0 || !nodes[n.Parent].Remove {
			continue
		}
		rebases = append(rebases, rebase(nodes, i))
	}
	return rebases
}

func rebase(nodes []Node, i int) Rebase {
	r := Rebase{Node: i}
	needed := !nodes[i].Whole
	p := nodes[i].Parent
	for ; p >= 0 && nodes[p].Remove; p = nodes[p].Parent {
		if !needed {
			continue
		}
		r.Through = append(r.Through, p)
		needed = !nodes[p].Whole
	}
	r.Parent = max(p, -1)
	slices.Reverse(r.Through)
	return r
}
