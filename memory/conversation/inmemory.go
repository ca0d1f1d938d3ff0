package conversation

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// InMemoryOptions configures [NewInMemory]. Its zero value works.
type InMemoryOptions struct {
	// MaxMessages is how many messages a session may have. Zero means any number.
	MaxMessages int
}

// InMemory is a [Store] that ends with the process. It is safe for use by any number of
// goroutines.
type InMemory struct {
	options InMemoryOptions

	mu        sync.RWMutex
	sessions  map[place]*talk
	forgotten map[place]time.Time // of no session: a scope, as it was asked for
	last      time.Time
	version   int64
}

type place struct {
	scope   memory.Scope
	session string
}

// A talk is a session. It is replaced and never changed, as readers have it.
type talk struct {
	Session
	rows []Row
}

// NewInMemory returns an empty store.
func NewInMemory(o InMemoryOptions) *InMemory {
	return &InMemory{options: o, sessions: map[place]*talk{}, forgotten: map[place]time.Time{}}
}

// now returns times that ascend.
func (m *InMemory) now() time.Time {
	now := input.Exact(time.Now())
	if !now.After(m.last) {
		now = m.last.Add(time.Microsecond)
	}
	m.last = now
	return now
}

// Apply implements [Store].
func (m *InMemory) Apply(ctx context.Context, s memory.Scope, c Change) (Session, error) {
	if err := ctx.Err(); err != nil {
		return Session{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := place{s, c.Session}
	was, there := m.sessions[at]
	if err := m.allowed(at, was, c); err != nil {
		return Session{}, err
	}
	now := m.now()
	if c.Delete {
		delete(m.sessions, at)
		m.forgotten[at] = now
		return copySession(was.Session), nil
	}
	next := talk{Session: Session{ID: c.Session, Scope: s, CreatedAt: now}}
	if there {
		next = *was
	}
	if c.Describe != nil {
		next.Title, next.Metadata = c.Describe.Title, bytes.Clone(c.Describe.Metadata)
	}
	next.cut(c.From)
	next.add(c, now)
	if most := m.options.MaxMessages; most > 0 && len(next.rows) > most && (!there || len(next.rows) > len(was.rows)) {
		return Session{}, fmt.Errorf("session %.60q would have %d messages, and %d are allowed: %w", c.Session, len(next.rows), most, memory.ErrQuota)
	}
	m.version++
	next.Messages, next.UpdatedAt, next.Version = int64(len(next.rows)), now, m.version
	m.sessions[at] = &next
	return copySession(next.Session), nil
}

// allowed returns what is against a change.
func (m *InMemory) allowed(at place, was *talk, c Change) error {
	switch {
	case was == nil && (c.Delete || c.Describe != nil || c.From != 0):
		return fmt.Errorf("session %.60q: %w", c.Session, memory.ErrNotFound)
	case was == nil && c.Version > 0:
		return fmt.Errorf("session %.60q is not there: %w", c.Session, memory.ErrConflict)
	case was != nil && c.Version != 0 && c.Version != was.Version:
		return fmt.Errorf("session %.60q has version %d and not %d: %w", c.Session, was.Version, c.Version, memory.ErrConflict)
	}
	return m.late(at, c)
}

// late returns [memory.ErrForgotten] for what was said before it was forgotten.
func (m *InMemory) late(at place, c Change) error {
	if c.Said.IsZero() {
		return nil
	}
	for gone, when := range m.forgotten {
		if (gone == at || gone.session == "" && gone.scope.Covers(at.scope)) && !c.Said.After(when) {
			return fmt.Errorf("session %.60q, and what was said at %v: %w", c.Session, c.Said, memory.ErrForgotten)
		}
	}
	return nil
}

// cut removes the rows from a position on. The rows that stay are not shared with those
// that will be appended.
func (t *talk) cut(from int64) {
	if from > 0 {
		t.rows = slices.Clip(t.rows[:min(int64(len(t.rows)), from-1)])
	}
}

func (t *talk) add(c Change, now time.Time) {
	ids, keys := map[string]bool{}, map[[16]byte]bool{}
	for _, r := range t.rows {
		ids[r.ID], keys[r.Key] = true, true
	}
	for _, r := range c.Rows {
		if ids[r.ID] || c.Once && keys[r.Key] {
			continue
		}
		ids[r.ID], keys[r.Key] = true, true
		r = copyMessage(r)
		r.Scope, r.Session, r.Position, r.At = t.Scope, t.ID, int64(len(t.rows))+1, now
		t.rows = append(t.rows, r)
	}
}

func copyMessage(r Row) Row {
	r.Data, r.Terms = bytes.Clone(r.Data), slices.Clone(r.Terms)
	return r
}

func copySession(s Session) Session {
	s.Metadata = bytes.Clone(s.Metadata)
	return s
}

// Sessions implements [Store].
func (m *InMemory) Sessions(ctx context.Context, q Query) iter.Seq2[Session, error] {
	return func(yield func(Session, error) bool) {
		found := m.selected(&q)
		slices.SortFunc(found, func(a, b *talk) int { return -compareSessions(&a.Session, &b.Session) })
		limit, limited := q.Most()
		for i, t := range found {
			if limited && i == limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(Session{}, err)
				return
			}
			if !yield(copySession(t.Session), nil) {
				return
			}
		}
	}
}

// compare orders sessions by when they were changed.
func compareSessions(s *Session, other *Session) int {
	return cmp.Or(
		s.UpdatedAt.Compare(other.UpdatedAt),
		strings.Compare(s.ID, other.ID),
		strings.Compare(s.Scope.Tenant, other.Scope.Tenant),
		strings.Compare(s.Scope.Workspace, other.Scope.Workspace),
		strings.Compare(s.Scope.User, other.Scope.User),
		strings.Compare(s.Scope.Agent, other.Scope.Agent),
	)
}

// selected returns the sessions of a query.
func (m *InMemory) selected(q *Query) []*talk {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []*talk
	for _, t := range m.sessions {
		if selectsSession(q, &t.Session) {
			found = append(found, t)
		}
	}
	return found
}

func selectsSession(q *Query, s *Session) bool {
	switch {
	case s.Scope.Tenant != q.Scope.Tenant,
		!q.AnyWorkspace && s.Scope.Workspace != q.Scope.Workspace,
		!q.AnyUser && s.Scope.User != q.Scope.User,
		!q.AnyAgent && s.Scope.Agent != q.Scope.Agent,
		q.ID != "" && s.ID != q.ID,
		!strings.HasPrefix(s.ID, q.Prefix),
		q.After != nil && compareSessions(s, q.After) >= 0:
		return false
	}
	return !slices.ContainsFunc(q.Where, func(c memory.Condition) bool { return !c.Match(s.Metadata) })
}

// Messages implements [Store].
func (m *InMemory) Messages(ctx context.Context, r Range) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		m.mu.RLock()
		t := m.sessions[place{r.Scope, r.Session}]
		m.mu.RUnlock()
		if t == nil {
			return
		}
		rows := t.rows
		if r.To > 0 {
			rows = rows[:min(int64(len(rows)), r.To)]
		}
		if r.From > 0 {
			rows = rows[min(int64(len(rows)), r.From-1):]
		}
		if r.Last > 0 {
			rows = rows[max(0, len(rows)-r.Last):]
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				yield(Row{}, err)
				return
			}
			if !yield(copyMessage(row), nil) {
				return
			}
		}
	}
}

// Forget implements [Store].
func (m *InMemory) Forget(ctx context.Context, s memory.Scope) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[place{scope: s}] = m.now()
	n := 0
	for at := range m.sessions {
		if s.Covers(at.scope) {
			delete(m.sessions, at)
			n++
		}
	}
	return n, nil
}

// Sweep implements [Store].
func (m *InMemory) Sweep(ctx context.Context, s memory.Scope, age time.Duration, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := input.Exact(time.Now()).Add(-age)
	n := 0
	for at, t := range m.sessions {
		if n < limit && s.Covers(at.scope) && t.UpdatedAt.Before(old) {
			delete(m.sessions, at)
			n++
		}
	}
	return n, nil
}
