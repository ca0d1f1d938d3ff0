package sqlitememory

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/memory/driver"
)

// turnStore is a [driver.TurnStore]. It is safe for concurrent use, even by several processes.
type turnStore struct{ db *DB }

var _ driver.TurnStore = (*turnStore)(nil)

// Turns returns the database's queue of turns. A turn that was said before the scope's facts were last
// forgotten is not stored.
func (d *DB) Turns() driver.TurnStore { return &turnStore{d} }

const (
	waiting = "waiting"
	parked  = "parked"
	done    = "done"
	// keepTurns is the time for which the keys of finished turns are kept.
	keepTurns = keepJobs

	enqueueQuery = `INSERT INTO mem_turn (scope, name, state, due, said, payload) VALUES (?, ?, '` + waiting + `', ?, ?, ?)
	ON CONFLICT (scope, name) DO NOTHING`
	forgetDone = `DELETE FROM mem_turn WHERE state = '` + done + `' AND due < ?`
	selectTurn = `SELECT t.key, t.name, t.said, t.attempts, t.payload, t.cause, s.tenant, s.workspace, s.user, s.agent
	FROM mem_turn t JOIN mem_scope s ON s.key = t.scope`
	dueQuery    = selectTurn + ` WHERE t.state = '` + waiting + `' AND t.due <= ? ORDER BY t.due, t.key LIMIT ?`
	parkedQuery = selectTurn + ` WHERE t.state = '` + parked + `' ORDER BY t.due, t.key LIMIT ?`
	claimQuery  = `UPDATE mem_turn SET due = ?, attempts = attempts + 1, claim = ? WHERE key = ?`
	// Each claim has its own id, so an old claim matches no row.
	finishQuery = `UPDATE mem_turn SET state = '` + done + `', due = ?, claim = '', cause = '', payload = '' WHERE scope = ? AND name = ? AND claim = ?`
	retryQuery  = `UPDATE mem_turn SET state = ?, due = ?, claim = '', cause = ? WHERE scope = ? AND name = ? AND claim = ?`
	reviveQuery = `UPDATE mem_turn SET state = '` + waiting + `', due = ?, attempts = 0, cause = '' WHERE scope = ? AND name = ? AND state = '` + parked + `'`
	countQuery  = `SELECT state, count(*) FROM mem_turn WHERE state <> '` + done + `' GROUP BY state`
)

// Enqueue implements [driver.TurnStore].
func (t *turnStore) Enqueue(ctx context.Context, j driver.Turn) error {
	err := t.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		at, err := forgottenAt(w, around(j.Scope)...)
		if err != nil || at != 0 && !j.Said.After(timeOf(at)) {
			return err
		}
		s, err := factCorpus.enterScope(w, j.Scope)
		if err != nil {
			return err
		}
		now := time.Now().UnixMicro()
		if _, err := w.Exec(enqueueQuery, s.key, j.Key, now, j.Said.UnixMicro(), string(j.Payload)); err != nil {
			return err
		}
		_, err = w.Exec(forgetDone, now-keepTurns.Microseconds())
		return err
	})
	if err != nil {
		return t.db.fail("enqueue", err)
	}
	return nil
}

// Claim implements [driver.TurnStore], with one transaction.
func (t *turnStore) Claim(ctx context.Context, n int, lease time.Duration) ([]driver.Turn, error) {
	var jobs []driver.Turn
	waits := false
	err := t.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) { // so that an idle worker takes no write lock
		waits, err = q.One(dueQuery, []any{time.Now().UnixMicro(), 1}, ignored(10)...)
		return err
	})
	if err == nil && waits && n > 0 {
		err = t.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
			jobs, err = claim(w, n, lease)
			return err
		})
	}
	if err != nil {
		return nil, t.db.fail("claim", err)
	}
	return jobs, nil
}

func ignored(n int) []any {
	dest := make([]any, n)
	for i := range dest {
		dest[i] = new(any)
	}
	return dest
}

