package sqlitememory

import (
	"context"
	"database/sql"
	"encoding/json"
	"iter"
	"time"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

// conversationStore is a [driver.ConversationStore]. It is safe for concurrent use.
type conversationStore struct{ db *DB }

var _ driver.ConversationStore = (*conversationStore)(nil)

// Conversations returns the database's store of conversations.
func (d *DB) Conversations() driver.ConversationStore { return &conversationStore{d} }

var talkCorpus = &corpus{table: "mem_message", index: "mem_message_word", scopes: "mem_talk_scope", counts: "1", document: "NULL"}

// A session is a [driver.Session] with its key in the table.
type session struct {
	driver.Session
	key int64
}

const selectSession = `SELECT f.key, f.id, f.title, f.messages, f.created_at, f.updated_at, f.version, f.metadata, c.tenant, c.workspace, c.user, c.agent
	FROM mem_session f JOIN mem_talk_scope c ON c.key = f.scope WHERE `

func scanSession(scan func(...any) error) (*session, error) {
	var s session
	var created, updated int64
	var metadata sql.NullString
	at := &s.Scope
	err := scan(&s.key, &s.ID, &s.Title, &s.Messages, &created, &updated, &s.Version, &metadata, &at.Tenant, &at.Workspace, &at.User, &at.Agent)
	s.CreatedAt, s.UpdatedAt = timeOf(created), timeOf(updated)
	if metadata.Valid {
		s.Metadata = json.RawMessage(metadata.String)
	}
	return &s, err
}

// findSession returns the session with an id, or nil if it does not exist.
func findSession(q *sqlitedb.Session, scope int64, id string) (s *session, err error) {
	err = q.Each(selectSession+`f.scope = ? AND f.id = ?`, []any{scope, id}, func(scan func(...any) error) (bool, error) {
		s, err = scanSession(scan)
		return false, err
	})
	return s, err
}

// sessionSelection returns a query as a condition on mem_session f, without its After and its
// limit.
func sessionSelection(q *sqlitedb.Session, query *driver.SessionQuery) (*selection, error) {
	s, err := talkCorpus.selection(q, &query.Reach)
	if err != nil || s.none {
		return s, err
	}
	s.where = query.Where
	if query.ID != "" {
		s.and(`f.id = ?`, query.ID)
	}
	s.prefix(`f.id`, query.Prefix, func(text string) any { return text })
	return s, nil
}

// Sessions implements [driver.ConversationStore]. A session that changes during the iteration may
// be left out.
func (c *conversationStore) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	return func(yield func(driver.Session, error) bool) {
		limit, limited := q.Most()
		if !limited {
			limit = -1
		}
		l := listing[driver.Session]{limit: limit, read: func(last *driver.Session, n int) (page []driver.Session, more bool, err error) {
			if last == nil {
				last = q.After
			}
			err = c.db.sql.Read(ctx, func(s *sqlitedb.Session) (err error) {
				page, err = sessions(s, &q, last, n)
				return err
			})
			return page, len(page) == n, err
		}}
		if len(q.Where) > 0 {
			sel := selection{where: q.Where}
			l.holds = func(s driver.Session) bool { return sel.holds(s.Metadata) }
		}
		for s, err := range l.all() {
			if err != nil {
				yield(driver.Session{}, c.db.fail("sessions", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// sessions returns up to n sessions that follow the session after. It does not check conditions on
// metadata.
func sessions(q *sqlitedb.Session, query *driver.SessionQuery, after *driver.Session, n int) (page []driver.Session, err error) {
	sel, err := sessionSelection(q, query)
	if err != nil || sel.none {
		return nil, err
	}
	if after != nil {
		s := &after.Scope
		sel.and(`(f.updated_at, f.id, c.tenant, c.workspace, c.user, c.agent) < (?, ?, ?, ?, ?, ?)`,
			after.UpdatedAt.UnixMicro(), after.ID, s.Tenant, s.Workspace, s.User, s.Agent)
	}
	order := ` ORDER BY f.updated_at DESC, f.id DESC`
	if len(sel.scopes) != 1 {
		order += `, c.tenant DESC, c.workspace DESC, c.user DESC, c.agent DESC`
	}
	err = q.Each(selectSession+sel.text+order+` LIMIT ?`, append(sel.args, n), func(scan func(...any) error) (bool, error) {
		s, err := scanSession(scan)
		page = append(page, s.Session)
		return true, err
	})
	return page, err
}

// Messages implements [driver.ConversationStore].
func (c *conversationStore) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return func(yield func(driver.MessageRow, error) bool) {
		l := listing[*message]{limit: -1, read: func(last *(*message), n int) (page []*message, more bool, err error) {
			err = c.db.sql.Read(ctx, func(q *sqlitedb.Session) (err error) {
				if last == nil {
					page, more, err = firstMessages(q, &r)
				} else {
					page, more, err = messages(q, (*last).session, (*last).Position+1, r.To)
				}
				return err
			})
			return page, more, err
		}}
		for m, err := range l.all() {
			if err != nil {
				yield(driver.MessageRow{}, c.db.fail("messages", err))
				return
			}
			m.Scope, m.Session = r.Scope, r.Session
			if !yield(m.MessageRow, nil) {
				return
			}
		}
	}
}

func firstMessages(q *sqlitedb.Session, r *driver.MessageRange) (page []*message, more bool, err error) {
	scope, err := talkCorpus.findScope(q, r.Scope)
	if err != nil || scope.key == 0 {
		return nil, false, err
	}
	s, err := findSession(q, scope.key, r.Session)
	if err != nil || s == nil {
		return nil, false, err
	}
	from := r.From
	if r.Last > 0 {
		to := s.Messages
		if r.To > 0 {
			to = min(to, r.To)
		}
		from = max(from, to-int64(r.Last)+1)
	}
	return messages(q, s.key, from, r.To)
}

// Forget implements [driver.ConversationStore]. It overwrites removed data in the file, and removes
// it from the write-ahead log; see [ErrInUse].
func (c *conversationStore) Forget(ctx context.Context, s driver.Scope) (int, error) {
	note := func(w *sqlitedb.Session) error {
		now, _, err := tick(w, 0)
		if err == nil {
			_, err = w.Exec(insertForgotten, scopeDigest(s, ofTalk, ""), now)
		}
		return err
	}
	return c.db.forget(ctx, talkCorpus, s, note, func(w *sqlitedb.Session, s *scope) (int, error) {
		return removeSessions(ctx, w, s, `f.scope = ?`, []any{s.key}, -1)
	})
}

// Sweep implements [driver.ConversationStore], with one transaction.
func (c *conversationStore) Sweep(ctx context.Context, s driver.Scope, age time.Duration, limit int) (int, error) {
	if limit <= 0 {
		return 0, ctx.Err()
	}
	count := 0
	err := c.db.sql.Change(ctx, func(w *sqlitedb.Session) error {
		count = 0
		text, args := within(s)
		scopes, err := talkCorpus.someScopes(w, text, args, -1)
		if err != nil {
			return err
		}
		for i := 0; i < len(scopes) && count < limit; i++ {
			n, err := removeSessions(ctx, w, &scopes[i], `f.scope = ? AND f.updated_at < ?`, []any{scopes[i].key, time.Now().Add(-age).UnixMicro()}, limit-count)
			if err != nil {
				return err
			}
			count += n
		}
		return nil
	})
	if err != nil {
		return 0, c.db.fail("sweep", err)
	}
	return count, nil
}

// removeSessions removes up to limit sessions of a scope that meet a condition. A negative limit
// means all.
func removeSessions(ctx context.Context, w *sqlitedb.Session, s *scope, text string, args []any, limit int) (int, error) {
	var keys []int64
	err := w.Each(`SELECT f.key FROM mem_session f WHERE `+text+` LIMIT ?`, append(args, limit), func(scan func(...any) error) (bool, error) {
		var key int64
		err := scan(&key)
		keys = append(keys, key)
		return true, err
	})
	for _, key := range keys {
		if err == nil {
			err = removeSession(ctx, w, s, key)
		}
	}
	return len(keys), err
}

func removeSession(ctx context.Context, w *sqlitedb.Session, s *scope, key int64) error {
	if _, err := talkCorpus.removeRows(ctx, w, s, `f.session = ?`, key); err != nil {
		return err
	}
	_, err := w.Exec(`DELETE FROM mem_session WHERE key = ?`, key)
	return err
}

// Search implements [driver.ConversationStore].
func (c *conversationStore) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	var found driver.MessageCandidates
	err := c.db.sql.Read(ctx, func(q *sqlitedb.Session) error {
		u := survey{Session: q, of: talkCorpus, terms: s.Terms, limit: s.Limit}
		sel, err := messageSelection(q, &s)
		if err != nil {
			return err
		}
		keys, err := u.find(ctx, sel)
		if err != nil {
			return err
		}
		rows, err := byKeys(q, messagesByKeys, keys, nil, scanFound)
		found = driver.MessageCandidates{Messages: u.rows, Terms: u.words, Frequency: u.frequency}
		for _, m := range rows {
			found.Rows = append(found.Rows, m.MessageRow)
		}
		return err
	})
	if err != nil {
		return driver.MessageCandidates{}, c.db.fail("search", err)
	}
	return found, nil
}

// messageSelection returns a search as a condition on mem_message f.
func messageSelection(q *sqlitedb.Session, s *driver.MessageSearch) (*selection, error) {
	sel, err := sessionSelection(q, &s.Query)
	if err != nil || sel.none {
		return sel, err
	}
	if sel, err = sel.parts(q, `f.session`, `mem_session`); err != nil {
		return nil, err
	}
	sel.and(`f.role IN (SELECT value FROM json_each(?))`, listOf(s.Roles))
	if !s.Since.IsZero() {
		sel.and(`f.at >= ?`, s.Since.UnixMicro())
	}
	if !s.Before.IsZero() {
		sel.and(`f.at < ?`, s.Before.UnixMicro())
	}
	return sel, nil
}
