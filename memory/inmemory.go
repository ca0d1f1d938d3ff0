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

	"github.com/weft-go/weft/internal/uuid"
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

// A shelf has the facts of a scope. Rows are replaced and never changed, as readers
// have them.
type shelf struct {
	scope  Scope
	rows   map[string]*Record
	valid  map[shelfKey]string // ids
	events map[string][]Event
	jobs   map[string]bool
	undo   []func() // what takes back the changes of a call, in their order
}

func newShelf(s Scope) *shelf {
	return &shelf{scope: s, rows: map[string]*Record{}, valid: map[shelfKey]string{}, events: map[string][]Event{}, jobs: map[string]bool{}}
}

// A shelfKey is what facts that say the same have in common. What is untrusted stands apart: it
// must not keep a user from saying so.
type shelfKey struct {
	kind      Kind
	key       [16]byte
	untrusted bool
}

func (r *Record) shelfKey() shelfKey { return shelfKey{r.Kind, r.Key, r.Trust == Untrusted} }

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
	if most := m.options.MaxFacts; added && most > 0 && len(f.valid) > most {
		f.takeBack()
		return nil, fmt.Errorf("more than %d facts in the scope %s: %w", most, s, ErrQuota)
	}
	f.undo = nil
	m.shelves[s] = f
	return applied, nil
}

func (f *shelf) takeBack() {
	for _, undo := range slices.Backward(f.undo) {
		undo()
	}
	f.undo = nil
}

// set makes a row the one of its id, and nil removes it.
func (f *shelf) set(id string, row *Record) {
	was := f.rows[id]
	f.undo = append(f.undo, func() { setOrDelete(f.rows, id, was, was != nil) })
	setOrDelete(f.rows, id, row, row != nil)
}

// claim makes a fact the valid one of its key, and an empty id frees the key.
func (f *shelf) claim(key shelfKey, id string) {
	was := f.valid[key]
	f.undo = append(f.undo, func() { setOrDelete(f.valid, key, was, was != "") })
	setOrDelete(f.valid, key, id, id != "")
}

func (f *shelf) note(e Event) {
	e.Scope = f.scope
	was := f.events[e.ID]
	f.undo = append(f.undo, func() { setOrDelete(f.events, e.ID, was, was != nil) })
	f.events[e.ID] = append(slices.Clip(was), e)
}

func setOrDelete[K comparable, V any](m map[K]V, key K, value V, set bool) {
	if set {
		m[key] = value
	} else {
		delete(m, key)
	}
}

// now returns times that ascend.
func (m *InMemory) now() time.Time {
	now := exact(time.Now())
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
		if scope.covers(s) && !c.Said.After(at) {
			return fmt.Errorf("what was said at %v, of the scope %s: %w", c.Said, s, ErrForgotten)
		}
	}
	return nil
}

// covers reports whether forgetting s forgets other.
func (s Scope) covers(other Scope) bool {
	return s.Tenant == other.Tenant && (s.Workspace == "" || s.Workspace == other.Workspace) &&
		(s.User == "" || s.User == other.User) && (s.Agent == "" || s.Agent == other.Agent)
}

// apply does a change.
func (f *shelf) apply(s Scope, c Change, now time.Time) (Applied, error) {
	if c.Kind == Add {
		return f.add(s, c, now)
	}
	row, ok := f.rows[c.Record.ID]
	if !ok {
		return Applied{}, fmt.Errorf("fact %s: %w", c.Record.ID, ErrNotFound)
	}
	if v := c.Record.Version; v != 0 && v != row.Version {
		return Applied{}, fmt.Errorf("fact %s has version %d and not %d: %w", row.ID, row.Version, v, ErrConflict)
	}
	next := *row
	event := Event{ID: row.ID, Kind: c.Kind, Before: row.Content, By: c.Actor, At: now}
	switch c.Kind {
	case Update:
		if err := f.update(&next, c.Record); err != nil {
			return Applied{}, err
		}
		event.After = next.Content
	case Close:
		f.close(&next, cmpTime(c.Record.ValidTo, now), "")
	case Embed:
		next.Terms, next.Embedding, next.Model = slices.Clone(c.Record.Terms), slices.Clone(c.Record.Embedding), c.Record.Model
		f.set(row.ID, &next)
		return Applied{ID: row.ID, Existed: true}, nil
	case Delete:
		f.drop(row)
		f.note(event)
		return Applied{ID: row.ID, Existed: true}, nil
	default:
		return Applied{}, fmt.Errorf("change %q: %w", c.Kind, ErrInvalid)
	}
	next.UpdatedAt, next.Version = now, row.Version+1
	f.set(row.ID, &next)
	f.note(event)
	return Applied{ID: row.ID, Existed: true}, nil
}

