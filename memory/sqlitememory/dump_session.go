package sqlitememory

import (
	"context"
	"database/sql"
	"iter"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

const (
	savedSession   = selectSession + `f.scope = ? AND f.id > ? ORDER BY f.id LIMIT 1`
	restoreSession = `INSERT INTO mem_session (scope, id, title, messages, created_at, updated_at, version, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
)

// Dump implements [driver.ConversationStore]. A page is one session.
func (c *conversationStore) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSession, error] {
	return dump(ctx, c.db, talkCorpus, s, func(q *sqlitedb.Session, in *savedScope, last *driver.SavedSession) ([]driver.SavedSession, error) {
		after := ""
		if last != nil {
			after = last.ID
		}
		var found *session
		err := q.Each(savedSession, []any{in.key, after}, func(scan func(...any) error) (bool, error) {
			s, err := scanSession(scan)
			found = s
			return false, err
		})
		if err != nil || found == nil {
			return nil, err
		}
		one := driver.SavedSession{Session: found.Session}
		for more := true; more; {
			var page []*message
			page, more, err = messages(q, found.key, int64(len(one.Rows))+1, 0)
			if err != nil {
				return nil, err
			}
			for _, m := range page {
				m.Scope, m.Session = in.name, found.ID
				one.Rows = append(one.Rows, m.MessageRow)
			}
		}
		return []driver.SavedSession{one}, nil
	})
}

// Restore implements [driver.ConversationStore].
func (c *conversationStore) Restore(ctx context.Context, list []driver.SavedSession) (int, error) {
	return restore(ctx, c.db, talkCorpus, list, func(one *driver.SavedSession) driver.Scope { return one.Scope }, restoreOneSession)
}

func restoreOneSession(w *sqlitedb.Session, in *scope, one *driver.SavedSession) (bool, error) {
	known, err := findSession(w, in.key, one.ID)
	if err != nil || known != nil {
		return false, err
	}
	_, version, err := tick(w, 1)
	if err != nil {
		return false, err
	}
	if _, err := w.Exec(passedClock, one.UpdatedAt.UnixMicro()); err != nil {
		return false, err
	}
	metadata := sql.NullString{String: string(one.Metadata), Valid: one.Metadata != nil}
	session, err := w.Insert(restoreSession, in.key, one.ID, one.Title, len(one.Rows), one.CreatedAt.UnixMicro(), one.UpdatedAt.UnixMicro(), version, metadata)
	if err != nil {
		return false, err
	}
	for i := range one.Rows {
		r := &one.Rows[i]
		key, err := w.Insert(insertMessage, messageValues(session, int64(i)+1, r.At.UnixMicro(), r)...)
		if err == nil {
			err = talkCorpus.addWords(w, in, key, r.Terms)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}
