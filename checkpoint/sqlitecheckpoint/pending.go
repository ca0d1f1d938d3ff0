package sqlitecheckpoint

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	pendingQuery  = `SELECT task, number, data FROM cp_pending WHERE step = ? ORDER BY task, number`
	putPending    = `INSERT OR REPLACE INTO cp_pending (step, task, number, data) VALUES (?, ?, ?, ?)`
	deletePending = `DELETE FROM cp_pending WHERE step = ?`

	// putPendingOf is putPending, but stores nothing if the checkpoint does not exist.
	// Its arguments are those of putPending, and the key, id and namespace of the
	// checkpoint.
	putPendingOf = `INSERT OR REPLACE INTO cp_pending (step, task, number, data)
	SELECT ?, ?, ?, ? FROM cp_step WHERE key = ? AND id = ? AND namespace = ?`
)

// PutWrites implements [checkpoint.Store].
func (s *Store) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if err := checkpoint.CheckWrites(k, writes, s.maxValue); err != nil {
		return err
	}
	err := s.db.Write(ctx, func(w *sqlitedb.Session) error {
		if err := s.db.CheckRoom(w); err != nil {
			return err
		}
		if done, err := s.putLatestWrite(w, k, writes); err != nil || done {
			return err
		}
		if t := s.latest[k.Thread]; t != nil {
			t.pending = true
		}
		return w.Transaction(func() error { return putWrites(w, k, writes) })
	})
	if err != nil {
		return s.fail("put writes", k, err)
	}
	return nil
}

// putLatestWrite stores a single write of the checkpoint that this store has put last in the
// thread, in one statement. It returns false if it stored nothing: for other writes, and if
// another process has removed the checkpoint.
func (s *Store) putLatestWrite(w *sqlitedb.Session, k checkpoint.Key, writes []checkpoint.Write) (bool, error) {
	t := s.latest[k.Thread]
	if t == nil || t.id != k.ID || t.name != k.Namespace || len(writes) != 1 {
		return false, nil
	}
	t.pending = true
	one := &writes[0]
	n, err := w.Exec(putPendingOf, t.key, one.Task, one.Index, packWrite(k.ID, one), t.key, t.packed, t.namespace)
	return n == 1, err
}

func putWrites(w *sqlitedb.Session, k checkpoint.Key, writes []checkpoint.Write) error {
	_, key, err := findKey(w, k)
	if err != nil {
		return err
	}
	if key == 0 {
		return checkpoint.ErrNotFound
	}
	for i := range writes {
		one := &writes[i]
		if _, err := w.Exec(putPending, key, one.Task, one.Index, packWrite(k.ID, one)); err != nil {
			return err
		}
	}
	return nil
}

// packWrite returns the stored form of a write: a frame of one delta. The delta has the id
// of the checkpoint. Its source is the index and the task. So the checksum of the frame
// also covers these.
func packWrite(id string, w *checkpoint.Write) []byte {
	return checkpoint.AppendDeltas(nil, []checkpoint.Delta{{
		ID: id, Source: writePlace(w),
		Changes: []checkpoint.Change{{Channel: w.Channel, Kind: w.Kind, Data: w.Data}},
	}})
}

func writePlace(w *checkpoint.Write) checkpoint.Source {
	return checkpoint.Source(strconv.Itoa(w.Index) + ":" + w.Task)
}

// unpackWrite reads a frame of packWrite, or a frame of the first version, which has only
// the change.
func unpackWrite(id string, w *checkpoint.Write, data []byte) error {
	var changes []checkpoint.Change
	deltas, err := parseDeltas(data)
	switch {
	case err != nil:
		var first error
		if changes, first = parseChanges(data); first != nil {
			return errors.Join(err, first)
		}
	case len(deltas) == 1 && deltas[0].ID == id && deltas[0].Source == writePlace(w):
		changes = deltas[0].Changes
	}
	if len(changes) != 1 {
		return checkpoint.ErrCorrupt
	}
	w.Channel, w.Kind, w.Data = changes[0].Channel, changes[0].Kind, changes[0].Data
	return nil
}

// pendingWrites returns the pending writes of a checkpoint by task and index.
func pendingWrites(q *sqlitedb.Session, key int64, id string) ([]checkpoint.Write, error) {
	var writes []checkpoint.Write
	err := q.Each(pendingQuery, []any{key}, func(scan func(...any) error) (bool, error) {
		var w checkpoint.Write
		var data []byte
		if err := scan(&w.Task, &w.Index, &data); err != nil {
			return false, err
		}
		if err := unpackWrite(id, &w, data); err != nil {
			return false, fmt.Errorf("write %d of task %q: %w", w.Index, w.Task, err)
		}
		writes = append(writes, w)
		return true, nil
	})
	return writes, err
}
