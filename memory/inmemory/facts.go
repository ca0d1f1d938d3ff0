package inmemory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Facts is a [driver.FactStore] in memory. Its data ends with the process. Every search reads all facts of
// its scope, so it suits tests and thousands of facts. It is safe for concurrent use.
type Facts struct {
	options Options

	mu        sync.RWMutex
	scopes    map[driver.Scope]*scopeFacts
	forgotten map[driver.Scope]time.Time // by the argument of Forget
	clock
}

// NewFacts returns an empty store.
func NewFacts(o Options) *Facts {
	return &Facts{options: o, scopes: map[driver.Scope]*scopeFacts{}, forgotten: map[driver.Scope]time.Time{}}
}

// Dump implements [driver.FactStore].
func (m *Facts) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedFact, error] {
	return each(ctx, func() []driver.SavedFact { return m.saved(s) })
}

// saved returns the data of the scopes that s covers, in order.
func (m *Facts) saved(s *driver.Scope) []driver.SavedFact {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []driver.SavedFact
	for scope, f := range m.scopes {
		if s != nil && !s.Covers(scope) {
			continue
		}
		for id, r := range f.rows {
			c := copyFact(r)
			list = append(list, driver.SavedFact{Scope: scope, ID: id, Record: &c, History: slices.Clone(f.events[id])})
		}
		for id, events := range f.events {
			if f.rows[id] == nil {
				list = append(list, driver.SavedFact{Scope: scope, ID: id, History: slices.Clone(events)})
			}
		}
	}
	slices.SortFunc(list, func(a, b driver.SavedFact) int {
		return cmp.Or(driver.CompareScopes(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
	})
	return list
}

// Restore implements [driver.FactStore].
func (m *Facts) Restore(ctx context.Context, list []driver.SavedFact) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range list {
		f := m.scopes[one.Scope]
		if f == nil {
			f = newScopeFacts(one.Scope)
			m.scopes[one.Scope] = f
		}
		if f.rows[one.ID] != nil || f.events[one.ID] != nil {
			continue
		}
		if r := one.Record; r != nil {
			c := copyFact(r)
			c.Scope = one.Scope
			f.put(one.ID, nil, &c)
			m.passed(c.UpdatedAt)
		}
		f.events[one.ID] = slices.Clone(one.History)
		for _, e := range one.History {
			m.passed(e.At)
		}
		n++
	}
	return n, nil
}

// inSpace reports whether the record has a vector of a model and, unless dimension is zero, of this
// dimension.
func inSpace(r *driver.FactRecord, model string, dimension int) bool {
	return r.Model == model && r.Embedding != nil && (dimension == 0 || dimension == len(r.Embedding))
}

// Apply implements [driver.FactStore].
func (m *Facts) Apply(ctx context.Context, s driver.Scope, changes []driver.FactChange) ([]driver.Applied, error) {
	if err := ctx.Err(); err != nil || len(changes) == 0 {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	f := m.scopes[s]
	if f == nil {
		f = newScopeFacts(s)
	}
	if job := changes[0].Job; f.jobs[job] {
		return make([]driver.Applied, len(changes)), nil
	} else if job != "" {
		f.jobs[job] = true
		f.undo = append(f.undo, func() { delete(f.jobs, job) })
	}
	applied := make([]driver.Applied, len(changes))
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
		added = added || c.Kind == driver.Add && !applied[i].Existed
	}
	if most := m.options.MaxFacts; added && most > 0 && f.count(now) > most {
		f.takeBack()
		return nil, fmt.Errorf("more than %d facts in the scope %s: %w", most, s, driver.ErrQuota)
	}
	f.undo = nil
	m.scopes[s] = f
	return applied, nil
}

// allowed returns [driver.ErrForgotten] for a fact that is older than the last Forget of its scope.
func (m *Facts) allowed(s driver.Scope, c driver.FactChange) error {
	if c.Said.IsZero() {
		return nil
	}
	for scope, at := range m.forgotten {
		if scope.Covers(s) && !c.Said.After(at) {
			return fmt.Errorf("what was said at %v, of the scope %s: %w", c.Said, s, driver.ErrForgotten)
		}
	}
	return nil
}

// Find implements [driver.FactStore].
func (m *Facts) Find(ctx context.Context, q driver.FactQuery) iter.Seq2[driver.FactRecord, error] {
	return func(yield func(driver.FactRecord, error) bool) {
		rows := m.selected(&q)
		slices.SortFunc(rows, func(a, b *driver.FactRecord) int {
			return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
		})
		limit, limited := q.Most()
		for i, row := range rows {
			if limited && i == limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(driver.FactRecord{}, err)
				return
			}
			if !yield(copyFact(row), nil) {
				return
			}
		}
	}
}

