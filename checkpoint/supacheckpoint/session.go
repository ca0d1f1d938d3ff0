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

// A Session has the status, times and metadata of a thread. The first checkpoint of a
// thread creates its session.
type Session struct {
	Thread string
	// User is the id of the user of the thread. It is empty for a thread of the service.
	User string
	// Proposal is the id of the proposal. It is set for sessions of [Proposals].
	Proposal string
	// Status is "active" until [Store.PutSession] changes it.
	Status string
	// Start is the time at which the session was created. LastActivity is the time of the
	// last checkpoint or of the last PutSession, whichever is later.
	Start, LastActivity time.Time
	// Metadata is a JSON object that the caller defines.
	Metadata json.RawMessage
	// Checkpoints is the number of checkpoints of the thread.
	Checkpoints int
}

// StatusActive is the status of a new session.
const StatusActive = "active"

// A SessionUpdate has the fields that [Store.PutSession] sets. Empty fields are unchanged.
type SessionUpdate struct {
	// Status is any name, such as "completed" or "failed".
	Status string
	// Metadata is a JSON object, which replaces the previous one.
	Metadata json.RawMessage
}

// A SessionQuery selects sessions.
type SessionQuery struct {
	// Prefix selects threads whose ids begin with it.
	Prefix string
	// Statuses selects sessions with one of these statuses. Nil means any.
	Statuses []string
	// IdleFor selects sessions whose last activity is at least this long ago.
	IdleFor time.Duration
	// AllUsers selects the sessions of all users and of the service. It is only allowed
	// on a store without a user.
	AllUsers bool
	// Limit is the maximum number to yield or remove. Zero means no limit.
	Limit int
}

const (
	putSessionQuery = `SELECT weft.cp_session_put($1::text, $2::text, $3::text, $4::text::jsonb)`

	// sessionsQuery has the parameters tenant or null; tenant and thread of the last
	// session of the previous page; prefix, statuses, idle seconds and limit.
	sessionsQuery = `SELECT s.tenant, s.thread_id, s.status, s.start_time, greatest(s.last_activity, t.at), s.metadata::text,
		coalesce(t.steps, 0), ''
	FROM weft.cp_session s LEFT JOIN weft.cp_thread t ON t.tenant = s.tenant AND t.id = s.thread_id
	WHERE ($1::text IS NULL OR s.tenant = $1::text) AND (s.tenant, s.thread_id) > ($2::text, $3::text)
	AND starts_with(s.thread_id, $4::text) AND ($5::text[] IS NULL OR s.status = ANY ($5::text[]))
	AND greatest(s.last_activity, t.at) <= clock_timestamp() - make_interval(secs => $6::float8)
	ORDER BY s.tenant, s.thread_id LIMIT $7::int`

	// sessionQuery has the parameters tenant and thread.
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

// session reads a session. The statement has the parameters of sessionQuery.
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

// PutSession updates the session of a thread and sets its last activity to the current
// time. It creates the session if there is none.
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

// Sessions yields sessions in the order of user and thread. It reads them in pages.
func (s *Store) Sessions(ctx context.Context, q SessionQuery) iter.Seq2[Session, error] {
	return s.sessions(ctx, sessionsQuery, s.tenant, q)
}

// sessions reads pages of sessions. The statement has the parameters of sessionsQuery.
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

// CleanUp removes sessions with their threads and checkpoints. It returns the number of removed
// sessions. It skips threads with an active run. Several processes may call it concurrently.
// CleanUp returns [checkpoint.ErrInvalid] for a query with neither Statuses nor IdleFor.
func (s *Store) CleanUp(ctx context.Context, q SessionQuery) (int, error) {
	return s.cleanUp(ctx, cleanQuery, s.tenant, q)
}

// cleanUp removes sessions in batches. The statement has the parameters of cleanQuery.
func (s *Store) cleanUp(ctx context.Context, sql, user string, q SessionQuery) (int, error) {
	tenant, err := s.scope(user, &q)
	if err == nil && q.Statuses == nil && q.IdleFor == 0 {
		err = fmt.Errorf("set Statuses or IdleFor: %w", checkpoint.ErrInvalid)
	}
	removed := 0
	for err == nil && (q.Limit == 0 || removed < q.Limit) {
		n, limit := 0, sessionPage
		if q.Limit > 0 {
			limit = min(limit, q.Limit-removed)
		}
		args := []any{tenant, q.Prefix, q.Statuses, q.IdleFor.Seconds(), limit}
		err = s.queryWithin(ctx, longTimeout, sql, args, func(rows pgx.Rows) error { return rows.Scan(&n) })
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

// scope returns the tenant of a query. Nil means all tenants.
func (s *Store) scope(user string, q *SessionQuery) (*string, error) {
	switch {
	case q.Limit < 0 || q.IdleFor < 0:
		return nil, fmt.Errorf("limit %d, idle for %v: %w", q.Limit, q.IdleFor, checkpoint.ErrInvalid)
	case !storable(q.Prefix + strings.Join(q.Statuses, "")):
		return nil, fmt.Errorf("the prefix or a status is not valid UTF-8 without NUL: %w", checkpoint.ErrInvalid)
	case !q.AllUsers:
		return &user, nil
	case s.tenant != "":
		return nil, fmt.Errorf("AllUsers is not allowed on a store of a user: %w", ErrRole)
	}
	return nil, nil
}

func ignoreRow(pgx.Rows) error { return nil }

func checkThread(thread string) error {
	if thread == "" || !storable(thread) {
		return fmt.Errorf("the thread id must be non-empty UTF-8 without NUL: %w", checkpoint.ErrInvalid)
	}
	return nil
}

// checkObject returns [checkpoint.ErrInvalid] unless data is a JSON object.
func checkObject(name string, data json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil {
		return fmt.Errorf("%s is no JSON object: %w: %w", name, checkpoint.ErrInvalid, err)
	}
	if object == nil {
		return fmt.Errorf("%s is null: %w", name, checkpoint.ErrInvalid)
	}
	return nil
}

func storable(text string) bool {
	return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0
}

// optional returns nil for an empty text.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
