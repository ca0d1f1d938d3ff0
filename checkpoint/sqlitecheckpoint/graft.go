package sqlitecheckpoint

import (
	"fmt"
	"slices"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/internal/lineage"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	// graftQuery takes the key.
	graftQuery  = `SELECT ` + rowColumns + `, s.base FROM cp_step s ` + joinParent + `WHERE s.key = ?`
	updateGraft = `UPDATE cp_step SET parent = ?, control = ?, base = ?, whole = ? WHERE key = ?`
	idQuery     = `SELECT id FROM cp_step WHERE key = ?`
)

// graft gives those that stay what they need of those that go.
func graft(w *sqlitedb.Session, nodes []node) error {
	index := make(map[int64]int, len(nodes))
	tree := make([]lineage.Node, len(nodes))
	for i, n := range nodes {
		index[n.key] = i
		parent := -1
		if n.parent != 0 {
			at, ok := index[n.parent]
			if !ok {
				return fmt.Errorf("a parent is missing: %w", checkpoint.ErrCorrupt)
			}
			parent = at
		}
		tree[i] = lineage.Node{Parent: parent, Whole: n.whole, Remove: n.remove}
	}
	for _, g := range lineage.Grafts(tree) {
		if err := graftOne(w, nodes, g); err != nil {
			return err
		}
	}
	return nil
}

func graftOne(w *sqlitedb.Session, nodes []node, g lineage.Graft) error {
	n := nodes[g.Node]
	var r *row
	var base []byte
	err := w.Each(graftQuery, []any{n.key}, func(scan func(...any) error) (more bool, err error) {
		r, err = scanRow(scan, &base)
		return false, err
	})
	if err != nil {
		return err
	}
	h := header{id: r.c.ID, step: r.c.Step, source: r.c.Source, time: n.time}
	parent := int64(0)
	if g.Parent >= 0 {
		parent = nodes[g.Parent].key
		var id any
		if _, err := w.One(idQuery, []any{parent}, &id); err != nil {
			return err
		}
		if h.parent, err = unpackID(id); err != nil {
			return err
		}
	}
	whole := n.whole
	if len(g.Through) > 0 {
		if base, whole, err = graftBase(w, nodes, g.Through, base); err != nil {
			return err
		}
	}
	_, err = w.Exec(updateGraft, parentBack(n.key, parent), appendControl(nil, &h, r.c.Control), base, whole, n.key)
	return err
}

// graftBase puts what the removed ancestors add to a lineage before a base.
func graftBase(w *sqlitedb.Session, nodes []node, through []int, base []byte) (_ []byte, whole bool, err error) {
	var deltas []checkpoint.Delta // newest first
	if base != nil {
		if deltas, err = checkpoint.ParseDeltas(base); err != nil {
			return nil, false, err
		}
		slices.Reverse(deltas)
	}
	var room []byte
	for _, i := range slices.Backward(through) {
		err := w.Each(partQuery, []any{nodes[i].key}, func(scan func(...any) error) (bool, error) {
			p, err := scanPart(scan, &room)
			if err != nil {
				return false, err
			}
			deltas, err = p.appendNewest(deltas)
			return false, err
		})
		if err != nil {
			return nil, false, err
		}
	}
	slices.Reverse(deltas)
	return checkpoint.AppendDeltas(nil, deltas), deltas[0].Snapshot, nil
}
