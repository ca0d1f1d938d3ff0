package sqlitememory

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
)

// A message is a [driver.MessageRow] with its key in the table and the key of its session.
type message struct {
	driver.MessageRow
	key, session int64
}

func (m *message) rowKey() int64 { return m.key }

var (
	messageColumns = []string{"session", "position", "id", "digest", "role", "at", "words", "checksum", "text", "data", "terms"}
	insertMessage  = insertInto("mem_message", messageColumns)
	selectMessage  = `SELECT f.key, f.` + strings.Join(messageColumns, ", f.")
	selectMessages = selectMessage + ` FROM mem_message f WHERE f.session = ? AND f.position >= ? AND f.position <= ? ORDER BY f.position LIMIT ?`
	// CROSS JOIN makes SQLite read the keys first.
	messagesByKeys = selectMessage + `, s.id, c.tenant, c.workspace, c.user, c.agent
		FROM json_each(?) j CROSS JOIN mem_message f ON f.key = j.value CROSS JOIN mem_session s ON s.key = f.session
		CROSS JOIN mem_talk_scope c ON c.key = s.scope`
)

func messageValues(session, position, at int64, r *driver.MessageRow) []any {
	terms := packTerms(r.Terms)
	return []any{
		session, position, r.ID, r.Key[:], string(r.Role), at, len(r.Terms),
		checksum([]byte(r.ID), []byte(r.Text), r.Data, terms), r.Text, string(r.Data), terms,
	}
}

// messages returns the first page of a session's messages whose position is at least from and at most
// to, and whether there are more. If to is 0, there is no upper bound.
func messages(q *sqlitedb.Session, session, from, to int64) (page []*message, more bool, err error) {
	if to <= 0 {
		to = 1<<63 - 1
	}
	size := 0
	const rows = 8 * pageRows // so that most sessions need one page
	err = q.Each(selectMessages, []any{session, from, to, rows}, func(scan func(...any) error) (bool, error) {
		m, err := scanMessage(scan)
		if err != nil {
			return false, err
		}
		page = append(page, m)
		size += len(m.Text) + len(m.Data)
		return size < pageBytes, nil
	})
	return page, len(page) == rows || size >= pageBytes, err
}

// scanFound reads a message with its scope and the id of its session.
func scanFound(scan func(...any) error) (*message, error) {
	var s driver.Session
	at := &s.Scope
	m, err := scanMessage(scan, &s.ID, &at.Tenant, &at.Workspace, &at.User, &at.Agent)
	if err != nil {
		return nil, err
	}
	m.Scope, m.Session = s.Scope, s.ID
	return m, nil
}

// scanMessage reads a message. It returns [ErrCorrupt] if the checksum or a size of the row is
// wrong.
func scanMessage(scan func(...any) error, more ...any) (*message, error) {
	var (
		m            message
		digest       []byte
		role, data   string
		at, words    int64
		stored       int64
		terms        []byte
		destinations = []any{&m.key, &m.session, &m.Position, &m.ID, &digest, &role, &at, &words, &stored, &m.Text, &data, &terms}
	)
	if err := scan(append(destinations, more...)...); err != nil {
		return nil, err
	}
	var err error
	if m.Terms, err = unpackTerms(terms); err != nil || int64(len(m.Terms)) != words || len(digest) != 16 ||
		stored != checksum([]byte(m.ID), []byte(m.Text), []byte(data), terms) {
		return nil, fmt.Errorf("message %.60q: %w", m.ID, ErrCorrupt)
	}
	m.Key, m.Role, m.Data, m.At = [16]byte(digest), llm.Role(role), json.RawMessage(data), timeOf(at)
	return &m, nil
}
