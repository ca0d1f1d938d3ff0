package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Repair makes a thread usable again some of whose rows are damaged: it removes the
// checkpoints that a Get answers with [checkpoint.ErrCorrupt], which are the damaged
// ones and those that build on them, so that a run goes on from the last sound one. It
// returns how many went, none where nothing is damaged. It reads all that the thread
// has, and can not tell a value that was exchanged for a sound one; encryption does.
//
// A thread of which nothing can be read stays as it is, and is an ErrCorrupt. So does
// one with values of an unknown format, which are perhaps of a newer version of this
// package, and is a [checkpoint.ErrFormat].
func (s *Store) Repair(ctx context.Context, thread string) (removed int, err error) {
	k := checkpoint.Key{Thread: thread}
	if err = checkKey(k); err == nil {
		removed, err = s.remove(ctx, thread, removal{batch: maxBatch, look: s.markDamaged})
	}
	if err != nil {
		return 0, s.fail("repair", k, err)
	}
	return removed, nil
}

// allQuery takes the key of the thread.
const allQuery = `SELECT ` + rowColumns + `,
	ARRAY(SELECT w.task FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.number FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.data FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	s.base, s.snapshot, s.changes
	FROM weft.cp_step s ` + rowJoins + ` WHERE s.thread = $1::bigint ORDER BY s.seq`

// markDamaged marks what is damaged, or builds on what is. Nodes are in the order of
// allQuery, in which parents come first.
func (s *Store) markDamaged(ctx context.Context, tx *link, key int64, nodes []node) error {
	index, sound := make(map[int32]*node, len(nodes)), 0
	for i := range nodes {
		index[nodes[i].seq] = &nodes[i]
	}
	err := tx.query(ctx, s.sql(allQuery), []any{key}, func(rows pgx.Rows) error {
		var r row
		var p part
		fields := append(r.fields(), r.writeFields()...)
		if err := rows.Scan(append(fields, &p.base, &p.snapshot, &p.changes)...); err != nil {
			return err
		}
		n := index[r.seq]
		if n == nil {
			return nil // it has no origin, and whatever builds on it no parent
		}
		err := checkStored(&r, &p)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) {
			return err
		}
		parent := index[n.parent]
		n.remove = err != nil || !n.whole && n.parent != 0 && (parent == nil || parent.remove)
		if !n.remove {
			sound++
		}
		return nil
	})
	if err == nil && sound == 0 && len(nodes) > 0 {
		err = fmt.Errorf("none of its %d checkpoints can be read: %w", len(nodes), checkpoint.ErrCorrupt)
	}
	return err
}

// checkStored says what is wrong with what a row holds.
func checkStored(r *row, p *part) error {
	if _, err := r.checkpoint(); err != nil {
		return err
	}
	if _, err := unpackChanges(p.changes); err != nil {
		return err
	}
	if p.snapshot != nil {
		if _, err := unpackChanges(p.snapshot); err != nil {
			return err
		}
	}
	if p.base != nil {
		if _, err := unpackDeltas(p.base); err != nil {
			return err
		}
	}
	return nil
}
