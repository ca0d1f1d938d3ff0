package kv

import (
	"bytes"
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
	// MaxValues is how many values a scope may have. Zero means any number.
	MaxValues int
}

// InMemory is a [Store] that ends with the process. Every listing and search reads all values of
// its scope. It is safe for use by any number of goroutines.
type InMemory struct {
	options InMemoryOptions

	mu      sync.RWMutex
	scopes  map[memory.Scope]map[string]*row // by their paths
	last    time.Time
	version int64
}

// A row is a value. It is replaced and never changed, as readers have it.
type row struct {
	Record
	ttl     time.Duration
	refresh bool
}

// NewInMemory returns an empty store.
func NewInMemory(o InMemoryOptions) *InMemory {
	return &InMemory{options: o, scopes: map[memory.Scope]map[string]*row{}}
}

// path is another for each address, as no label has a NUL.
func (a Address) Path() string {
	return strings.Join(a.Namespace, "\x00") + "\x00\x00" + a.Key
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

func (r *row) expired(now time.Time) bool {
	return !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt)
}

func (r *row) copy() Record {
	c := r.Record
	c.Namespace, c.Value = slices.Clone(r.Namespace), bytes.Clone(r.Value)
	c.Terms, c.Embedding = slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return c
}

// Apply implements [Store].
func (m *InMemory) Apply(ctx context.Context, s memory.Scope, writes []Write) ([]Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	rows := m.scopes[s]
	if rows == nil {
		rows = map[string]*row{}
	}
	was := map[string]*row{} // what to put back if a write is refused
	undo := func() {
		for path, r := range was {
			set(rows, path, r)
		}
	}
	items := make([]Item, len(writes))
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
		set(rows, path, next)
		items[i] = Item{Address: Address{Namespace: slices.Clone(w.Namespace), Key: w.Key}}
		if next != nil {
			items[i] = next.copy().Item
		}
	}
	if most := m.options.MaxValues; grew && most > 0 && alive(rows, now) > most {
		undo()
		return nil, fmt.Errorf("more than %d values in the scope %s: %w", most, s, memory.ErrQuota)
	}
	m.scopes[s] = rows
	return items, nil
}

func set(rows map[string]*row, path string, r *row) {
	if r == nil {
		delete(rows, path)
	} else {
		rows[path] = r
	}
}

func alive(rows map[string]*row, now time.Time) (n int) {
	for _, r := range rows {
		if !r.expired(now) {
			n++
		}
	}
	return n
}

func allowsWrite(w *Write, old *row) error {
	switch {
	case w.Version == Absent && old != nil:
		return fmt.Errorf("key %.60q of the namespace %q is there: %w", w.Key, w.Namespace, memory.ErrConflict)
	case w.Version > 0 && old == nil:
		return fmt.Errorf("key %.60q of the namespace %q is not there: %w", w.Key, w.Namespace, memory.ErrConflict)
	case w.Version > 0 && w.Version != old.Version:
		return fmt.Errorf("key %.60q of the namespace %q has version %d and not %d: %w", w.Key, w.Namespace, old.Version, w.Version, memory.ErrConflict)
	}
	return nil
}

// next returns what a write makes of a row: nil where it removes it.
func (m *InMemory) next(w Write, old *row, now time.Time) *row {
	if w.Value == nil {
		return nil
	}
	m.version++
	r := &row{ttl: w.TTL, refresh: w.Refresh, Record: Record{
		Item:  Item{Address: w.Address, Value: w.Value, Version: m.version, CreatedAt: now, UpdatedAt: now},
		Terms: w.Terms, Embedding: w.Embedding, Model: w.Model,
	}}
	r.Record = r.copy()
	if old != nil {
		r.CreatedAt = old.CreatedAt
	}
	if w.TTL > 0 {
		r.ExpiresAt = now.Add(w.TTL)
	}
	return r
}

// Forget implements [Store].
func (m *InMemory) Forget(ctx context.Context, s memory.Scope) (int, error) {
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

// Sweep implements [Store].
func (m *InMemory) Sweep(ctx context.Context, limit int) (int, error) {
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

// Namespaces implements [Store].
func (m *InMemory) Namespaces(ctx context.Context, s memory.Scope, q NamespaceQuery) iter.Seq2[[]string, error] {
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

func (m *InMemory) namespaces(s memory.Scope, q *NamespaceQuery) (found [][]string) {
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
