package memory

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

	"github.com/weft-go/weft/memory/internal/input"
)

// InMemoryOptions configures [NewInMemory]. Its zero value works.
type InMemoryOptions struct {
	// MaxFacts is how many valid facts a scope may have. Zero means any number.
	MaxFacts int
}

// InMemory is a [Store] that ends with the process. Every search reads all facts of
// its scope, so it suits tests and thousands of facts. It is safe for use by any number
// of goroutines.
type InMemory struct {
	options InMemoryOptions

	mu        sync.RWMutex
	shelves   map[Scope]*shelf
	forgotten map[Scope]time.Time // by the scope as it was asked for
	last      time.Time
}

// NewInMemory returns an empty store.
func NewInMemory(o InMemoryOptions) *InMemory {
	return &InMemory{options: o, shelves: map[Scope]*shelf{}, forgotten: map[Scope]time.Time{}}
}

// Apply implements [Store].
func (m *InMemory) Apply(ctx context.Context, s Scope, changes []Change) ([]Applied, error) {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	f := m.shelves[s]
	if f == nil {
		f = newShelf(s)
	}
	if job := changes[0].Job; f.jobs[job] {
		return make([]Applied, len(changes)), nil
	} else if job != "" {
		f.jobs[job] = true
		f.undo = append(f.undo, func() { delete(f.jobs, job) })
	}
	applied := make([]Applied, len(changes))
	added := false
	for i, c := range changes {
		err := m.allowed(s, c)
		if err == nil {
			applied[i], err = f.apply(s, c, now)
		}
		if err != nil {
			f.takeBack()
			return nil, fmt.Errorf("change %d: %w", i, err)
		}
		added = added || c.Kind == Add && !applied[i].Existed
	}
	if most := m.options.MaxFacts; added && most > 0 && f.count(now) > most {
		f.takeBack()
		return nil, fmt.Errorf("more than %d facts in the scope %s: %w", most, s, ErrQuota)
	}
	f.undo = nil
	m.shelves[s] = f
	return applied, nil
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

// allowed returns [ErrForgotten] for what was said before its scope was forgotten.
func (m *InMemory) allowed(s Scope, c Change) error {
	if c.Said.IsZero() {
		return nil
	}
	for scope, at := range m.forgotten {
		if scope.Covers(s) && !c.Said.After(at) {
			return fmt.Errorf("what was said at %v, of the scope %s: %w", c.Said, s, ErrForgotten)
		}
	}
	return nil
}

// covers reports whether forgetting s forgets other.
func (s Scope) Covers(other Scope) bool {
	return s.Tenant == other.Tenant && (s.Workspace == "" || s.Workspace == other.Workspace) &&
		(s.User == "" || s.User == other.User) && (s.Agent == "" || s.Agent == other.Agent)
}

// Find implements [Store].
func (m *InMemory) Find(ctx context.Context, q Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		rows := m.selected(&q)
		slices.SortFunc(rows, func(a, b *Record) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
		})
		limit, limited := q.Most()
		for i, row := range rows {
			if limited && i == limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(Record{}, err)
				return
			}
			if !yield(copyFact(row), nil) {
				return
			}
		}
	}
}

func copyFact(r *Record) Record {
	c := *r
	c.Metadata, c.Terms, c.Embedding = bytes.Clone(r.Metadata), slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return c
}

// selected returns the rows of a query.
func (m *InMemory) selected(q *Query) []*Record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := input.Exact(time.Now())
	if now.Before(m.last) {
		now = m.last // what was just stored is there, also by a clock that is coarse or was set back
	}
	var rows []*Record
	add := func(f *shelf) {
		for _, row := range f.rows {
			if holdsFact(q, row, now) {
				rows = append(rows, row)
			}
		}
	}
	if f, ok := m.shelves[q.Scope]; ok && !isWide(q) {
		add(f)
		return rows
	}
	if isWide(q) {
		for s, f := range m.shelves {
			if reachesScope(q, s) {
				add(f)
			}
		}
	}
	return rows
}

func isWide(q *Query) bool { return q.AnyWorkspace || q.AnyUser || q.AnyAgent || q.Inherit }

// reaches reports whether the query looks at a scope.
func reachesScope(q *Query, s Scope) bool {
	fits := func(all bool, want, is string) bool { return all || want == is || q.Inherit && is == "" }
	return q.Scope.Tenant == s.Tenant && fits(q.AnyWorkspace, q.Scope.Workspace, s.Workspace) &&
		fits(q.AnyUser, q.Scope.User, s.User) && fits(q.AnyAgent, q.Scope.Agent, s.Agent)
}

// holds reports whether a query selects a row of a scope that it reaches.
func holdsFact(q *Query, r *Record, now time.Time) bool {
	switch {
	case len(q.IDs) > 0 && !slices.Contains(q.IDs, r.ID),
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind),
		q.Conversation != "" && q.Conversation != r.Conversation,
		!q.Untrusted && r.Trust == Untrusted,
		q.Without != "" && inSpace(r, q.Without, q.Dimension),
		!q.Closed && !isCurrent(q, r, now):
		return false
	}
	for _, c := range q.Where {
		if !c.Match(r.Metadata) {
			return false
		}
	}
	return true
}

func isCurrent(q *Query, r *Record, now time.Time) bool {
	at := q.AsOf
	if at.IsZero() {
		at = now
	}
	return !factExpired(r, at) && r.ValidAt(at)
}

// History implements [Store].
func (m *InMemory) History(ctx context.Context, s Scope, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for _, e := range m.events(s, id) {
			if err := ctx.Err(); err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// events returns those of a fact, or of all facts of the scopes that a scope covers.
func (m *InMemory) events(s Scope, id string) []Event {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if id != "" {
		if f := m.shelves[s]; f != nil {
			return f.events[id] // only ever appended to, in another array
		}
		return nil
	}
	var all []Event
	for scope, f := range m.shelves {
		if s.Covers(scope) {
			for _, events := range f.events {
				all = append(all, events...)
			}
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return all
}

// Forget implements [Store].
func (m *InMemory) Forget(ctx context.Context, s Scope) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[s] = m.now()
	count := 0
	for scope, f := range m.shelves {
		if s.Covers(scope) {
			count += len(f.rows)
			delete(m.shelves, scope)
		}
	}
	return count, nil
}

// Sweep implements [Store].
func (m *InMemory) Sweep(ctx context.Context, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, count := m.now(), 0
	for _, f := range m.shelves {
		for _, row := range f.rows {
			if count < limit && factExpired(row, now) {
				f.expire(row, now)
				count++
			}
		}
		f.undo = nil
	}
	return count, nil
}

func cmpTime(t, otherwise time.Time) time.Time {
	if t.IsZero() {
		return otherwise
	}
	return input.Exact(t)
}
