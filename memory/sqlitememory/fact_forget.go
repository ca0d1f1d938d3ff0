package sqlitememory

import (
	"context"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory"
)

// Forget implements [memory.Store]. What is gone is overwritten in the file, and removed
// from the log beside it; see [ErrInUse].
func (f *Facts) Forget(ctx context.Context, s memory.Scope) (int, error) {
	count := 0
	err := f.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		count, err = forget(ctx, w, s)
		return err
	})
	if err != nil {
		return 0, f.db.fail("forget", err)
	}
	if err := f.db.sql.Empty(ctx); err != nil {
		return count, f.db.fail("forget", err)
	}
	return count, nil
}

const insertForgotten = `INSERT INTO mem_forgotten (scope, at) VALUES (?, ?) ON CONFLICT (scope) DO UPDATE SET at = excluded.at`

func forget(ctx context.Context, w *sqlitedb.Session, s memory.Scope) (count int, err error) {
	now, err := writeTime(w)
	if err != nil {
		return 0, err
	}
	if _, err := w.Exec(insertForgotten, scopeDigest(s), now); err != nil {
		return 0, err
	}
	text, args := within(s)
	scopes, err := someScopes(w, text, args, -1)
	if err != nil {
		return 0, err
	}
	for i := range scopes {
		n, err := forgetScope(ctx, w, &scopes[i])
		if err != nil {
			return 0, err
		}
		count += n
	}
	return count, nil
}

var someFacts = selectFact + ` FROM mem_fact f JOIN mem_scope s ON s.key = f.scope WHERE f.scope = ? LIMIT 256`

func forgetScope(ctx context.Context, w *sqlitedb.Session, s *scope) (count int, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := forgetSome(w, s)
		if err != nil {
			return 0, err
		}
		if count += n; n == 0 {
			break
		}
	}
	for _, query := range []string{
		`DELETE FROM mem_event WHERE scope = ?`, `DELETE FROM mem_job WHERE scope = ?`,
		`DELETE FROM mem_turn WHERE scope = ?`, `DELETE FROM mem_scope WHERE key = ?`,
	} {
		if _, err := w.Exec(query, s.key); err != nil {
			return 0, err
		}
	}
	return count, nil
}

func forgetSome(w *sqlitedb.Session, s *scope) (int, error) {
	var rows []*row
	err := w.Each(someFacts, []any{s.key}, func(scan func(...any) error) (bool, error) {
		r, err := scanRow(scan)
		rows = append(rows, r)
		return true, err
	})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	for _, r := range rows {
		if err := s.removeWords(w, r.key, r.Terms); err != nil {
			return 0, err
		}
		if _, err := w.Exec(`DELETE FROM mem_fact WHERE key = ?`, r.key); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

// expired is who removes what has expired.
const expired = "expired"

// Sweep implements [memory.Sweeper], with one transaction.
func (f *Facts) Sweep(ctx context.Context, limit int) (int, error) {
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
		var s scope
		if _, err := w.One(scopeByKey, []any{r.scope}, &s.key, &s.secret); err != nil {
			return 0, err
		}
		if err := drop(w, &s, r, expired, now); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}
