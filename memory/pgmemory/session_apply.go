package pgmemory

import (
	"context"
	"fmt"
	"regexp"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/memory/driver"
)

const converseQuery = `SELECT o_status, o_about, o_title, o_raw, o_messages, o_created, o_updated FROM weft.mem_converse(
	$1::bigint[], $2::bytea, $3::bytea, $4::text[], $5::text, $6::bytea[], $7::bytea, $8::bigint,
	$9::bigint, $10::timestamptz, $11::boolean, $12::boolean, $13::text, $14::bytea, $15::text, $16::bigint, $17::boolean,
	$18::text[], $19::bytea[], $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[])`

// Apply implements [driver.ConversationStore], in one round trip. If the connection is lost during
// the call, the change may or may not have been made, and the error is [ErrUnreachable]. It is
// safe to append the same messages again, because a message whose ID the session has is not stored
// twice.
func (c *conversationStore) Apply(ctx context.Context, s driver.Scope, change driver.SessionChange) (driver.Session, error) {
	session, err := c.apply(ctx, s, &change)
	if err != nil {
		return driver.Session{}, c.db.fail("apply to a conversation", err)
	}
	return session, nil
}

func (c *conversationStore) apply(ctx context.Context, s driver.Scope, change *driver.SessionChange) (session driver.Session, err error) {
	values, err := c.values(s, change)
	if err != nil {
		return driver.Session{}, err
	}
	var refused error
	reset := func() { refused = nil }
	err = c.db.link.write(ctx, c.db.sql(converseQuery), values, reset, func(rows pgx.Rows) error {
		var status, about *string
		if err := rows.Scan(&status, &about, nil, nil, nil, nil, nil); err != nil {
			return err
		}
		if *status != "" {
			refused = refusedChange(*status, about, s, change)
			return nil
		}
		session = driver.Session{ID: change.Session, Scope: s}
		err := rows.Scan(nil, nil, &session.Title, &session.Metadata, &session.Messages, &session.CreatedAt, &session.UpdatedAt)
		finish(&session)
		return err
	})
	if err == nil {
		err = refused
	}
	return session, err
}

// values returns the arguments of the statement.
func (c *conversationStore) values(s driver.Scope, change *driver.SessionChange) ([]any, error) {
	tenant, user := c.db.locks(s)
	rows, err := newRows(s, change)
	if err != nil {
		return nil, err
	}
	var title string
	var raw []byte
	var metadata *string
	if d := change.Describe; d != nil {
		title = d.Title
		if len(d.Metadata) > 0 {
			plain, err := plainJSON(d.Metadata)
			if err != nil {
				return nil, fmt.Errorf("metadata: %w: %w", driver.ErrInvalid, err)
			}
			raw, metadata = d.Metadata, &plain
		}
	}
	gone := stone(s, change.Session)
	return append([]any{
		[]int64{tenant, user},
		scopeDigest(s), ownerDigest(s.User), names(s), change.Session, append(named(s, func(s driver.Scope) []byte { return stone(s) }), gone), gone,
		int64(c.db.options.MaxMessages), change.Version, optional(change.Said), change.Delete, change.Describe != nil, title, raw, metadata,
		change.From, change.Once,
	}, rows...), nil
}

// refusedChange returns the error for a status that mem_converse returned.
func refusedChange(status string, about *string, s driver.Scope, c *driver.SessionChange) error {
	switch status {
	case "missing":
		return fmt.Errorf("session %.60q: %w", c.Session, driver.ErrNotFound)
	case "version":
		if about == nil {
			return fmt.Errorf("session %.60q is not there: %w", c.Session, driver.ErrConflict)
		}
		return fmt.Errorf("session %.60q has version %s and not %d: %w", c.Session, *about, c.Version, driver.ErrConflict)
	case "forgotten":
		return fmt.Errorf("session %.60q of the scope %s, and what was said at %v: %w", c.Session, s, c.Said, driver.ErrForgotten)
	case "quota":
		return fmt.Errorf("session %.60q of the scope %s would have %s messages: %w", c.Session, s, *about, driver.ErrQuota)
	}
	return fmt.Errorf("status %q: %w", status, ErrFormat)
}

// newRows returns the columns of the messages of a change. It leaves out messages that repeat an
// earlier message of the change.
func newRows(s driver.Scope, c *driver.SessionChange) ([]any, error) {
	var id, role, text, data, terms, words []string
	var plain []*string
	var said [][]byte
	ids, keys := map[string]bool{}, map[[16]byte]bool{}
	for i := range c.Rows {
		r := &c.Rows[i]
		if ids[r.ID] || c.Once && keys[r.Key] {
			continue
		}
		ids[r.ID], keys[r.Key] = true, true
		p, err := plainIfNot(r.Data)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w: %w", i, driver.ErrInvalid, err)
		}
		id, said, role, text = append(id, r.ID), append(said, r.Key[:]), append(role, string(r.Role)), append(text, r.Text)
		data, plain = append(data, string(r.Data)), append(plain, p)
		terms, words = append(terms, textArray(r.Terms)), append(words, wordArray(s.Tenant, r.Terms))
	}
	return []any{id, said, role, text, data, plain, terms, words}, nil
}

// unplain matches JSON that jsonb may not be able to store: NULs, surrogates, and large numbers.
var unplain = regexp.MustCompile(`\\u0000|\\u[dD][89a-fA-F]|[0-9][eE][-+]?[0-9]{4}|[0-9]{1000}`)

// plainIfNot returns the plainJSON form of the JSON, or nil if jsonb can store the JSON unchanged.
func plainIfNot(data []byte) (*string, error) {
	if !unplain.Match(data) {
		return nil, nil
	}
	plain, err := plainJSON(data)
	if err != nil {
		return nil, err
	}
	return &plain, nil
}
