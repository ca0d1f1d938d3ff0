package pgmemory

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

// sessionColumns are the columns of a session s.
const sessionColumns = `s.tenant, s.workspace, s.user_id, s.agent, s.id, s.title, s.raw, s.messages, s.created_at, s.updated_at`

// messageColumns are the columns of a message f.
const messageColumns = `f.position, f.at, f.id, f.said, f.role, f.text, f.data, f.terms`

// finish sets the fields that depend on scanned fields. The version is the time of the last
// change. Each change has a later time, even if the session was deleted and created again.
func finish(s *driver.Session) {
	if len(s.Metadata) == 0 {
		s.Metadata = nil
	}
	s.CreatedAt, s.UpdatedAt = s.CreatedAt.UTC(), s.UpdatedAt.UTC()
	s.Version = s.UpdatedAt.UnixMicro()
}

func scanSession(rows pgx.Rows) (driver.Session, error) {
	var s driver.Session
	var raw []byte
	err := rows.Scan(&s.Scope.Tenant, &s.Scope.Workspace, &s.Scope.User, &s.Scope.Agent, &s.ID, &s.Title, &raw, &s.Messages, &s.CreatedAt, &s.UpdatedAt)
	s.Metadata = json.RawMessage(raw)
	finish(&s)
	return s, err
}

// A messageRow is a message, with the scanned values that are converted to its fields.
type messageRow struct {
	driver.MessageRow
	said, data []byte
	role       string
}

// dest returns the scan destinations for messageColumns.
func (m *messageRow) dest() []any {
	return []any{&m.Position, &m.At, &m.ID, &m.said, &m.role, &m.Text, &m.data, &m.Terms}
}

// row returns the scanned message.
func (m *messageRow) row() driver.MessageRow {
	r := m.MessageRow
	copy(r.Key[:], m.said)
	r.Role, r.Data, r.At = llm.Role(m.role), m.data, m.At.UTC()
	return r
}

// sessions returns a condition on mem_session s for a query, without its After.
func sessions(q *driver.SessionQuery, a *args) (string, error) {
	text, _ := reach(&q.Reach, a)
	parts := []string{text}
	if q.ID != "" {
		parts = append(parts, `s.id = `+a.add(q.ID, "text"))
	}
	if q.Prefix != "" {
		parts = append(parts, `starts_with(s.id, `+a.add(q.Prefix, "text")+`)`)
	}
	for _, c := range q.Where {
		text, err := condition(`s.metadata`, c, a)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ` AND `), nil
}

// Sessions implements [driver.ConversationStore], with one round trip for each 256 sessions.
// Sessions that change before their page is read may be left out.
func (c *conversationStore) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	return func(yield func(driver.Session, error) bool) {
		left, limited := q.Most()
		for more := true; more; {
			most := page
			if limited {
				most = min(left, page)
			}
			list, err := c.sessions(ctx, &q, most)
			for i := range list {
				if err = ctx.Err(); err != nil {
					break
				}
				if !yield(list[i], nil) {
					return
				}
			}
			if err != nil {
				yield(driver.Session{}, c.db.fail("list sessions", err))
				return
			}
			left -= len(list)
			if more = len(list) == most && (!limited || left > 0); more {
				q.After = &list[len(list)-1]
			}
		}
	}
}

func (c *conversationStore) sessions(ctx context.Context, q *driver.SessionQuery, most int) (list []driver.Session, err error) {
	var a args
	where, err := sessions(q, &a)
	if err != nil {
		return nil, err
	}
	if after := q.After; after != nil {
		where += ` AND (s.updated_at, s.id, s.workspace, s.user_id, s.agent) < (` + a.add(after.UpdatedAt.UTC(), "timestamptz") + `, ` + a.add(after.ID, "text") +
			`, ` + a.add(after.Scope.Workspace, "text") + `, ` + a.add(after.Scope.User, "text") + `, ` + a.add(after.Scope.Agent, "text") + `)`
	}
	text := `SELECT ` + sessionColumns + ` FROM weft.mem_session s WHERE ` + where +
		` ORDER BY s.updated_at DESC, s.id DESC, s.workspace DESC, s.user_id DESC, s.agent DESC LIMIT ` + a.add(most, "bigint")
	err = c.db.link.read(ctx, c.db.sql(text), a, func() { list = nil }, func(rows pgx.Rows) error {
		s, err := scanSession(rows)
		list = append(list, s)
		return err
	})
	return list, err
}

// Messages implements [driver.ConversationStore], in one round trip. All messages come from one
// snapshot of the database.
func (c *conversationStore) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return func(yield func(driver.MessageRow, error) bool) {
		list, err := c.messages(ctx, &r)
		for i := range list {
			if err = ctx.Err(); err != nil {
				break
			}
			if !yield(list[i], nil) {
				return
			}
		}
		if err != nil {
			yield(driver.MessageRow{}, c.db.fail("read messages", err))
		}
	}
}

func (c *conversationStore) messages(ctx context.Context, r *driver.MessageRange) (list []driver.MessageRow, err error) {
	var a args
	text := `SELECT ` + messageColumns + ` FROM weft.mem_message f WHERE f.session = (SELECT s.key FROM weft.mem_session s
	WHERE s.digest = ` + a.add(scopeDigest(r.Scope), "bytea") + ` AND s.id = ` + a.add(r.Session, "text") + `)`
	if r.From > 0 {
		text += ` AND f.position >= ` + a.add(r.From, "bigint")
	}
	if r.To > 0 {
		text += ` AND f.position <= ` + a.add(r.To, "bigint")
	}
	text += ` ORDER BY f.position`
	if r.Last > 0 {
		text += ` DESC LIMIT ` + a.add(r.Last, "bigint")
	}
	var m messageRow
	m.Scope, m.Session = r.Scope, r.Session
	dest := m.dest()
	err = c.db.link.read(ctx, c.db.sql(text), a, func() { list = nil }, func(rows pgx.Rows) error {
		err := rows.Scan(dest...)
		list = append(list, m.row())
		return err
	})
	if r.Last > 0 {
		slices.Reverse(list)
	}
	return list, err
}
