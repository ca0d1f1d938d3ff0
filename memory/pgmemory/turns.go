package pgmemory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

// turnStore is a [driver.TurnStore]. Any number of processes may use it. It is safe for concurrent use if its
// [DB] is.
type turnStore struct{ db *DB }

var _ driver.TurnStore = (*turnStore)(nil)

// Turns returns the database's queue of turns. If the DB uses a transaction, other connections can claim a
// turn after the commit. A turn that was said before the scope's facts were last forgotten is not stored.
func (d *DB) Turns() driver.TurnStore { return &turnStore{d} }

const (
	enqueueQuery = `SELECT weft.mem_enqueue($1::bigint[], $2::bytea, $3::text[], $4::bytea[], $5::text, $6::timestamptz, $7::text)`

	// claimQuery skips rows that other workers are claiming. It uses the clock of the database.
	claimQuery = `WITH ready AS MATERIALIZED (SELECT t.key, t.due FROM weft.mem_turn t WHERE t.state = 'waiting' AND t.due <= statement_timestamp()
		ORDER BY t.due, t.key LIMIT $1::int FOR UPDATE SKIP LOCKED),
	claimed AS (UPDATE weft.mem_turn t SET due = statement_timestamp() + $2::bigint * interval '1 microsecond', attempts = t.attempts + 1,
		claim = gen_random_uuid()::text FROM ready r WHERE r.key = t.key RETURNING t.*, r.due AS since)
	SELECT s.tenant, s.workspace, s.user_id, s.agent, t.name, t.said, t.payload, t.attempts, t.claim, t.cause
	FROM claimed t JOIN weft.mem_scope s ON s.key = t.scope ORDER BY t.since, t.key`

	parkedQuery = `SELECT s.tenant, s.workspace, s.user_id, s.agent, t.name, t.said, t.payload, t.attempts, t.claim, t.cause
	FROM weft.mem_turn t JOIN weft.mem_scope s ON s.key = t.scope WHERE t.state = 'parked' ORDER BY t.due, t.key LIMIT $1::int`

	// Each claim has its own id, so an old claim matches no row.
	finishQuery = `SELECT 1 WHERE weft.mem_finish($1::bytea, $2::text, $3::text)`
	retryQuery  = `UPDATE weft.mem_turn SET state = $4::text, due = statement_timestamp() + $5::bigint * interval '1 microsecond', claim = '', cause = $6::text
	WHERE scope = (SELECT s.key FROM weft.mem_scope s WHERE s.digest = $1::bytea) AND name = $2::text AND claim = $3::text RETURNING 1`
	reviveQuery = `UPDATE weft.mem_turn SET state = 'waiting', due = statement_timestamp(), attempts = 0, cause = ''
	WHERE scope = (SELECT s.key FROM weft.mem_scope s WHERE s.digest = $1::bytea) AND name = $2::text AND state = 'parked' RETURNING 1`
	countQuery = `SELECT count(*) FILTER (WHERE state = 'waiting'), count(*) FILTER (WHERE state = 'parked') FROM weft.mem_turn
	WHERE state IN ('waiting', 'parked')`
)

// Enqueue implements [driver.TurnStore], in one round trip.
func (t *turnStore) Enqueue(ctx context.Context, j driver.Turn) error {
	tenant, user := t.db.locks(j.Scope)
	values := []any{[]int64{tenant, user}, scopeDigest(j.Scope), names(j.Scope), around(j.Scope), j.Key, j.Said.UTC(), string(j.Payload)}
	if err := t.db.link.read(ctx, t.db.sql(enqueueQuery), values, func() {}, func(pgx.Rows) error { return nil }); err != nil {
		return t.db.fail("enqueue", err)
	}
	return nil
}

// Claim implements [driver.TurnStore], in one round trip. Concurrent claims do not wait for each
// other. If the connection is lost during the call, claimed jobs are due again when their lease
// ends.
func (t *turnStore) Claim(ctx context.Context, n int, lease time.Duration) ([]driver.Turn, error) {
	if n <= 0 {
		return nil, ctx.Err()
	}
	list, err := t.list(ctx, claimQuery, min(n, math.MaxInt32), lease.Microseconds())
	if err != nil {
		return nil, t.db.fail("claim", err)
	}
	jobs := make([]driver.Turn, len(list))
	for i, p := range list {
		jobs[i] = p.Turn
	}
	return jobs, nil
}

