package inmemory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Values is a [driver.ValueStore] in memory. Its data ends with the process. Every listing and search reads
// all values of its scope. It is safe for concurrent use.
type Values struct {
	options Options

	mu     sync.RWMutex
	scopes map[driver.Scope]map[string]*valueRow // by their paths
	clock
	version int64
}

// A valueRow is a stored value. It is replaced and never changed, since readers share it.
type valueRow struct {
	driver.ValueRecord
	ttl     time.Duration
	refresh bool
}

// NewValues returns an empty store.
func NewValues(o Options) *Values {
	return &Values{options: o, scopes: map[driver.Scope]map[string]*valueRow{}}
}

// Dump implements [driver.ValueStore].
func (m *Values) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedValue, error] {
	return each(ctx, func() []driver.SavedValue { return m.saved(s) })
}

// saved returns the values of the scopes that s covers, in order.
func (m *Values) saved(s *driver.Scope) []driver.SavedValue {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := time.Now()
	var list []driver.SavedValue
	for scope, rows := range m.scopes {
		if s != nil && !s.Covers(scope) {
			continue
		}
		for _, r := range rows {
			if r.expired(now) {
				continue
			}
			one := driver.SavedValue{Scope: scope, ValueRecord: r.copy()}
			if r.refresh {
				one.TTL = r.ttl
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b driver.SavedValue) int {
		return cmp.Or(driver.CompareScopes(a.Scope, b.Scope), a.Address.Compare(b.Address))
	})
	return list
}

// Restore implements [driver.ValueStore].
func (m *Values) Restore(ctx context.Context, list []driver.SavedValue) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	n := 0
	for _, one := range list {
		rows := m.scopes[one.Scope]
		if rows == nil {
			rows = map[string]*valueRow{}
			m.scopes[one.Scope] = rows
		}
		if old := rows[one.Path()]; old != nil && !old.expired(now) {
			continue
		}
		r := valueRow{ValueRecord: one.ValueRecord, ttl: one.TTL, refresh: one.TTL > 0}
		r.ValueRecord = r.copy()
		m.version++
		r.Version = m.version
		rows[one.Path()] = &r
		if r.UpdatedAt.After(m.last) {
			m.last = r.UpdatedAt
		}
		n++
	}
	return n, nil
}

func (r *valueRow) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

func (r *valueRow) copy() driver.ValueRecord {
	c := r.ValueRecord
	c.Namespace, c.Value = slices.Clone(r.Namespace), bytes.Clone(r.Value)
	c.Terms, c.Embedding = slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return c
}

// Apply implements [driver.ValueStore].
func (m *Values) Apply(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) ([]driver.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	rows := m.scopes[s]
	if rows == nil {
		rows = map[string]*valueRow{}
	}
	was := map[string]*valueRow{} // the rows to restore if a write fails
	undo := func() {
		for path, r := range was {
			setRow(rows, path, r)
		}
	}
	items := make([]driver.Item, len(writes))
	grew := false
	for i, w := range writes {
		path := w.Path()
		old := rows[path]
		if _, noted := was[path]; !noted {
			was[path] = old
		}
		if old != nil && old.expired(now) {
			old = nil
		}
		if err := allowsWrite(&w, old); err != nil {
			undo()
			return nil, fmt.Errorf("write %d: %w", i, err)
		}
		next := m.next(w, old, now)
		grew = grew || old == nil && next != nil
		setRow(rows, path, next)
		items[i] = driver.Item{Address: driver.Address{Namespace: slices.Clone(w.Namespace), Key: w.Key}}
		if next != nil {
			items[i] = next.copy().Item
		}
	}
	if most := m.options.MaxValues; grew && most > 0 && aliveValues(rows, now) > most {
		undo()
		return nil, fmt.Errorf("more than %d values in the scope %s: %w", most, s, driver.ErrQuota)
	}
	m.scopes[s] = rows
	return items, nil
}

func setRow(rows map[string]*valueRow, path string, r *valueRow) {
	if r == nil {
		delete(rows, path)
	} else {
		rows[path] = r
	}
}

