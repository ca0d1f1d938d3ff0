package inmemory

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

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Conversations is a [driver.ConversationStore] in memory. Its data ends with the process. It is safe for
// concurrent use.
type Conversations struct {
	options Options

	mu        sync.RWMutex
	sessions  map[sessionKey]*sessionRow
	forgotten map[sessionKey]time.Time // an empty session stands for the whole scope
	clock
	version int64
}

type sessionKey struct {
	scope   driver.Scope
	session string
}

// A sessionRow is a stored session. It is replaced and never changed, since readers share it.
type sessionRow struct {
	driver.Session
	rows []driver.MessageRow
}

// NewConversations returns an empty store.
func NewConversations(o Options) *Conversations {
	return &Conversations{options: o, sessions: map[sessionKey]*sessionRow{}, forgotten: map[sessionKey]time.Time{}}
}

// Dump implements [driver.ConversationStore].
func (m *Conversations) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSession, error] {
	return each(ctx, func() (list []driver.SavedSession) {
		for _, t := range m.within(s) {
			list = append(list, t.saved())
		}
		return list
	})
}

// within returns the sessions of the scopes that s covers, in order.
func (m *Conversations) within(s *driver.Scope) []*sessionRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*sessionRow
	for _, t := range m.sessions {
		if s == nil || s.Covers(t.Scope) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *sessionRow) int {
		return cmp.Or(driver.CompareScopes(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
	})
	return list
}

func (t *sessionRow) saved() driver.SavedSession {
	one := driver.SavedSession{Session: copySession(t.Session), Rows: make([]driver.MessageRow, len(t.rows))}
	for i, r := range t.rows {
		one.Rows[i] = copyMessage(r)
	}
	return one
}

// Restore implements [driver.ConversationStore].
func (m *Conversations) Restore(ctx context.Context, list []driver.SavedSession) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range list {
		at := sessionKey{one.Scope, one.ID}
		if m.sessions[at] != nil {
			continue
		}
		m.version++
		t := &sessionRow{Session: one.Session, rows: one.Rows}
		one = t.saved()
		t.Session, t.rows = one.Session, one.Rows
		for i := range t.rows {
			r := &t.rows[i]
			r.Scope, r.Session, r.Position = t.Scope, t.ID, int64(i)+1
		}
		t.Messages, t.Version = int64(len(t.rows)), m.version
		m.sessions[at] = t
		if t.UpdatedAt.After(m.last) {
			m.last = t.UpdatedAt
		}
		n++
	}
	return n, nil
}

