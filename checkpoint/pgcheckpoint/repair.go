package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// Repair makes a thread with damaged rows usable again. It removes the checkpoints for
// which Get returns [checkpoint.ErrCorrupt]: the damaged checkpoints and the checkpoints
// that build on them. A run then resumes from the last intact checkpoint. Repair reads the
// whole thread. It returns the number of removed checkpoints.
//
// Repair changes nothing and returns ErrCorrupt if no checkpoint of the thread can be
// read. It changes nothing and returns [checkpoint.ErrFormat] if a value has an unknown
// format, because a newer version of this package may have written it.
func (s *Store) Repair(ctx context.Context, thread string) (removed int, err error) {
	k := checkpoint.Key{Thread: thread}
	if err = checkKey(k); err == nil {
		removed, err = s.remove(ctx, &removal{lock: lockThread, threads: thread, batch: unlimitedBatch, status: true, read: s.markDamaged})
	}
	if err != nil {
		return 0, s.fail("repair", k, err)
	}
	return removed, nil
}

// allQuery has one parameter, the key of the thread.
const allQuery = `SELECT ` + rowColumns + `,
	ARRAY(SELECT w.task FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.number FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	ARRAY(SELECT w.data FROM weft.cp_write w WHERE w.thread = s.thread AND w.seq = s.seq ORDER BY w.task, w.number),
	s.base, s.snapshot, s.changes
	FROM weft.cp_step s ` + rowJoins + ` WHERE s.thread = $1::bigint ORDER BY s.seq`

// forgetHead has one parameter, the key of the thread. Without a recorded head, the next Put
// searches for the newest checkpoint.
const forgetHead = `UPDATE weft.cp_thread SET head = NULL WHERE key = $1::bigint`

// markDamaged marks the checkpoints that are damaged or build on damaged ones. The argument
// nodes has the order of allQuery, in which a parent precedes its children. markDamaged also
// drops the recorded head, which may be damaged.
func (s *Store) markDamaged(ctx context.Context, tx *link, keys []int64, nodes []node) error {
	key := keys[0] // Repair locks one thread
	if err := tx.query(ctx, s.sql(forgetHead), []any{key}, ignoreRow); err != nil {
		return err
	}
	index, intact := make(map[int32]*node, len(nodes)), 0
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
			return nil // nodesQuery omits a checkpoint if the row of its run is missing
		}
		p.whole = n.whole
		err := checkStored(&r, &p)
		if err != nil && !errors.Is(err, checkpoint.ErrCorrupt) {
			return err
		}
		parent := index[n.parent]
		n.remove = err != nil || !n.whole && n.parent != 0 && (parent == nil || parent.remove)
		if !n.remove {
			intact++
		}
		return nil
	})
	if err == nil && intact == 0 && len(nodes) > 0 {
		err = fmt.Errorf("none of the %d checkpoints can be read: %w", len(nodes), checkpoint.ErrCorrupt)
	}
	return err
}

// checkStored returns an error if a value of a row is damaged.
func checkStored(r *row, p *part) error {
	c, err := r.checkpoint()
	if err != nil {
		return err
	}
	p.id, p.source = r.id, r.source
	before := c.Parent
	if p.whole {
		before = ""
	}
	if _, err := p.appendTo(nil, before); err != nil || p.snapshot == nil {
		return err
	}
	untie(p.changes, valueSum(tiedSnapshotChanges, c.ID, p.source, ""))
	_, err = unpackChanges(p.changes)
	return err
}
