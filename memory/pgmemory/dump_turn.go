package pgmemory

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	savedTurns = `SELECT t.name, t.state, t.said, t.attempts, t.payload, t.cause FROM weft.mem_turn t
	WHERE t.scope = $1::bigint AND t.name > $2::text ORDER BY t.name LIMIT $3::int`
	restoreTurns = `INSERT INTO weft.mem_turn (scope, name, state, due, said, attempts, cause, payload)
	SELECT s.key, g.name, g.state, clock_timestamp(), g.said, g.attempts, g.cause, g.payload
	FROM unnest($1::bytea[], $2::text[], $3::text[], $4::timestamptz[], $5::int[], $6::text[], $7::text[])
	WITH ORDINALITY AS g (digest, name, state, said, attempts, cause, payload, nr) JOIN weft.mem_scope s ON s.digest = g.digest
	ORDER BY g.nr ON CONFLICT (scope, name) DO NOTHING RETURNING key`
)

// Dump implements [driver.TurnStore], with a round trip for each 256 turns of a scope.
func (t *turnStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedTurn, error] {
	return dump(ctx, t.db, factScopes, s, func(in *savedScope, last *driver.SavedTurn) (list []driver.SavedTurn, err error) {
		after := ""
		if last != nil {
			after = last.Key
		}
		err = t.db.link.read(ctx, t.db.sql(savedTurns), []any{in.key, after, page}, func() { list = nil }, func(rows pgx.Rows) error {
			one := driver.SavedTurn{Turn: driver.Turn{Scope: in.Scope}}
			var state, payload string
			err := rows.Scan(&one.Key, &state, &one.Said, &one.Attempts, &payload, &one.Cause)
			one.State, one.Said = driver.TurnState(state), one.Said.UTC()
			if payload != "" {
				one.Payload = []byte(payload)
			}
			list = append(list, one)
			return err
		})
		return list, err
	})
}

// Restore implements [driver.TurnStore], in four round trips.
func (t *turnStore) Restore(ctx context.Context, list []driver.SavedTurn) (int, error) {
	return restore(ctx, t.db, list, func(one *driver.SavedTurn) driver.Scope { return one.Scope }, func(l *link, scopes [][]byte) (count int, err error) {
		all := make([]driver.Scope, len(list))
		var name, state, cause, payload []string
		var said []time.Time
		var attempts []int
		for i := range list {
			one := &list[i]
			all[i] = one.Scope
			name, state, cause = append(name, one.Key), append(state, string(one.State)), append(cause, one.Cause)
			payload, said, attempts = append(payload, string(one.Payload)), append(said, one.Said), append(attempts, one.Attempts)
		}
		if err := t.db.enterScopes(ctx, l, `weft.mem_scope`, all); err != nil {
			return 0, err
		}
		err = l.query(ctx, t.db.sql(restoreTurns), []any{scopes, name, state, said, attempts, cause, payload}, func(pgx.Rows) error {
			count++
			return nil
		})
		return count, err
	})
}

const forgetTurns = `WITH gone AS (DELETE FROM weft.mem_turn t USING weft.mem_scope s WHERE s.key = t.scope AND s.tenant = $1::text
	AND ($2::text = '' OR s.workspace = $2) AND ($3::text = '' OR s.user_id = $3) AND ($4::text = '' OR s.agent = $4) RETURNING 1)
	SELECT count(*) FROM gone`

// Forget implements [driver.TurnStore], in one round trip.
func (t *turnStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	n, err := t.db.count(ctx, forgetTurns, s.Tenant, s.Workspace, s.User, s.Agent)
	if err != nil {
		return 0, t.db.fail("forget turns", err)
	}
	return n, nil
}