func aliveValues(rows map[string]*valueRow, now time.Time) (n int) {
	for _, r := range rows {
		if !r.expired(now) {
			n++
		}
	}
	return n
}

func allowsWrite(w *driver.ValueWrite, old *valueRow) error {
	switch {
	case w.Version == driver.Absent && old != nil:
		return fmt.Errorf("key %.60q of the namespace %q is there: %w", w.Key, w.Namespace, driver.ErrConflict)
	case w.Version > 0 && old == nil:
		return fmt.Errorf("key %.60q of the namespace %q is not there: %w", w.Key, w.Namespace, driver.ErrConflict)
	case w.Version > 0 && w.Version != old.Version:
		return fmt.Errorf("key %.60q of the namespace %q has version %d and not %d: %w", w.Key, w.Namespace, old.Version, w.Version, driver.ErrConflict)
	}
	return nil
}

// next returns the row after a write, or nil if the write removes it.
func (m *Values) next(w driver.ValueWrite, old *valueRow, now time.Time) *valueRow {
	if w.Value == nil {
		return nil
	}
	m.version++
	r := &valueRow{ttl: w.TTL, refresh: w.Refresh, ValueRecord: driver.ValueRecord{
		Item:  driver.Item{Address: w.Address, Value: w.Value, Version: m.version, CreatedAt: now, UpdatedAt: now},
		Terms: w.Terms, Embedding: w.Embedding, Model: w.Model,
	}}
	r.ValueRecord = r.copy()
	if old != nil {
		r.CreatedAt = old.CreatedAt
	}
	if w.TTL > 0 {
		r.ExpiresAt = now.Add(w.TTL)
	}
	return r
}

// Forget implements [driver.ValueStore].
func (m *Values) Forget(ctx context.Context, s driver.Scope) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for scope, rows := range m.scopes {
		if s.Covers(scope) {
			n += len(rows)
			delete(m.scopes, scope)
		}
	}
	return n, nil
}

// Sweep implements [driver.ValueStore].
func (m *Values) Sweep(ctx context.Context, limit int) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := input.Exact(time.Now())
	n := 0
	for _, rows := range m.scopes {
		for path, r := range rows {
			if n < limit && r.expired(now) {
				delete(rows, path)
				n++
			}
		}
	}
	return n, nil
}

// Namespaces implements [driver.ValueStore].
func (m *Values) Namespaces(ctx context.Context, s driver.Scope, q driver.NamespaceQuery) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		found := m.namespaces(s, &q)
		slices.SortFunc(found, slices.Compare[[]string])
		found = slices.CompactFunc(found, slices.Equal[[]string])
		limit, limited := q.Most()
		for i, labels := range found {
			if limited && i == limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(slices.Clone(labels), nil) {
				return
			}
		}
	}
}

func (m *Values) namespaces(s driver.Scope, q *driver.NamespaceQuery) (found [][]string) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := input.Exact(time.Now())
	for _, r := range m.scopes[s] {
		if r.expired(now) || !q.Match(r.Namespace) {
			continue
		}
		labels := r.Namespace
		if q.MaxDepth > 0 {
			labels = labels[:min(q.MaxDepth, len(labels))]
		}
		if q.After == nil || slices.Compare(labels, q.After) > 0 {
			found = append(found, labels)
		}
	}
	return found
}

// Find implements [driver.ValueStore].
func (m *Values) Find(ctx context.Context, s driver.Scope, q driver.ValueSelection) iter.Seq2[driver.Item, error] {
	return func(yield func(driver.Item, error) bool) {
		rows := m.selected(s, &q)
		slices.SortFunc(rows, func(a, b *valueRow) int { return compareItems(q.Order, &a.Item, &b.Item) })
		if limit, limited := q.Most(); limited {
			rows = rows[:min(limit, len(rows))]
		}
		if q.Refresh {
			m.refresh(s, rows)
		}
		for _, r := range rows {
			if err := ctx.Err(); err != nil {
				yield(driver.Item{}, err)
				return
			}
			if !yield(r.copy().Item, nil) {
				return
			}
		}
	}
}