func (f *shelf) add(s Scope, c Change, now time.Time) (Applied, error) {
	row := c.Record.copy()
	row.Scope, row.CreatedAt, row.UpdatedAt, row.Version = s, now, now, 1
	row.ValidFrom, row.ValidTo, row.ExpiresAt = cmpTime(row.ValidFrom, now), exact(row.ValidTo), exact(row.ExpiresAt)
	if row.ID == "" {
		row.ID = uuid.New()
	}
	key := row.shelfKey()
	f.expired(row.ID, now)
	if old, ok := f.rows[row.ID]; ok {
		if old.shelfKey() != key {
			return Applied{}, fmt.Errorf("fact %s says something else: %w", row.ID, ErrConflict)
		}
		f.extend(old, &row, c.Actor, now)
		return Applied{ID: row.ID, Existed: true}, nil
	}
	f.expired(f.valid[key], now)
	id, there := f.valid[key]
	if there && slices.Contains(c.Supersedes, id) { // it says the same, and so stays
		c.Supersedes = slices.DeleteFunc(slices.Clone(c.Supersedes), func(other string) bool { return other == id })
	}
	if !there || !row.ValidTo.IsZero() {
		id, there = row.ID, false
	}
	for _, old := range c.Supersedes {
		was, ok := f.rows[old]
		if !ok {
			return Applied{}, fmt.Errorf("superseded fact %s: %w", old, ErrNotFound)
		}
		if !was.ValidTo.IsZero() {
			return Applied{}, fmt.Errorf("superseded fact %s is not valid any more: %w", old, ErrConflict)
		}
		next := *was
		f.close(&next, row.ValidFrom, id)
		next.UpdatedAt, next.Version = now, was.Version+1
		f.set(old, &next)
		f.note(Event{ID: old, Kind: Close, Before: was.Content, By: id, At: now})
	}
	if there {
		f.extend(f.rows[id], &row, c.Actor, now)
		return Applied{ID: id, Existed: true}, nil
	}
	f.set(id, &row)
	if row.ValidTo.IsZero() {
		f.claim(key, id)
	}
	f.note(Event{ID: id, Kind: Add, After: row.Content, By: c.Actor, At: now})
	return Applied{ID: id}, nil
}

// extend makes a valid fact hold for as long as what says the same, if that is longer.
func (f *shelf) extend(was, again *Record, actor string, now time.Time) {
	if !was.ValidTo.IsZero() || !again.ValidTo.IsZero() {
		return
	}
	next := *was
	if again.ExpiresAt.IsZero() || again.ExpiresAt.After(next.ExpiresAt) && !next.ExpiresAt.IsZero() {
		next.ExpiresAt = again.ExpiresAt
	}
	if again.ValidFrom.Before(next.ValidFrom) {
		next.ValidFrom = again.ValidFrom
	}
	if next.ExpiresAt.Equal(was.ExpiresAt) && next.ValidFrom.Equal(was.ValidFrom) {
		return
	}
	next.UpdatedAt, next.Version = now, was.Version+1
	f.set(was.ID, &next)
	f.note(Event{ID: was.ID, Kind: Update, Before: was.Content, After: was.Content, By: actor, At: now})
}

func (f *shelf) update(next *Record, to Record) error {
	was := next.shelfKey()
	to = to.copy()
	next.Content, next.Key, next.Terms, next.Embedding, next.Model = to.Content, to.Key, to.Terms, to.Embedding, to.Model
	next.Metadata, next.Importance, next.Trust, next.ExpiresAt = to.Metadata, to.Importance, to.Trust, exact(to.ExpiresAt)
	if !next.ValidTo.IsZero() {
		return nil
	}
	key := next.shelfKey()
	if id, ok := f.valid[key]; ok && id != next.ID {
		return fmt.Errorf("fact %s says the same already: %w", id, ErrConflict)
	}
	f.claim(was, "")
	f.claim(key, next.ID)
	return nil
}

