package sqlitecheckpoint

import (
	"context"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

const (
	pendingQuery  = `SELECT task, number, data FROM cp_pending WHERE step = ? ORDER BY task, number`
	putPending    = `INSERT OR REPLACE INTO cp_pending (step, task, number, data) VALUES (?, ?, ?, ?)`
	deletePending = `DELETE FROM cp_pending WHERE step = ?`

	// putPendingOf is putPending if the checkpoint is there. It takes what
	// putPending takes, and the key, id and namespace of the checkpoint.
	putPendingOf = `INSERT OR REPLACE INTO cp_pending (step, task, number, data)
	SELECT ?, ?, ?, ? FROM cp_step WHERE key = ? AND id = ? AND namespace = ?`
)

// PutWrites implements [checkpoint.Store].
func (s *Store) PutWrites(ctx context.Context, k checkpoint.Key, writes []checkpoint.Write) error {
	if err := checkpoint.CheckWrites(k, writes, s.maxValue); err != nil {
		return err
	}
	err := s.db.Write(ctx, func(w *sqlitedb.Session) error {
		if done, err := s.putTipWrite(w, k, writes); err != nil || done {
			return err
		}
		delete(s.tips, k.Thread)
		return w.Transaction(func() error { return putWrites(w, k, writes) })
	})
	if err != nil {
		return s.fail("put writes", k, err)
	}
	return nil
}

// putTipWrite stores a single write of the checkpoint that this store has put
// last in the thread, in one statement. It reports false for others.
func (s *Store) putTipWrite(w *sqlitedb.Session, k checkpoint.Key, writes []checkpoint.Write) (bool, error) {
	t := s.tips[k.Thread]
	if t == nil || t.id != k.ID || t.name != k.Namespace || len(writes) != 1 {
		return false, nil
	}
	t.pending = true
	one := &writes[0]
	n, err := w.Exec(putPendingOf, t.key, one.Task, one.Index, packWrite(one), t.key, t.packed, t.namespace)
	return n == 1, err
}

func putWrites(w *sqlitedb.Session, k checkpoint.Key, writes []checkpoint.Write) error {
	key, err := findKey(w, k)
	if err != nil {
		return err
	}
	for i := range writes {
		one := &writes[i]
		if _, err := w.Exec(putPending, key, one.Task, one.Index, packWrite(one)); err != nil {
			return err
		}
	}
	return nil
}

func packWrite(w *checkpoint.Write) []byte {
	return checkpoint.AppendChanges(nil, []checkpoint.Change{{Channel: w.Channel, Kind: w.Kind, Data: w.Data}})
}

// pendingWrites returns the pending writes of a checkpoint in their order.
func pendingWrites(q *sqlitedb.Session, key int64) ([]checkpoint.Write, error) {
	var writes []checkpoint.Write
	err := q.Each(pendingQuery, []any{key}, func(scan func(...any) error) (bool, error) {
		var w checkpoint.Write
		var data []byte
		if err := scan(&w.Task, &w.Index, &data); err != nil {
			return false, err
		}
		changes, err := checkpoint.ParseChanges(data)
		if err == nil && len(changes) != 1 {
			err = checkpoint.ErrCorrupt
		}
		if err != nil {
			return false, fmt.Errorf("write %d of task %q: %w", w.Index, w.Task, err)
		}
		w.Channel, w.Kind, w.Data = changes[0].Channel, changes[0].Kind, changes[0].Data
		writes = append(writes, w)
		return true, nil
	})
	return writes, err
}
