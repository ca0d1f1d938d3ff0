package sqlitecheckpoint

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// getQuery has the argument key.
const getQuery = `SELECT ` + rowColumns + `, s.whole = 1, s.base, s.changes, s.snapshot, s.seal FROM cp_step s ` +
	joinParent + `WHERE s.key = ?`

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

// get is Get in a read transaction. It sets k.ID when it has found the checkpoint.
func (s *Store) get(ctx context.Context, q *sqlitedb.Session, k *checkpoint.Key) (checkpoint.Checkpoint, error) {
	key, err := s.locate(q, *k)
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	var r *row
	var v values
	err = q.Each(getQuery, []any{key}, func(scan func(...any) error) (more bool, err error) {
		r, err = scanRow(scan, &v.whole, &v.base, &v.changes, &v.snapshot, &v.seal)
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
	r.c.Writes, err = pendingWrites(q, key, r.c.ID)
	return r.c, err
}

// values holds the columns that List does not read.
type values struct {
	whole    bool
	base     []byte
	changes  []byte
	snapshot []byte
	seal     sql.NullInt64
}

func fillValues(ctx context.Context, q *sqlitedb.Session, r *row, v *values) error {
	p := part{
		layout: layout{
			key: r.key, parent: r.parent, id: r.c.ID, source: r.c.Source,
			whole: v.whole, snapshot: v.snapshot != nil, hasBase: v.base != nil,
		},
		base: v.base, values: v.changes,
	}
	if err := p.verify(v.seal); err != nil {
		return err
	}
	var err error
	if r.c.Changes, err = parseChanges(v.changes); err != nil {
		return err
	}
	if p.snapshot {
		p.values = v.snapshot
		if r.c.Snapshot, err = parseChanges(v.snapshot); err != nil {
			return err
		}
	}
	r.c.Lineage, err = readLineage(ctx, q, &p)
	return err
}

// locate returns the key of the checkpoint with the id k.ID or, if k.ID is empty, of the newest
// checkpoint of the namespace. It returns [checkpoint.ErrNotFound] if there is no such
// checkpoint, and [checkpoint.ErrCorrupt] if a damaged row may be this checkpoint or, with an
// empty k.ID, a newer one.
func (s *Store) locate(q *sqlitedb.Session, k checkpoint.Key) (int64, error) {
	thread, key, err := findKey(q, k)
	if err != nil {
		return 0, err
	}
	switch {
	case thread == 0:
	case k.ID == "":
		err = s.verifyNewer(q, k.Thread, max(key, firstKey(thread)))
	case key == 0:
		id := packID(k.ID)
		var other int64
		if other, _, err = findID(q, thread, id); err != nil {
			break
		}
		if other != 0 { // in another namespace
			err = s.verifyRows(q, k.Thread, other-1, other+1)
		} else {
			err = s.confirmMissing(q, thread, k.Thread, id)
		}
	}
	if err == nil && key == 0 {
		err = checkpoint.ErrNotFound
	}
	return key, err
}

// findKey returns the keys of a thread and of a checkpoint. If k.ID is empty, the checkpoint
// is the newest of the namespace. A key is 0 if the thread or checkpoint does not exist.
func findKey(q *sqlitedb.Session, k checkpoint.Key) (thread, key int64, err error) {
	thread, err = findThread(q, k.Thread)
	if err != nil || thread == 0 {
		return 0, 0, err
	}
	if k.ID == "" {
		n, err := findNewest(q, thread, k.Namespace)
		return thread, n.key, err
	}
	namespace, known, err := findNamespace(q, thread, k.Namespace)
	if err != nil || !known {
		return thread, 0, err
	}
	key, in, err := findID(q, thread, packID(k.ID))
	if err != nil || in != namespace {
		return thread, 0, err
	}
	return thread, key, nil
}
