package sqlitememory

import (
	"context"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

const (
	savedValues   = ` FROM mem_value f WHERE f.scope = ? AND f.address > ? AND ` + alive + ` ORDER BY f.address LIMIT ?`
	knownValue    = `SELECT 1 FROM mem_value f WHERE f.scope = ? AND f.address = ? AND ` + alive
	passedClock   = `UPDATE mem_clock SET at = max(at, ?)`
	removeExpired = `f.scope = ? AND f.address = ?`
)

// Dump implements [driver.ValueStore].
func (v *valueStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedValue, error] {
	return dump(ctx, v.db, valueCorpus, s, func(q *sqlitedb.Session, in *savedScope, last *driver.SavedValue) (page []driver.SavedValue, err error) {
		after := []byte{}
		if last != nil {
			after = packAddress(last.Address)
		}
		size := 0
		err = q.Each(selectValue+savedValues, []any{in.key, after, time.Now().UnixMicro(), pageRows}, func(scan func(...any) error) (bool, error) {
			r, err := scanValue(scan)
			if err != nil {
				return false, err
			}
			page = append(page, driver.SavedValue{Scope: in.name, ValueRecord: r.ValueRecord, TTL: time.Duration(r.refresh) * time.Microsecond})
			size += len(r.Value)
			return size < pageBytes, nil
		})
		return page, err
	})
}

// Restore implements [driver.ValueStore].
func (v *valueStore) Restore(ctx context.Context, list []driver.SavedValue) (int, error) {
	return restore(ctx, v.db, valueCorpus, list, func(one *driver.SavedValue) driver.Scope { return one.Scope },
		func(w *sqlitedb.Session, in *scope, one *driver.SavedValue) (bool, error) {
			address := packAddress(one.Address)
			known, err := w.One(knownValue, []any{in.key, address, time.Now().UnixMicro()}, new(any))
			if err != nil || known {
				return false, err
			}
			if _, err := valueCorpus.removeRows(ctx, w, in, removeExpired, in.key, address); err != nil {
				return false, err
			}
			r := value{ValueRecord: one.ValueRecord, refresh: one.TTL.Microseconds()}
			if _, r.Version, err = tick(w, 1); err != nil {
				return false, err
			}
			if _, err := w.Exec(passedClock, r.UpdatedAt.UnixMicro()); err != nil {
				return false, err
			}
			key, err := w.Insert(insertValue, r.columns(in.key)...)
			if err == nil {
				err = valueCorpus.addWords(w, in, key, r.Terms)
			}
			return err == nil, err
		})
}
