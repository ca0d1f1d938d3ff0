package sqlitememory

import (
	"context"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// Forget implements [driver.FactStore]. It overwrites removed data in the file, and removes it from
// the write-ahead log; see [ErrInUse].
func (f *factStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	note := func(w *sqlitedb.Session) error {
		now, err := writeTime(w)
		if err == nil {
			_, err = w.Exec(insertForgotten, scopeDigest(s), now)
		}
		return err
	}
	return f.db.forget(ctx, factCorpus, s, note, func(w *sqlitedb.Session, s *scope) (int, error) {
		n, err := factCorpus.removeRows(ctx, w, s, `f.scope = ?`, s.key)
		for _, table := range []string{"mem_event", "mem_job", "mem_turn"} {
			if err == nil {
				_, err = w.Exec(`DELETE FROM `+table+` WHERE scope = ?`, s.key)
			}
		}
		return n, err
	})
}

// expired is the actor in the history of facts that expired and were removed.
const expired = "expired"

// Sweep implements [driver.FactStore], with one transaction.
func (f *factStore) Sweep(ctx context.Context, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	count := 0
	err := f.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		count, err = sweep(w, limit)
		return err
	})
	if err != nil {
		return 0, f.db.fail("sweep", err)
	}
	return count, nil
}

func sweep(w *sqlitedb.Session, limit int) (int, error) {
	now, err := writeTime(w)
	if err != nil {
		return 0, err
	}
	var keys []int64
	err = w.Each(deadFacts, []any{now, limit}, func(scan func(...any) error) (bool, error) {
		var key int64
		err := scan(&key)
		keys = append(keys, key)
		return true, err
	})
	if err != nil {
		return 0, err
	}
	for _, key := range keys {
		r, err := oneRow(w, factByKey, key)
		if err != nil {
			return 0, err
		}
		s, err := factCorpus.scopeOf(w, r.scope)
		if err != nil {
			return 0, err
		}
		if err := drop(w, &s, r, expired, now); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}