// Apply implements [driver.ConversationStore].
func (m *Conversations) Apply(ctx context.Context, s driver.Scope, c driver.SessionChange) (driver.Session, error) {
	if err := ctx.Err(); err != nil {
		return driver.Session{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := sessionKey{s, c.Session}
	was, there := m.sessions[at]
	if err := m.allowed(at, was, c); err != nil {
		return driver.Session{}, err
	}
	now := m.now()
	if c.Delete {
		delete(m.sessions, at)
		m.forgotten[at] = now
		return copySession(was.Session), nil
	}
	next := sessionRow{Session: driver.Session{ID: c.Session, Scope: s, CreatedAt: now}}
	if there {
		next = *was
	}
	if c.Describe != nil {
		next.Title, next.Metadata = c.Describe.Title, bytes.Clone(c.Describe.Metadata)
	}
	next.cut(c.From)
	next.add(c, now)
	if most := m.options.MaxMessages; most > 0 && len(next.rows) > most && (!there || len(next.rows) > len(was.rows)) {
		return driver.Session{}, fmt.Errorf("session %.60q would have %d messages, and %d are allowed: %w", c.Session, len(next.rows), most, driver.ErrQuota)
	}
	m.version++
	next.Messages, next.UpdatedAt, next.Version = int64(len(next.rows)), now, m.version
	m.sessions[at] = &next
	return copySession(next.Session), nil
}

// allowed returns an error if a change must not be applied.
func (m *Conversations) allowed(at sessionKey, was *sessionRow, c driver.SessionChange) error {
	switch {
	case was == nil && (c.Delete || c.Describe != nil || c.From != 0):
		return fmt.Errorf("session %.60q: %w", c.Session, driver.ErrNotFound)
	case was == nil && c.Version > 0:
		return fmt.Errorf("session %.60q is not there: %w", c.Session, driver.ErrConflict)
	case was != nil && c.Version != 0 && c.Version != was.Version:
		return fmt.Errorf("session %.60q has version %d and not %d: %w", c.Session, was.Version, c.Version, driver.ErrConflict)
	}
	return m.late(at, c)
}

// late returns [driver.ErrForgotten] if the messages are older than the last Forget or Delete.
func (m *Conversations) late(at sessionKey, c driver.SessionChange) error {
	if c.Said.IsZero() {
		return nil
	}
	for gone, when := range m.forgotten {
		if (gone == at || gone.session == "" && gone.scope.Covers(at.scope)) && !c.Said.After(when) {
			return fmt.Errorf("session %.60q, and what was said at %v: %w", c.Session, c.Said, driver.ErrForgotten)
		}
	}
	return nil
}

// cut removes the rows from a position on. The remaining rows share no memory with rows that are appended
// later.
func (t *sessionRow) cut(from int64) {
	if from > 0 {
		t.rows = slices.Clip(t.rows[:min(int64(len(t.rows)), from-1)])
	}
}

func (t *sessionRow) add(c driver.SessionChange, now time.Time) {
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

func copyMessage(r driver.MessageRow) driver.MessageRow {
	r.Data, r.Terms = bytes.Clone(r.Data), slices.Clone(r.Terms)
	return r
}

func copySession(s driver.Session) driver.Session {
	s.Metadata = bytes.Clone(s.Metadata)
	return s
}

// Sessions implements [driver.ConversationStore].
func (m *Conversations) Sessions(ctx context.Context, q driver.SessionQuery) iter.Seq2[driver.Session, error] {
	return func(yield func(driver.Session, error) bool) {
		found := m.selected(&q)
		slices.SortFunc(found, func(a, b *sessionRow) int { return -compareSessions(&a.Session, &b.Session) })
		limit, limited := q.Most()
		for i, t := range found {
			if limited && i == limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(driver.Session{}, err)
				return
			}
			if !yield(copySession(t.Session), nil) {
				return
			}
		}
	}
}

// compareSessions orders sessions by the time of their last change.
func compareSessions(s *driver.Session, other *driver.Session) int {
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
func (m *Conversations) selected(q *driver.SessionQuery) []*sessionRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []*sessionRow
	for _, t := range m.sessions {
		if selectsSession(q, &t.Session) {
			found = append(found, t)
		}
	}
	return found
}

func selectsSession(q *driver.SessionQuery, s *driver.Session) bool {
	switch {
	case !q.Has(s.Scope),
		q.ID != "" && s.ID != q.ID,
		!strings.HasPrefix(s.ID, q.Prefix),
		q.After != nil && compareSessions(s, q.After) >= 0:
		return false
	}
	return !slices.ContainsFunc(q.Where, func(c driver.Condition) bool { return !c.Match(s.Metadata) })
}

// Messages implements [driver.ConversationStore].
func (m *Conversations) Messages(ctx context.Context, r driver.MessageRange) iter.Seq2[driver.MessageRow, error] {
	return func(yield func(driver.MessageRow, error) bool) {
		m.mu.RLock()
		t := m.sessions[sessionKey{r.Scope, r.Session}]
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
				yield(driver.MessageRow{}, err)
				return
			}
			if !yield(copyMessage(row), nil) {
				return
			}
		}
	}
}

// Forget implements [driver.ConversationStore].
func (m *Conversations) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[sessionKey{scope: s}] = m.now()
	n := 0
	for at := range m.sessions {
		if s.Covers(at.scope) {
			delete(m.sessions, at)
			n++
		}
	}
	return n, nil
}

// Sweep implements [driver.ConversationStore].
func (m *Conversations) Sweep(ctx context.Context, s driver.Scope, age time.Duration, limit int) (int, error) {
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

// Search implements [driver.ConversationStore]. It reads every selected message.
func (m *Conversations) Search(ctx context.Context, s driver.MessageSearch) (driver.MessageCandidates, error) {
	c := driver.MessageCandidates{Frequency: make([]int64, len(s.Terms))}
	var hits []messageHit
	q := s.Query
	q.After = nil
	for _, t := range m.selected(&q) {
		if err := ctx.Err(); err != nil {
			return driver.MessageCandidates{}, err
		}
		for i := range t.rows {
			row := &t.rows[i]
			if !selectsMessage(&s, row) {
				continue
			}
			if countMessage(&c, row, s.Terms) {
				hits = append(hits, messageHit{row: row})
			}
		}
	}
	corpus := rank.Corpus{Docs: c.Messages, Terms: c.Terms, Frequency: map[string]int64{}}
	for i, term := range s.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	words := rank.NewWords(s.Terms, corpus)
	for i := range hits {
		hits[i].score = words.Score(hits[i].row.Terms)
	}
	slices.SortFunc(hits, func(a, b messageHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), b.row.At.Compare(a.row.At), cmp.Compare(b.row.Position, a.row.Position))
	})
	for _, h := range hits[:min(len(hits), max(0, s.Limit))] {
		c.Rows = append(c.Rows, copyMessage(*h.row))
	}
	return c, nil
}
