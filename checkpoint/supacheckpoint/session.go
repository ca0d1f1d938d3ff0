package supacheckpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/checkpoint"
)

// A Session is what a [Store] knows of a thread besides its checkpoints. Every thread
// has one from its first checkpoint on.
type Session struct {
	Thread string
	// User is the user whose thread it is, or empty for one of the service's own.
	User string
	// Proposal is what the thread is about, where the session is one of [Proposals].
	Proposal string
	// Status is "active" until [Store.PutSession] says otherwise.
	Status string
	// Start is when the session began, and LastActivity the time of the last step, or
	// of the last PutSession if that came later.
	Start, LastActivity time.Time
	// Metadata is a JSON object of the caller's own.
	Metadata json.RawMessage
	// Checkpoints is how many there are.
	Checkpoints int
}

// StatusActive is the status of a new session.
const StatusActive = "active"

// A SessionUpdate is what [Store.PutSession] sets. What is empty stays as it is.
type SessionUpdate struct {
	// Status is any name, such as "completed" or "failed".
	Status string
	// Metadata is a JSON object, which replaces that of before.
	Metadata json.RawMessage
}

// A SessionQuery selects sessions.
type SessionQuery struct {
	// Prefix keeps the threads whose ids begin with it.
	Prefix string
	// Statuses keeps the sessions that have one of them. Nil means any.
	Statuses []string
	// IdleFor keeps the sessions whose last activity was so long ago.
	IdleFor time.Duration
	// AllUsers asks for the sessions of all users, and of none. Only a store of the
	// service's own may ask for that.
	AllUsers bool
	// Limit is the most to yield or remove. Zero means all.
	Limit int
}

const (
	putSessionQuery = `SELECT weft.cp_session_put($1::text, $2::text, $3::text, $4::text::jsonb)`

	// sessionsQuery takes tenant or null; the tenant and the thread to list behind;
	// prefix, statuses, idle seconds and a limit.
	sessionsQuery = `SELECT s.tenant, s.thread_id, s.status, s.start_time, greatest(s.last_activity, t.at), s.metadata::text,
		coalesce(t.steps, 0), ''
	FROM weft.cp_session s LEFT JOIN weft.cp_thread t ON t.tenant = s.tenant AND t.id = s.thread_id
	WHERE ($1::text IS NULL OR s.tenant = $1::text) AND (s.tenant, s.thread_id) > ($2::text, $3::text)
	AND starts_with(s.thread_id, $4::text) AND ($5::text[] IS NULL OR s.status = ANY ($5::text[]))
	AND greatest(s.last_activity, t.at) <= clock_timestamp() - make_interval(secs => $6::float8)
	ORDER BY s.tenant, s.thread_id LIMIT $7::int`

	// sessionQuery takes tenant and thread.
	sessionQuery = `SELECT s.tenant, s.thread_id, s.status, s.start_time, greatest(s.last_activity, t.at), s.metadata::text,
		coalesce(t.steps, 0), ''
	FROM weft.cp_session s LEFT JOIN weft.cp_thread t ON t.tenant = s.tenant AND t.id = s.thread_id
	WHERE s.tenant = $1::text AND s.thread_id = $2::text`

	cleanQuery = `SELECT weft.cp_session_clean($1::text, $2::text, $3::text[], $4::float8, $5::int)`

	sessionPage = 100
)

func readSession(rows pgx.Rows) (s Session, err error) {
	var metadata string
	err = rows.Scan(&s.User, &s.Thread, &s.Status, &s.Start, &s.LastActivity, &metadata, &s.Checkpoints, &s.Proposal)
	s.Metadata = json.RawMessage(metadata)
	return s, err
}

// Session returns the session of a thread. It returns [checkpoint.ErrNotFound] if there
// is none.
func (s *Store) Session(ctx context.Context, thread string) (Session, error) {
	found, err := s.session(ctx, sessionQuery, s.tenant, thread)
	if err != nil {
		return Session{}, fmt.Errorf("supacheckpoint: session: thread %q: %w", thread, err)
	}
	return found, nil
}

// session reads one by a statement that takes what sessionQuery takes.
func (s *Store) session(ctx context.Context, sql, user, thread string) (Session, error) {
	if err := checkThread(thread); err != nil {
		return Session{}, err
	}
	found, there := Session{}, false
	err := s.query(ctx, sql, []any{user, thread}, func(rows pgx.Rows) (err error) {
		found, err = readSession(rows)
		there = true
		return err
	})
	if err == nil && !there {
		err = checkpoint.ErrNotFound
	}
	return found, err
}