// claim claims up to n due turns.
func claim(w *sqlitedb.Session, n int, lease time.Duration) ([]driver.Turn, error) {
	now := time.Now().UnixMicro()
	list, keys, err := turns(w, dueQuery, now, n)
	if err != nil {
		return nil, err
	}
	jobs := make([]driver.Turn, len(list))
	for i := range list {
		jobs[i] = list[i].Turn
		jobs[i].Attempts++
		jobs[i].Claim = uuid.New()
		if _, err := w.Exec(claimQuery, now+lease.Microseconds(), jobs[i].Claim, keys[i]); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// turns returns the turns of a query, and their primary keys.
func turns(q *sqlitedb.Session, query string, args ...any) (list []driver.ParkedTurn, keys []int64, err error) {
	err = q.Each(query, args, func(scan func(...any) error) (bool, error) {
		var p driver.ParkedTurn
		var key, said int64
		var payload string
		s := &p.Scope
		if err := scan(&key, &p.Key, &said, &p.Attempts, &payload, &p.Cause, &s.Tenant, &s.Workspace, &s.User, &s.Agent); err != nil {
			return false, err
		}
		p.Said, p.Payload = timeOf(said), json.RawMessage(payload)
		list, keys = append(list, p), append(keys, key)
		return true, nil
	})
	return list, keys, err
}

// Finish implements [driver.TurnStore].
func (t *turnStore) Finish(ctx context.Context, j driver.Turn) error {
	return t.settle(ctx, "finish", j, func(w *sqlitedb.Session, scope int64) (int64, error) {
		return w.Exec(finishQuery, time.Now().UnixMicro(), scope, j.Key, j.Claim)
	})
}

// Retry implements [driver.TurnStore].
func (t *turnStore) Retry(ctx context.Context, j driver.Turn, after time.Duration, cause string) error {
	return t.settle(ctx, "retry", j, func(w *sqlitedb.Session, scope int64) (int64, error) {
		state := waiting
		if after < 0 {
			state, after = parked, 0
		}
		return w.Exec(retryQuery, state, time.Now().Add(after).UnixMicro(), cause, scope, j.Key, j.Claim)
	})
}

// settle ends a claim. It returns [driver.ErrConflict] if the claim has already ended.
func (t *turnStore) settle(ctx context.Context, what string, j driver.Turn, change func(w *sqlitedb.Session, scope int64) (int64, error)) error {
	err := t.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		s, err := factCorpus.findScope(w, j.Scope)
		if err != nil {
			return err
		}
		n := int64(0)
		if s.key != 0 && j.Claim != "" {
			n, err = change(w, s.key)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("job %.60q in the scope %s: the claim has ended: %w", j.Key, j.Scope, driver.ErrConflict)
		}
		return err
	})
	if err != nil {
		return t.db.fail(what, err)
	}
	return nil
}

// Count implements [driver.TurnStore].
func (t *turnStore) Count(ctx context.Context) (c driver.TurnCounts, err error) {
	err = t.db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		return q.Each(countQuery, nil, func(scan func(...any) error) (bool, error) {
			var state string
			var n int
			err := scan(&state, &n)
			if state == parked {
				c.Parked = n
			} else {
				c.Pending = n
			}
			return true, err
		})
	})
	if err != nil {
		return driver.TurnCounts{}, t.db.fail("count", err)
	}
	return c, nil
}

// Parked implements [driver.TurnStore].
func (t *turnStore) Parked(ctx context.Context, limit int) (list []driver.ParkedTurn, err error) {
	err = t.db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		list, _, err = turns(q, parkedQuery, limit)
		return err
	})
	if err != nil {
		return nil, t.db.fail("parked", err)
	}
	return list, nil
}

// Revive implements [driver.TurnStore].
func (t *turnStore) Revive(ctx context.Context, s driver.Scope, key string) error {
	err := t.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		found, err := factCorpus.findScope(w, s)
		if err != nil {
			return err
		}
		n := int64(0)
		if found.key != 0 {
			n, err = w.Exec(reviveQuery, time.Now().UnixMicro(), found.key, key)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("parked job %.60q in the scope %s: %w", key, s, driver.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return t.db.fail("revive", err)
	}
	return nil
}
