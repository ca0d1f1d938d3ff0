package sqlitememory

import (
	"context"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

const (
	savedTurns  = `SELECT name, state, said, attempts, payload, cause FROM mem_turn WHERE scope = ? AND name > ? ORDER BY name LIMIT ?`
	restoreTurn = `INSERT INTO mem_turn (scope, name, state, due, said, attempts, cause, payload) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (scope, name) DO NOTHING`
)

// Dump implements [driver.TurnStore].
func (t *turnStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedTurn, error] {
	return dump(ctx, t.db, factCorpus, s, func(q *sqlitedb.Session, in *savedScope, last *driver.SavedTurn) (page []driver.SavedTurn, err error) {
		after := ""
		if last != nil {
			after = last.Key
		}
		size := 0
		err = q.Each(savedTurns, []any{in.key, after, pageRows}, func(scan func(...any) error) (bool, error) {
			one := driver.SavedTurn{Turn: driver.Turn{Scope: in.name}}
			var said int64
			var payload string
			err := scan(&one.Key, &one.State, &said, &one.Attempts, &payload, &one.Cause)
			one.Said = timeOf(said)
			if payload != "" {
				one.Payload = []byte(payload)
			}
			page = append(page, one)
			size += len(payload)
			return size < pageBytes, err
		})
		return page, err
	})
}

// Restore implements [driver.TurnStore].
func (t *turnStore) Restore(ctx context.Context, list []driver.SavedTurn) (int, error) {
	now := time.Now().UnixMicro()
	return restore(ctx, t.db, factCorpus, list, func(one *driver.SavedTurn) driver.Scope { return one.Scope },
		func(w *sqlitedb.Session, in *scope, one *driver.SavedTurn) (bool, error) {
			n, err := w.Exec(restoreTurn, in.key, one.Key, string(one.State), now, one.Said.UnixMicro(), one.Attempts, one.Cause, string(one.Payload))
			return n > 0, err
		})
}

// Forget implements [driver.TurnStore].
func (t *turnStore) Forget(ctx context.Context, s driver.Scope) (n int, err error) {
	err = t.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		text, args := within(s)
		removed, err := w.Exec(`DELETE FROM mem_turn WHERE scope IN (SELECT key FROM `+factCorpus.scopes+` WHERE `+text+`)`, args...)
		n = int(removed)
		return err
	})
	if err == nil {
		err = t.db.sql.Empty(ctx)
	}
	if err != nil {
		return n, t.db.fail("forget turns", err)
	}
	return n, nil
}
