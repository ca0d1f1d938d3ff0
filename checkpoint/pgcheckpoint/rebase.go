package pgcheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/checkpoint/internal/lineage"
)

// maxRebased is the number of bytes of removed checkpoints that one statement reads, so that the
// states of many threads need little memory. One checkpoint may need more.
const maxRebased = 8 << 20

// rebase updates the kept checkpoints whose parents are removed. The parent of each becomes
// the nearest kept ancestor. Each also gets a base with the deltas of the removed ancestors
// that its lineage needs.
func (s *Store) rebase(ctx context.Context, tx *link, nodes []node) error {
	index := make(map[place]int, len(nodes))
	tree := make([]lineage.Node, len(nodes))
	for i, n := range nodes {
		index[place{n.thread, n.seq}] = i
		parent := -1
		if n.parent != 0 {
			at, ok := index[place{n.thread, n.parent}]
			if !ok || at >= i {
				return fmt.Errorf("the parent of a checkpoint is missing or is not older: %w", checkpoint.ErrCorrupt)
			}
			parent = at
		}
		tree[i] = lineage.Node{Parent: parent, Whole: n.whole, Remove: n.remove}
	}
	var some []*rebasing
	var size int64
	for _, r := range lineage.Rebases(tree) {
		next := newRebasing(nodes, r)
		if len(some) > 0 && size+next.size > maxRebased {
			if err := s.rebaseSome(ctx, tx, some); err != nil {
				return err
			}
			some, size = some[:0], 0
		}
		some, size = append(some, next), size+next.size
	}
	return s.rebaseSome(ctx, tx, some)
}

// A rebasing is the update of one checkpoint.
type rebasing struct {
	place
	// newParent is the number of its new parent, or 0 if there is none. The header has the id.
	newParent int32
	through   []int32 // the numbers of the removed ancestors whose deltas become its base
	size      int64   // bytes of the values of the checkpoint and of these ancestors

	header  // with the new parent, once it is read
	control []byte
	base    []byte             // not tied
	whole   bool               // see [part]
	deltas  []checkpoint.Delta // of the removed ancestors
}

func newRebasing(nodes []node, r lineage.Rebase) *rebasing {
	n := &nodes[r.Node]
	b := &rebasing{place: place{n.thread, n.seq}, whole: n.whole, size: n.size}
	if r.Parent >= 0 {
		b.newParent = nodes[r.Parent].seq
	}
	for _, i := range r.Through {
		b.through = append(b.through, nodes[i].seq)
		b.size += nodes[i].size
	}
	return b
}

const (
	// rebaseQuery has the parameters keys of threads, numbers of checkpoints, and numbers of their
	// new parents.
	rebaseQuery = `SELECT u.n - 1, s.id, s.name, p.id, p.name, s.step, s.source, s.control, s.base,
		coalesce(v.name, ''), o.digest, n.id, n.name
	FROM unnest($1::bigint[], $2::int[], $3::int[]) WITH ORDINALITY AS u (thread, seq, parent, n)
	JOIN weft.cp_step s ON s.thread = u.thread AND s.seq = u.seq
	LEFT JOIN weft.cp_step p ON s.parent > 0 AND p.thread = s.thread AND p.seq = s.parent
	LEFT JOIN weft.cp_step n ON n.thread = u.thread AND n.seq = u.parent
	LEFT JOIN weft.cp_origin o ON o.thread = s.thread AND o.key = s.origin
	LEFT JOIN weft.cp_space v ON s.space > 0 AND v.thread = s.thread AND v.key = s.space`

	// partsQuery has the parameters indexes of updates, and keys of threads and numbers of
	// checkpoints that they need.
	partsQuery = `SELECT u.n, s.seq, s.id, s.name, s.source, s.whole, s.base, s.snapshot, CASE WHEN s.snapshot IS NULL THEN s.changes END
	FROM unnest($1::int[], $2::bigint[], $3::int[]) AS u (n, thread, seq)
	JOIN weft.cp_step s ON s.thread = u.thread AND s.seq = u.seq ORDER BY u.n, s.seq`

	// updateRebased has the parameters keys of threads, numbers of checkpoints, and the new values
	// of their columns.
	updateRebased = `UPDATE weft.cp_step s SET parent = u.parent, control = u.control, base = u.base, whole = u.whole
	FROM unnest($1::bigint[], $2::int[], $3::int[], $4::bytea[], $5::bytea[], $6::boolean[]) AS u (thread, seq, parent, control, base, whole)
	WHERE s.thread = u.thread AND s.seq = u.seq`
)

