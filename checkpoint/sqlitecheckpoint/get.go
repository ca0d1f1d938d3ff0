package sqlitecheckpoint

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// getQuery takes the key.
const getQuery = `SELECT ` + rowColumns + `, s.whole, s.base, s.changes, s.snapshot FROM cp_step s ` + joinParent + `WHERE s.key = ?`

// Get implements [checkpoint.Store].
func (s *Store) Get(ctx context.Context, k checkpoint.Key) (checkpoint.Checkpoint, error) {
	if k.Thread == "" {
		return checkpoint.Checkpoint{}, fmt.Errorf("sqlitecheckpoint: get: empty thread id: %w", checkpoint.ErrInvalid)
	}
	var c checkpoint.Checkpoint
	err := s.db.Read(ctx, func(q *sqlitedb.Session) (err error) {
		c, err = s.get(ctx, q, &k)
		return err
	})
	if err != nil {
		return checkpoint.Checkpoint{}, s.fail("get", k, err)
	}
	return c, nil
}

// get sets the id in k when it is known.
func (s *Store) get(ctx context.Context, q *sqlitedb.Session, k *checkpoint.Key) (checkpoint.Checkpoint, error) {
	key, err := findKey(q, *k)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	var r *row
	var v values
	err = q.Each(getQuery, []any{key}, func(scan func(...any) error) (more bool, err error) {
		r, err = scanRow(scan, &v.whole, &v.base, &v.changes, &v.snapshot)
		k.ID = cmp.Or(r.c.ID, k.ID)
		return false, err
	})
	if err == nil && r == nil {
		err = checkpoint.ErrCorrupt
	}
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if err := r.complete(q, &s.names, k.Thread); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	if err := fillValues(ctx, q, r, &v); err != nil {
		return checkpoint.Checkpoint{}, err
	}
	r.c.Writes, err = pendingWrites(q, key)
	return r.c, err
}

// values are what history leaves out.
type values struct {
	whole    bool
	base     []byte
	changes  []byte
	snapshot []byte
}

func fillValues(ctx context.Context, q *sqlitedb.Session, r *row, v *values) error {
	p := part{key: r.key, parent: r.parent, id: r.c.ID, source: r.c.Source, whole: v.whole, base: v.base, values: v.changes}
	var err error
	if r.c.Changes, err = checkpoint.ParseChanges(v.changes); err != nil {
		return err
	}
	if v.snapshot != nil {
		p.snapshot, p.values = true, v.snapshot
		if r.c.Snapshot, err = checkpoint.ParseChanges(v.snapshot); err != nil {
			return err
		}
	}
	r.c.Lineage, err = readLineage(ctx, q, &p)
	return err
}

// findKey returns the key of a checkpoint, or of the newest when k.ID is empty.
func findKey(q *sqlitedb.Session, k checkpoint.Key) (int64, error) {
	thread, err := findThread(q, k.Thread)
	if err != nil {
		return 0, err
	}
	if thread == 0 {
		return 0, checkpoint.ErrNotFound
	}
	var key int64
	if k.ID == "" {
		f, err := findNewest(q, thread, k.Namespace)
		if err != nil {
			return 0, err
		}
		key = f.key
	} else {
		namespace, known, err := findNamespace(q, thread, k.Namespace)
		if err != nil {
			return 0, err
		}
		at, in, err := findID(q, thread, packID(k.ID))
		if err != nil {
			return 0, err
		}
		if known && in == namespace {
			key = at
		}
	}
	if key == 0 {
		return 0, checkpoint.ErrNotFound
	}
	return key, nil
}
