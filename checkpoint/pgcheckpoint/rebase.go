package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/internal/lineage"
)

// graft gives those that stay what they need of those that go.
func (s *Store) graft(ctx context.Context, tx *link, key int64, nodes []node) error {
	index := make(map[int32]int, len(nodes))
	tree := make([]lineage.Node, len(nodes))
	for i, n := range nodes {
		index[n.seq] = i
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
		if err := s.graftOne(ctx, tx, key, grafting{nodes: nodes, graft: g}); err != nil {
			return err
		}
	}
	return nil
}

// grafting is a graft with the nodes that it is about.
type grafting struct {
	nodes []node
	graft lineage.Graft
}

// seqs returns the numbers of the removed ancestors that are needed.
func (g *grafting) seqs() []int32 {
	list := make([]int32, 0, len(g.graft.Through))
	for _, i := range g.graft.Through {
		list = append(list, g.nodes[i].seq)
	}
	return list
}

// parent returns the number of the new parent, 0 for none.
func (g *grafting) parent() int32 {
	if g.graft.Parent < 0 {
		return 0
	}
	return g.nodes[g.graft.Parent].seq
}

const (
	// graftQuery takes the key of the thread, the number of the checkpoint, and
	// that of its new parent.
	graftQuery = `SELECT s.id, s.name, p.id, p.name, s.step, s.source, s.control, s.base, n.id, n.name
	FROM weft.cp_step s
	LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = s.thread AND p.seq = s.parent
	LEFT JOIN weft.cp_step n ON n.thread = s.thread AND n.seq = $3::int
	WHERE s.thread = $1::bigint AND s.seq = $2::int`

	// partsQuery takes the key of the thread and numbers.
	partsQuery = `SELECT seq, id, name, source, whole, base, snapshot, CASE WHEN snapshot IS NULL THEN changes END
	FROM weft.cp_step WHERE thread = $1::bigint AND seq = ANY ($2::int[]) ORDER BY seq`

	updateGraft = `UPDATE weft.cp_step SET parent = $3::int, control = $4::bytea, base = $5::bytea, whole = $6::boolean
	WHERE thread = $1::bigint AND seq = $2::int`
)

func (s *Store) graftOne(ctx context.Context, tx *link, key int64, g grafting) error {
	own := &g.nodes[g.graft.Node]
	var self, old, parent id
	var step int64
	var source string
	var control, base []byte
	err := tx.query(ctx, s.sql(graftQuery), []any{key, own.seq, g.parent()}, func(rows pgx.Rows) error {
		return rows.Scan(&self.uuid, &self.name, &old.uuid, &old.name, &step, &source, &control, &base, &parent.uuid, &parent.name)
	})
	if err != nil {
		return err
	}
	h := header{step: int(step), source: checkpoint.Source(source)}
	if h.id, err = self.text(); err != nil {
		return err
	}
	if h.parent, err = old.text(); err != nil {
		return err
	}
	if control, err = h.openControl(control); err != nil {
		return err
	}
	if h.parent, err = parent.text(); err != nil {
		return err
	}
	whole := own.whole
	if len(g.graft.Through) > 0 {
		if base, whole, err = s.graftBase(ctx, tx, key, g.seqs(), base); err != nil {
			return err
		}
	}
	args := []any{key, own.seq, g.parent(), h.sealControl(control), base, whole}
	return tx.query(ctx, s.sql(updateGraft), args, ignoreRow)
}

// graftBase puts what the removed ancestors add to a lineage before a base.
func (s *Store) graftBase(ctx context.Context, tx *link, key int64, through []int32, base []byte) (_ []byte, whole bool, err error) {
	var deltas []checkpoint.Delta
	err = tx.query(ctx, s.sql(partsQuery), []any{key, through}, func(rows pgx.Rows) error {
		var p part
		if err := rows.Scan(p.fields()...); err != nil {
			return err
		}
		deltas, err = p.appendTo(deltas)
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
