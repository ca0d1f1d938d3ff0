package pgmemory

import (
	"context"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const (
	sessionScopes = `0::bigint FROM weft.mem_session`

	savedSessions = `SELECT s.key, ` + sessionColumns + ` FROM weft.mem_session s WHERE s.digest = $1::bytea AND s.id > $2::text ORDER BY s.id LIMIT 1`
	savedMessages = `SELECT ` + messageColumns + ` FROM weft.mem_message f WHERE f.session = $1::bigint AND f.position > $2::bigint
	ORDER BY f.position LIMIT $3::int`

	restoreSession = `INSERT INTO weft.mem_session (digest, owner, tenant, workspace, user_id, agent, id, title, messages, raw, metadata, created_at, updated_at)
	VALUES ($1::bytea, $2::bytea, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::bigint, $10::bytea, $11::text::jsonb, $12::timestamptz,
	$13::timestamptz) ON CONFLICT (digest, id) DO NOTHING RETURNING key`
	restoreMessages = `INSERT INTO weft.mem_message (session, position, at, owner, said, role, id, text, data, plain, words, terms, word_count)
	SELECT $1::bigint, g.nr, g.at, $2::bytea, g.said, g.role, g.id, g.text, g.data::json, g.plain::jsonb, g.words::bigint[], g.terms::text[],
	cardinality(g.terms::text[])
	FROM unnest($3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[])
	WITH ORDINALITY AS g (id, said, role, text, data, plain, terms, words, at, nr) ORDER BY g.nr`
)

// Dump implements [driver.ConversationStore], with two round trips for each session, and one more
// for each 256 messages of a session.
func (c *conversationStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSession, error] {
	return dump(ctx, c.db, sessionScopes, s, func(in *savedScope, last *driver.SavedSession) (list []driver.SavedSession, err error) {
		after := ""
		if last != nil {
			after = last.ID
		}
		var key int64
		err = c.db.link.read(ctx, c.db.sql(savedSessions), []any{scopeDigest(in.Scope), after}, func() { list = nil }, func(rows pgx.Rows) error {
			var one driver.SavedSession
			var raw []byte
			err := rows.Scan(append(append([]any{&key}, scopeDest(&one.Scope)...), &one.ID, &one.Title, &raw, &one.Messages, &one.CreatedAt, &one.UpdatedAt)...)
			one.Metadata = raw
			finish(&one.Session)
			list = append(list, one)
			return err
		})
		if err != nil || len(list) == 0 {
			return nil, err
		}
		list[0].Rows, err = c.savedRows(ctx, key, &list[0].Session)
		return list, err
	})
}

// savedRows returns the messages of a session.
func (c *conversationStore) savedRows(ctx context.Context, key int64, s *driver.Session) (list []driver.MessageRow, err error) {
	for more := true; more; {
		before := len(list)
		reset := func() { list = list[:before] }
		err = c.db.link.read(ctx, c.db.sql(savedMessages), []any{key, before, page}, reset, func(rows pgx.Rows) error {
			var m messageRow
			err := rows.Scan(m.dest()...)
			r := m.row()
			r.Scope, r.Session = s.Scope, s.ID
			list = append(list, r)
			return err
		})
		more = err == nil && len(list) == before+page
	}
	return list, err
}

// Restore implements [driver.ConversationStore], with two round trips, and two for each session.
func (c *conversationStore) Restore(ctx context.Context, list []driver.SavedSession) (int, error) {
	return restore(ctx, c.db, list, func(one *driver.SavedSession) driver.Scope { return one.Scope }, func(l *link, _ [][]byte) (int, error) {
		count := 0
		for i := range list {
			stored, err := c.restore(ctx, l, &list[i])
			if err != nil {
				return 0, err
			}
			if stored {
				count++
			}
		}
		return count, nil
	})
}

func (c *conversationStore) restore(ctx context.Context, l *link, one *driver.SavedSession) (bool, error) {
	var metadata *string
	var raw []byte
	if len(one.Metadata) > 0 {
		plain, err := plainJSON(one.Metadata)
		if err != nil {
			return false, err
		}
		metadata, raw = &plain, one.Metadata
	}
	s := one.Scope
	key, stored := int64(0), false
	values := []any{
		scopeDigest(s), ownerDigest(s.User), s.Tenant, s.Workspace, s.User, s.Agent, one.ID, one.Title, len(one.Rows), raw, metadata,
		one.CreatedAt, one.UpdatedAt,
	}
	err := l.query(ctx, c.db.sql(restoreSession), values, func(rows pgx.Rows) error {
		stored = true
		return rows.Scan(&key)
	})
	if err != nil || !stored || len(one.Rows) == 0 {
		return stored, err
	}
	columns, err := newRows(s, &driver.SessionChange{Session: one.ID, Rows: one.Rows})
	if err != nil {
		return false, err
	}
	times := make([]time.Time, len(one.Rows))
	for i := range one.Rows {
		times[i] = one.Rows[i].At
	}
	return true, l.exec(ctx, c.db.sql(restoreMessages), append(append([]any{key, ownerDigest(s.User)}, columns...), times)...)
}