// maxCause is the maximum number of bytes of a stored cause.
const maxCause = 8 << 10

// storable returns the first maxCause bytes of a text. It replaces invalid UTF-8 and NULs.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text[:min(len(text), maxCause)], "\ufffd"), "\x00", "\ufffd")
}

// list returns the turns of a query.
func (t *turnStore) list(ctx context.Context, query string, args ...any) (list []driver.ParkedTurn, err error) {
	err = t.db.link.write(ctx, t.db.sql(query), args, func() { list = nil }, func(rows pgx.Rows) error {
		var p driver.ParkedTurn
		var payload string
		s := &p.Scope
		if err := rows.Scan(&s.Tenant, &s.Workspace, &s.User, &s.Agent, &p.Key, &p.Said, &payload, &p.Attempts, &p.Claim, &p.Cause); err != nil {
			return err
		}
		p.Said, p.Payload = p.Said.UTC(), json.RawMessage(payload)
		list = append(list, p)
		return nil
	})
	return list, err
}

// Finish implements [driver.TurnStore], in one round trip.
func (t *turnStore) Finish(ctx context.Context, j driver.Turn) error {
	return t.settle(ctx, "finish", j, finishQuery)
}

// Retry implements [driver.TurnStore], in one round trip.
func (t *turnStore) Retry(ctx context.Context, j driver.Turn, after time.Duration, cause string) error {
	state := "waiting"
	if after < 0 {
		state, after = "parked", 0
	}
	return t.settle(ctx, "retry", j, retryQuery, state, after.Microseconds(), storable(cause))
}

// settle ends a claim. It returns [driver.ErrConflict] if the claim has already ended.
func (t *turnStore) settle(ctx context.Context, what string, j driver.Turn, query string, args ...any) error {
	found, err := false, ctx.Err()
	if err == nil && j.Claim != "" {
		found, err = t.touch(ctx, query, append([]any{scopeDigest(j.Scope), j.Key, j.Claim}, args...)...)
	}
	if err == nil && !found {
		err = fmt.Errorf("job %.60q in the scope %s: the claim has ended: %w", j.Key, j.Scope, driver.ErrConflict)
	}
	if err != nil {
		return t.db.fail(what, err)
	}
	return nil
}

// touch reports whether a statement returns a row.
func (t *turnStore) touch(ctx context.Context, query string, args ...any) (found bool, err error) {
	err = t.db.link.write(ctx, t.db.sql(query), args, func() { found = false }, func(pgx.Rows) error {
		found = true
		return nil
	})
	return found, err
}

// Count implements [driver.TurnStore]. Under row-level security it counts the rows that the caller can see.
func (t *turnStore) Count(ctx context.Context) (c driver.TurnCounts, err error) {
	err = t.db.link.read(ctx, t.db.sql(countQuery), nil, func() {}, func(rows pgx.Rows) error { return rows.Scan(&c.Pending, &c.Parked) })
	if err != nil {
		return driver.TurnCounts{}, t.db.fail("count", err)
	}
	return c, nil
}

// Parked implements [driver.TurnStore].
func (t *turnStore) Parked(ctx context.Context, limit int) ([]driver.ParkedTurn, error) {
	list, err := t.list(ctx, parkedQuery, min(max(limit, 0), math.MaxInt32))
	if err != nil {
		return nil, t.db.fail("parked", err)
	}
	return list, nil
}

// Revive implements [driver.TurnStore].
func (t *turnStore) Revive(ctx context.Context, s driver.Scope, key string) error {
	found, err := t.touch(ctx, reviveQuery, scopeDigest(s), key)
	if err == nil && !found {
		err = fmt.Errorf("parked job %.60q in the scope %s: %w", key, s, driver.ErrNotFound)
	}
	if err != nil {
		return t.db.fail("revive", err)
	}
	return nil
}
