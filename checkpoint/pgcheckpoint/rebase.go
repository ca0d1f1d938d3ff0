package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/internal/lineage"
)

// rebase updates the kept checkpoints whose parents are removed. The parent of each becomes
// the nearest kept ancestor. Each also gets a base with the deltas of the removed ancestors
// that its lineage needs.
func (s *Store) rebase(ctx context.Context, tx *link, key int64, nodes []node) error {
	index := make(map[int32]int, len(nodes))
	tree := make([]lineage.Node, len(nodes))
	for i, n := range nodes {
		index[n.seq] = i
		parent := -1
		if n.parent != 0 {
			at, ok := index[n.parent]
			if !ok || at >= i {
				return fmt.Errorf("the parent of a checkpoint is missing or is not older: %w", checkpoint.ErrCorrupt)
			}
			parent = at
		}
		tree[i] = lineage.Node{Parent: parent, Whole: n.whole, Remove: n.remove}
	}
	for _, r := range lineage.Rebases(tree) {
		if err := s.rebaseOne(ctx, tx, key, rebasing{nodes: nodes, rebase: r}); err != nil {
			return err
		}
	}
	return nil
}

// A rebasing is a rebase with the nodes that its indexes refer to.
type rebasing struct {
	nodes  []node
	rebase lineage.Rebase
}

// seqs returns the numbers of the removed ancestors whose deltas become the base.
func (r *rebasing) seqs() []int32 {
	list := make([]int32, 0, len(r.rebase.Through))
	for _, i := range r.rebase.Through {
		list = append(list, r.nodes[i].seq)
	}
	return list
}

// parent returns the number of the new parent, or 0 if there is none.
func (r *rebasing) parent() int32 {
	if r.rebase.Parent < 0 {
		return 0
	}
	return r.nodes[r.rebase.Parent].seq
}

const (
	// rebaseQuery has the parameters key of the thread, number of the checkpoint, and
	// number of its new parent.
	rebaseQuery = `SELECT s.id, s.name, p.id, p.name, s.step, s.source, s.control, s.base,
		coalesce(v.name, ''), o.digest, n.id, n.name
	FROM weft.cp_step s
	LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = s.thread AND p.seq = s.parent
	LEFT JOIN weft.cp_step n ON n.thread = s.thread AND n.seq = $3::int
	LEFT JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = s.thread AND v.key = s.space
	WHERE s.thread = $1::bigint AND s.seq = $2::int`

	// partsQuery has two parameters, the key of the thread and the numbers of checkpoints.
	partsQuery = `SELECT seq, id, name, source, whole, base, snapshot, CASE WHEN snapshot IS NULL THEN changes END
	FROM weft.cp_step WHERE thread = $1::bigint AND seq = ANY ($2::int[]) ORDER BY seq`

	updateRebased = `UPDATE weft.cp_step SET parent = $3::int, control = $4::bytea, base = $5::bytea, whole = $6::boolean
	WHERE thread = $1::bigint AND seq = $2::int`
)

func (s *Store) rebaseOne(ctx context.Context, tx *link, key int64, r rebasing) error {
	own := &r.nodes[r.rebase.Node]
	var self, oldParent, newParent id
	var step int64
	var h header
	var control, base []byte
	err := tx.query(ctx, s.sql(rebaseQuery), []any{key, own.seq, r.parent()}, func(rows pgx.Rows) error {
		return rows.Scan(&self.uuid, &self.name, &oldParent.uuid, &oldParent.name, &step, &h.source, &control, &base,
			&h.namespace, &h.digest, &newParent.uuid, &newParent.name)
	})
	if err != nil {
		return err
	}
	h.step = int(step)
	if h.id, err = self.text(); err != nil {
		return err
	}
	if h.parent, err = oldParent.text(); err != nil {
		return err
	}
	before := h.parent
	if own.whole {
		before = ""
	}
	untie(base, valueSum(tiedBase, h.id, h.source, before))
	if control, err = h.openControl(control); err != nil {
		return err
	}
	if h.parent, err = newParent.text(); err != nil {
		return err
	}
	whole := own.whole
	if len(r.rebase.Through) > 0 {
		if base, whole, err = s.newBase(ctx, tx, key, r.seqs(), h.parent, base); err != nil {
			return err
		}
	}
	if base != nil {
		before = h.parent
		if whole {
			before = ""
		}
		base = tie(base, valueSum(tiedBase, h.id, h.source, before))
	}
	args := []any{key, own.seq, r.parent(), h.sealControl(control), base, whole}
	return tx.query(ctx, s.sql(updateRebased), args, ignoreRow)
}

// newBase returns a base of the deltas of removed ancestors, followed by the deltas of the
// old base. The result whole reports whether a lineage can start with the new base.
func (s *Store) newBase(
	ctx context.Context, tx *link, key int64, through []int32, parent string, base []byte,
) (_ []byte, whole bool, err error) {
	var deltas []checkpoint.Delta
	err = tx.query(ctx, s.sql(partsQuery), []any{key, through}, func(rows pgx.Rows) error {
		var p part
		if err := rows.Scan(p.fields()...); err != nil {
			return err
		}
		before := lastID(deltas)
		if len(deltas) == 0 && !p.whole {
			before = parent
		}
		deltas, err = p.appendTo(deltas, before)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if base != nil {
		own, err := unpackDeltas(base)
		if err != nil {
			return nil, false, err
		}
		deltas = append(deltas, own...)
	}
	return packDeltas(deltas), deltas[0].Snapshot, nil
}