// PutSession sets what the update says, and makes now the last activity of the
// session. It begins one if there is none.
func (s *Store) PutSession(ctx context.Context, thread string, u SessionUpdate) error {
	err := checkThread(thread)
	if err == nil {
		err = u.check()
	}
	if err == nil {
		args := []any{s.tenant, thread, optional(u.Status), optional(string(u.Metadata))}
		err = s.query(ctx, putSessionQuery, args, ignoreRow)
	}
	if err != nil {
		return fmt.Errorf("supacheckpoint: put session: thread %q: %w", thread, err)
	}
	return nil
}

func (u *SessionUpdate) check() error {
	if !storable(u.Status) {
		return fmt.Errorf("status %.40q: %w", u.Status, checkpoint.ErrInvalid)
	}
	if u.Metadata == nil {
		return nil
	}
	return checkObject("metadata", u.Metadata)
}

// Sessions yields sessions by user and thread. It reads as it goes.
func (s *Store) Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	return s.sessions(ctx, sessionsQuery, s.tenant, q)
}

// sessions reads pages by a statement that takes what sessionsQuery takes.
func (s *Store) sessions(ctx context.Context, sql, user string, q SessionQuery) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		tenant, err := s.scope(user, &q)
		last := Session{}
		for count, more := 0, true; more && err == nil; {
			limit := sessionPage
			if q.Limit > 0 {
				limit = min(limit, q.Limit-count)
			}
			var page []Session
			args := []any{tenant, last.User, last.Thread, q.Prefix, q.Statuses, q.IdleFor.Seconds(), limit}
			err = s.query(ctx, sql, args, func(rows pgx.Rows) error {
				session, err := readSession(rows)
				page = append(page, session)
				return err
			})
			if err != nil {
				break
			}
			for _, last = range page {
				if !yield(last, nil) {
					return
				}
			}
			count += len(page)
			more = len(page) == sessionPage && (q.Limit == 0 || count < q.Limit)
		}
		if err != nil {
			yield(Session{}, fmt.Errorf("supacheckpoint: sessions: %w", err))
		}
	}
}

// CleanUp removes sessions with their threads and all of their checkpoints, and returns
// how many. It passes over threads that a run has. Any number of processes may call
// it. A query without a status or an age is a [checkpoint.ErrInvalid].
func (s *Store) CleanUp(ctx context.Context, q SessionQuery) (int, error) {
	return s.cleanUp(ctx, cleanQuery, s.tenant, q)
}

// cleanUp removes by a statement that takes what cleanQuery takes.
func (s *Store) cleanUp(ctx context.Context, sql, user string, q SessionQuery) (int, error) {
	tenant, err := s.scope(user, &q)
	if err == nil && q.Statuses == nil && q.IdleFor == 0 {
		err = fmt.Errorf("neither statuses nor an age: %w", checkpoint.ErrInvalid)
	}
	removed := 0
	for err == nil && (q.Limit == 0 || removed < q.Limit) {
		n, limit := 0, sessionPage
		if q.Limit > 0 {
			limit = min(limit, q.Limit-removed)
		}
		args := []any{tenant, q.Prefix, q.Statuses, q.IdleFor.Seconds(), limit}
		err = s.queryWithin(ctx, labour, sql, args, func(rows pgx.Rows) error { return rows.Scan(&n) })
		removed += n
		if n == 0 {
			break
		}
	}
	if err != nil {
		return removed, fmt.Errorf("supacheckpoint: clean up: %w", err)
	}
	return removed, nil
}

// scope returns the tenant of a query, which is the user or, as nil, all.
func (s *Store) scope(user string, q *SessionQuery) (*string, error) {
	switch {
	case q.Limit < 0 || q.IdleFor < 0:
		return nil, fmt.Errorf("limit %d, idle for %v: %w", q.Limit, q.IdleFor, checkpoint.ErrInvalid)
	case !storable(q.Prefix + strings.Join(q.Statuses, "")):
		return nil, fmt.Errorf("a text that can not be stored: %w", checkpoint.ErrInvalid)
	case !q.AllUsers:
		return &user, nil
	case s.tenant != "":
		return nil, fmt.Errorf("all users, for one of them: %w", ErrRole)
	}
	return nil, nil
}

func ignoreRow(pgx.Rows) error { return nil }

func checkThread(thread string) error {
	if thread == "" || !storable(thread) {
		return fmt.Errorf("this can not be the id of a thread: %w", checkpoint.ErrInvalid)
	}
	return nil
}

// checkObject returns [checkpoint.ErrInvalid] for what is no JSON object, or could not
// be kept.
func checkObject(what string, data json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("%s is no JSON object: %w: %w", what, checkpoint.ErrInvalid, err)
	}
	if object == nil {
		return fmt.Errorf("%s is null: %w", what, checkpoint.ErrInvalid)
	}
	return nil
}

func storable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// optional is null for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
