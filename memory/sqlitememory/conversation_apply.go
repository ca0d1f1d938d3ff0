package sqlitememory

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// ofTalk distinguishes digests of forgotten conversations from digests of forgotten facts.
const ofTalk = "conversation"

// Apply implements [driver.ConversationStore], with one transaction.
func (c *conversationStore) Apply(ctx context.Context, s driver.Scope, change driver.SessionChange) (driver.Session, error) {
	var done *session
	err := c.db.sql.Change(ctx, func(w *sqlitedb.Session) (err error) {
		t := talk{Session: w, of: s, most: c.db.options.MaxMessages}
		done, err = t.apply(ctx, &change)
		return err
	})
	if err != nil {
		return driver.Session{}, c.db.fail("apply", err)
	}
	return done.Session, nil
}

// A talk is a change of a session in progress.
type talk struct {
	*sqlitedb.Session
	of    driver.Scope
	most  int
	scope scope
	now   int64
}

func (t *talk) apply(ctx context.Context, c *driver.SessionChange) (s *session, err error) {
	if t.scope, err = talkCorpus.findScope(t.Session, t.of); err != nil {
		return nil, err
	}
	if t.scope.key != 0 {
		if s, err = findSession(t.Session, t.scope.key, c.Session); err != nil {
			return nil, err
		}
	}
	if err := t.allowed(s, c); err != nil {
		return nil, err
	}
	var version int64
	if t.now, version, err = tick(t.Session, 1); err != nil {
		return nil, err
	}
	if c.Delete {
		return s, t.remove(ctx, s)
	}
	if s == nil {
		if s, err = t.begin(c.Session); err != nil {
			return nil, err
		}
	}
	had := s.Messages
	if err := t.change(ctx, s, c); err != nil {
		return nil, err
	}
	if t.most > 0 && s.Messages > int64(t.most) && s.Messages > had {
		return nil, fmt.Errorf("session %.60q would have %d messages, and %d are allowed: %w", c.Session, s.Messages, t.most, driver.ErrQuota)
	}
	s.Version, s.UpdatedAt = version, timeOf(t.now)
	return s, t.save(s)
}

// allowed returns an error if a change of a session is not allowed. s is nil if the session does
// not exist.
func (t *talk) allowed(s *session, c *driver.SessionChange) error {
	switch {
	case s == nil && (c.Delete || c.Describe != nil || c.From != 0):
		return fmt.Errorf("session %.60q: %w", c.Session, driver.ErrNotFound)
	case s == nil && c.Version > 0:
		return fmt.Errorf("session %.60q is not there: %w", c.Session, driver.ErrConflict)
	case s != nil && c.Version != 0 && c.Version != s.Version:
		return fmt.Errorf("session %.60q has version %d and not %d: %w", c.Session, s.Version, c.Version, driver.ErrConflict)
	case c.Said.IsZero():
		return nil
	}
	at, err := forgottenAt(t.Session, append(around(t.of, ofTalk, ""), scopeDigest(t.of, ofTalk, c.Session))...)
	if err == nil && at != 0 && !c.Said.After(timeOf(at)) {
		err = fmt.Errorf("session %.60q, and what was said at %v: %w", c.Session, c.Said, driver.ErrForgotten)
	}
	return err
}

func (t *talk) remove(ctx context.Context, s *session) error {
	if err := removeSession(ctx, t.Session, &t.scope, s.key); err != nil {
		return err
	}
	_, err := t.Exec(insertForgotten, scopeDigest(t.of, ofTalk, s.ID), t.now)
	return err
}

// begin creates a session.
func (t *talk) begin(id string) (s *session, err error) {
	if t.scope, err = talkCorpus.enterScope(t.Session, t.of); err != nil {
		return nil, err
	}
	s = &session{Session: driver.Session{ID: id, Scope: t.of, CreatedAt: timeOf(t.now)}}
	s.key, err = t.Insert(`INSERT INTO mem_session (scope, id, title, messages, created_at, updated_at, version) VALUES (?, ?, '', 0, ?, ?, 0)`,
		t.scope.key, id, t.now, t.now)
	return s, err
}

func (t *talk) change(ctx context.Context, s *session, c *driver.SessionChange) error {
	if c.Describe != nil {
		s.Title, s.Metadata = c.Describe.Title, bytes.Clone(c.Describe.Metadata)
	}
	if c.From > 0 && c.From <= s.Messages {
		if _, err := talkCorpus.removeRows(ctx, t.Session, &t.scope, `f.session = ? AND f.position >= ?`, s.key, c.From); err != nil {
			return err
		}
		s.Messages = c.From - 1
	}
	for i := range c.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.append(s, &c.Rows[i], c.Once); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	return nil
}

// append stores a message, unless the session has a message with the same id or, if once is
// true, with the same digest.
func (t *talk) append(s *session, r *driver.MessageRow, once bool) error {
	var one int
	there, err := t.One(`SELECT 1 FROM mem_message WHERE session = ? AND id = ?`, []any{s.key, r.ID}, &one)
	if err == nil && !there && once {
		there, err = t.One(`SELECT 1 FROM mem_message WHERE session = ? AND digest = ? LIMIT 1`, []any{s.key, r.Key[:]}, &one)
	}
	if err != nil || there {
		return err
	}
	key, err := t.Insert(insertMessage, messageValues(s.key, s.Messages+1, t.now, r)...)
	if err != nil {
		return err
	}
	s.Messages++
	return talkCorpus.addWords(t.Session, &t.scope, key, r.Terms)
}

func (t *talk) save(s *session) error {
	metadata := sql.NullString{String: string(s.Metadata), Valid: s.Metadata != nil}
	_, err := t.Exec(`UPDATE mem_session SET title = ?, messages = ?, updated_at = ?, version = ?, metadata = ? WHERE key = ?`,
		s.Title, s.Messages, t.now, s.Version, metadata, s.key)
	return err
}