// rebaseSome updates checkpoints, of any threads, in three statements.
func (s *Store) rebaseSome(ctx context.Context, tx *link, some []*rebasing) error {
	if len(some) == 0 {
		return nil
	}
	if err := s.readRebased(ctx, tx, some); err != nil {
		return err
	}
	if err := s.readParts(ctx, tx, some); err != nil {
		return err
	}
	var threads []int64
	var seqs, parents []int32
	var controls, bases [][]byte
	var wholes []bool
	for _, r := range some {
		if err := r.newBase(); err != nil {
			return err
		}
		threads, seqs, parents = append(threads, r.thread), append(seqs, r.number), append(parents, r.newParent)
		controls, bases, wholes = append(controls, r.sealControl(r.control)), append(bases, r.base), append(wholes, r.whole)
	}
	return tx.query(ctx, s.sql(updateRebased), []any{threads, seqs, parents, controls, bases, wholes}, ignoreRow)
}

// readRebased reads the rows of checkpoints.
func (s *Store) readRebased(ctx context.Context, tx *link, some []*rebasing) error {
	var threads []int64
	var seqs, parents []int32
	for _, r := range some {
		threads, seqs, parents = append(threads, r.thread), append(seqs, r.number), append(parents, r.newParent)
	}
	return tx.query(ctx, s.sql(rebaseQuery), []any{threads, seqs, parents}, func(rows pgx.Rows) error {
		var n, step int64
		var self, oldParent, newParent id
		var h header
		var control, base []byte
		err := rows.Scan(&n, &self.uuid, &self.name, &oldParent.uuid, &oldParent.name, &step, &h.source, &control, &base,
			&h.namespace, &h.digest, &newParent.uuid, &newParent.name)
		if err != nil {
			return err
		}
		r := some[n]
		h.step = int(step)
		if h.id, err = self.text(); err != nil {
			return err
		}
		if h.parent, err = oldParent.text(); err != nil {
			return err
		}
		untie(base, h.baseSum(r.whole))
		if r.control, err = h.openControl(control); err != nil {
			return err
		}
		h.parent, err = newParent.text()
		r.header, r.base = h, base
		return err
	})
}

// baseSum returns the checksum that ties the base of a checkpoint to its row.
func (h *header) baseSum(whole bool) uint32 {
	before := h.parent
	if whole {
		before = ""
	}
	return valueSum(tiedBase, h.id, h.source, before)
}

// readParts reads the deltas of the removed ancestors of checkpoints.
func (s *Store) readParts(ctx context.Context, tx *link, some []*rebasing) error {
	var indexes, seqs []int32
	var threads []int64
	for i, r := range some {
		for _, seq := range r.through {
			indexes, threads, seqs = append(indexes, int32(i)), append(threads, r.thread), append(seqs, seq)
		}
	}
	if len(seqs) == 0 {
		return nil
	}
	return tx.query(ctx, s.sql(partsQuery), []any{indexes, threads, seqs}, func(rows pgx.Rows) error {
		var n int32
		var p part
		if err := rows.Scan(append([]any{&n}, p.fields()...)...); err != nil {
			return err
		}
		r := some[n]
		before := lastID(r.deltas)
		if len(r.deltas) == 0 && !p.whole {
			before = r.parent
		}
		var err error
		r.deltas, err = p.appendTo(r.deltas, before)
		return err
	})
}

// newBase makes a base of the deltas of the removed ancestors, followed by the deltas of the old
// base.
func (r *rebasing) newBase() error {
	if len(r.through) > 0 {
		deltas := r.deltas
		if r.base != nil {
			own, err := unpackDeltas(r.base)
			if err != nil {
				return err
			}
			deltas = append(deltas, own...)
		}
		r.base, r.whole = packDeltas(deltas), deltas[0].Snapshot
	}
	if r.base != nil {
		r.base = tie(r.base, r.baseSum(r.whole))
	}
	return nil
}