// selected returns the rows of a selection without its limit.
func (m *Values) selected(s driver.Scope, q *driver.ValueSelection) []*valueRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := input.Exact(time.Now())
	var rows []*valueRow
	if q.Addresses == nil {
		for _, r := range m.scopes[s] {
			if !r.expired(now) && selectsValue(q, r) {
				rows = append(rows, r)
			}
		}
		return rows
	}
	seen := map[*valueRow]bool{}
	for _, a := range q.Addresses {
		if r := m.scopes[s][a.Path()]; r != nil && !seen[r] && !r.expired(now) && selectsValue(q, r) {
			seen[r] = true
			rows = append(rows, r)
		}
	}
	return rows
}

// refresh restarts the TTL of rows that were put with Refresh, and replaces them in the store and in
// the argument rows.
func (m *Values) refresh(s driver.Scope, rows []*valueRow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := input.Exact(time.Now())
	for i, r := range rows {
		path := r.Path()
		if !r.refresh || m.scopes[s][path] != r || r.expired(now) { // changed since it was read
			continue
		}
		next := *r
		next.ExpiresAt = now.Add(r.ttl)
		m.scopes[s][path], rows[i] = &next, &next
	}
}

// Search implements [driver.ValueStore]. It reads every selected value.
func (m *Values) Search(ctx context.Context, s driver.Scope, q driver.ValueSearch) (driver.ValueCandidates, error) {
	c := driver.ValueCandidates{Frequency: make([]int64, len(q.Terms))}
	var byWords, byVector []valueHit
	selection := q.Selection
	selection.After = nil
	rows := m.selected(s, &selection)
	corpus := rank.Corpus{Frequency: map[string]int64{}}
	for _, r := range rows {
		countValue(&c, r, q.Terms)
	}
	corpus.Docs, corpus.Terms = c.Values, c.Terms
	for i, term := range q.Terms {
		corpus.Frequency[term] = c.Frequency[i]
	}
	words := rank.NewWords(q.Terms, corpus)
	for _, r := range rows {
		if score := words.Score(r.Terms); score > 0 {
			byWords = append(byWords, valueHit{r, score})
		}
		if q.Embedding != nil && r.Embedding != nil && r.Model == q.Model && len(r.Embedding) == len(q.Embedding) {
			byVector = append(byVector, valueHit{r, rank.Cosine(r.Embedding, q.Embedding)})
		}
	}
	if err := ctx.Err(); err != nil {
		return driver.ValueCandidates{}, err
	}
	seen := map[*valueRow]bool{}
	for _, hits := range [][]valueHit{byWords, byVector} {
		slices.SortFunc(hits, func(a, b valueHit) int {
			return cmp.Or(cmp.Compare(b.score, a.score), a.row.Address.Compare(b.row.Address))
		})
		for _, h := range hits[:max(0, min(q.Limit, len(hits)))] {
			if !seen[h.row] {
				seen[h.row] = true
				c.Records = append(c.Records, h.row.copy())
			}
		}
	}
	return c, nil
}

// lacks reports whether a row is indexed but has no vector of the model and dimension.
func (r *valueRow) lacks(model string, dimension int) bool {
	return len(r.Terms)+len(r.Embedding) > 0 && (r.Model != model || len(r.Embedding) != dimension)
}

// Index implements [driver.ValueStore].
func (m *Values) Index(ctx context.Context, s driver.Scope, writes []driver.ValueWrite) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	done := 0
	for _, w := range writes {
		path := w.Path()
		r := m.scopes[s][path]
		if r == nil || r.expired(now) || r.Version != w.Version {
			continue
		}
		next := *r
		next.Terms, next.Embedding, next.Model = w.Terms, w.Embedding, w.Model
		next.ValueRecord = next.copy()
		m.scopes[s][path] = &next
		done++
	}
	return done, nil
}

// Scopes implements [driver.ValueStore].
func (m *Values) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return each(ctx, func() []driver.Scope {
		m.mu.RLock()
		defer m.mu.RUnlock()
		return slices.Collect(maps.Keys(m.scopes))
	})
}