// close ends the validity of a row, not before it began. One that has ended keeps the
// earlier end.
func (f *shelf) close(next *Record, at time.Time, by string) {
	if at.Before(next.ValidFrom) {
		at = next.ValidFrom
	}
	if key := next.shelfKey(); f.valid[key] == next.ID {
		f.claim(key, "")
	}
	if next.ValidTo.IsZero() || at.Before(next.ValidTo) {
		next.ValidTo = at
	}
	if by != "" {
		next.SupersededBy = by
	}
}

func (f *shelf) drop(row *Record) {
	key := row.shelfKey()
	if f.valid[key] == row.ID {
		f.claim(key, "")
	}
	f.set(row.ID, nil)
}

func (r *Record) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

// expired drops a row if it has expired, as Sweep would, had it come by.
func (f *shelf) expired(id string, now time.Time) {
	if row, ok := f.rows[id]; ok && row.expired(now) {
		f.expire(row, now)
	}
}

// expire drops a row that has expired.
func (f *shelf) expire(row *Record, now time.Time) {
	f.drop(row)
	f.note(Event{ID: row.ID, Kind: Delete, Before: row.Content, By: "expired", At: now})
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
			if !yield(row.copy(), nil) {
				return
			}
		}
	}
}

func (r *Record) copy() Record {
	c := *r
	c.Metadata, c.Terms, c.Embedding = bytes.Clone(r.Metadata), slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return c
}

// selected returns the rows of a query.
func (m *InMemory) selected(q *Query) []*Record {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := exact(time.Now())
	if now.Before(m.last) {
		now = m.last // what was just stored is there, also by a clock that is coarse or was set back
	}
	var rows []*Record
	add := func(f *shelf) {
		for _, row := range f.rows {
			if q.holds(row, now) {
				rows = append(rows, row)
			}
		}
	}
	if f, ok := m.shelves[q.Scope]; ok && !q.wide() {
		add(f)
		return rows
	}
	if q.wide() {
		for s, f := range m.shelves {
			if q.reaches(s) {
				add(f)
			}
		}
	}
	return rows
}

func (q *Query) wide() bool { return q.AnyWorkspace || q.AnyUser || q.AnyAgent || q.Inherit }

// reaches reports whether the query looks at a scope.
func (q *Query) reaches(s Scope) bool {
	fits := func(all bool, want, is string) bool { return all || want == is || q.Inherit && is == "" }
	return q.Scope.Tenant == s.Tenant && fits(q.AnyWorkspace, q.Scope.Workspace, s.Workspace) &&
		fits(q.AnyUser, q.Scope.User, s.User) && fits(q.AnyAgent, q.Scope.Agent, s.Agent)
}

// holds reports whether a query selects a row of a scope that it reaches.
func (q *Query) holds(r *Record, now time.Time) bool {
	switch {
	case len(q.IDs) > 0 && !slices.Contains(q.IDs, r.ID),
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind),
		q.Conversation != "" && q.Conversation != r.Conversation,
		!q.Untrusted && r.Trust == Untrusted,
		q.Without != "" && r.in(q.Without, q.Dimension),
		!q.Closed && !q.current(r, now):
		return false
	}
	for _, c := range q.Where {
		if !c.Match(r.Metadata) {
			return false
		}
	}
	return true
}

func (q *Query) current(r *Record, now time.Time) bool {
	at := q.AsOf
	if at.IsZero() {
		at = now
	}
	return !r.expired(at) && !at.Before(r.ValidFrom) && (r.ValidTo.IsZero() || at.Before(r.ValidTo))
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
		if s.covers(scope) {
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
		if s.covers(scope) {
			count += len(f.rows)
			delete(m.shelves, scope)
		}
	}
	return count, nil
}

// Sweep implements [Sweeper].
func (m *InMemory) Sweep(ctx context.Context, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, count := m.now(), 0
	for _, f := range m.shelves {
		for _, row := range f.rows {
			if count < limit && row.expired(now) {
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
	return exact(t)
}