func copyFact(r *driver.FactRecord) driver.FactRecord {
	c := *r
	c.Metadata, c.Terms, c.Embedding = bytes.Clone(r.Metadata), slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return c
}

// selected returns the rows of a query.
func (m *Facts) selected(q *driver.FactQuery) []*driver.FactRecord {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := input.Exact(time.Now())
	if now.Before(m.last) {
		now = m.last // so that new facts are found even if the clock is coarse or was set back
	}
	var rows []*driver.FactRecord
	add := func(f *scopeFacts) {
		for _, row := range f.rows {
			if holdsFact(q, row, now) {
				rows = append(rows, row)
			}
		}
	}
	if f, ok := m.scopes[q.Scope]; ok && !q.Wide() {
		add(f)
		return rows
	}
	if q.Wide() {
		for s, f := range m.scopes {
			if q.Has(s) {
				add(f)
			}
		}
	}
	return rows
}

// holdsFact reports whether a query selects a row of a scope in its reach.
func holdsFact(q *driver.FactQuery, r *driver.FactRecord, now time.Time) bool {
	switch {
	case len(q.IDs) > 0 && !slices.Contains(q.IDs, r.ID),
		len(q.Kinds) > 0 && !slices.Contains(q.Kinds, r.Kind),
		q.Conversation != "" && q.Conversation != r.Conversation,
		!q.Untrusted && r.Trust == driver.Untrusted,
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

func isCurrent(q *driver.FactQuery, r *driver.FactRecord, now time.Time) bool {
	at := q.AsOf
	if at.IsZero() {
		at = now
	}
	return !factExpired(r, at) && r.ValidAt(at)
}

// History implements [driver.FactStore].
func (m *Facts) History(ctx context.Context, s driver.Scope, id string) iter.Seq2[driver.Event, error] {
	return func(yield func(driver.Event, error) bool) {
		for _, e := range m.events(s, id) {
			if err := ctx.Err(); err != nil {
				yield(driver.Event{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// events returns the events of a fact, or of all facts of the scopes that a scope covers.
func (m *Facts) events(s driver.Scope, id string) []driver.Event {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if id != "" {
		if f := m.scopes[s]; f != nil {
			return f.events[id] // append never changes the elements that a reader has
		}
		return nil
	}
	var all []driver.Event
	for scope, f := range m.scopes {
		if s.Covers(scope) {
			for _, events := range f.events {
				all = append(all, events...)
			}
		}
	}
	slices.SortFunc(all, func(a, b driver.Event) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
	return all
}

// Forget implements [driver.FactStore].
func (m *Facts) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgotten[s] = m.now()
	count := 0
	for scope, f := range m.scopes {
		if s.Covers(scope) {
			count += len(f.rows)
			delete(m.scopes, scope)
		}
	}
	return count, nil
}

// Sweep implements [driver.FactStore].
func (m *Facts) Sweep(ctx context.Context, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now, count := m.now(), 0
	for _, f := range m.scopes {
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

// Search implements [driver.FactStore]. It reads every fact that the query selects.
func (m *Facts) Search(ctx context.Context, s driver.FactSearch) (driver.FactCandidates, error) {
	rows := m.selected(&s.Query)
	c := driver.FactCandidates{Facts: int64(len(rows)), Frequency: make([]int64, len(s.Terms))}
	corpus := rank.Corpus{Docs: c.Facts, Frequency: map[string]int64{}}
	for _, row := range rows {
		c.Terms += int64(len(row.Terms))
		for i, term := range s.Terms {
			if slices.Contains(row.Terms, term) {
				c.Frequency[i]++
				corpus.Frequency[term]++
			}
		}
	}
	corpus.Terms = c.Terms
	words := rank.NewWords(s.Terms, corpus)
	var byWords, byVector []hit
	for _, row := range rows {
		if score := words.Score(row.Terms); score > 0 {
			byWords = append(byWords, hit{row, score})
		}
		if s.Embedding != nil && row.Embedding != nil && row.Model == s.Model && len(row.Embedding) == len(s.Embedding) {
			byVector = append(byVector, hit{row, rank.Cosine(row.Embedding, s.Embedding)})
		}
	}
	if err := ctx.Err(); err != nil {
		return driver.FactCandidates{}, err
	}
	seen := map[*driver.FactRecord]bool{} // by row, since ids are unique only in a scope
	for _, hits := range [][]hit{best(byWords, s.Limit), best(byVector, s.Limit)} {
		for _, h := range hits {
			if !seen[h.row] {
				seen[h.row] = true
				c.Records = append(c.Records, copyFact(h.row))
			}
		}
	}
	return c, nil
}

// Scopes implements [driver.FactStore].
func (m *Facts) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return each(ctx, func() []driver.Scope {
		m.mu.RLock()
		defer m.mu.RUnlock()
		return slices.Collect(maps.Keys(m.scopes))
	})
}
