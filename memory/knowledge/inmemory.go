package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/memory"
)

// InMemory is a [Store] that ends with the process. It finds words by an index, and
// compares vectors with all that there are, so it suits tests and tens of thousands of
// chunks. It is safe for use by any number of goroutines.
type InMemory struct {
	mu    sync.RWMutex
	books map[place]*book
	byID  map[string]*book
	index map[string][]posting // by term
	dead  int                  // rows in the index that are no more
	alive int
	last  time.Time
}

type place struct {
	scope memory.Scope
	uri   string
}

// A book is a source with its rows. Both are replaced and never changed, as readers
// have them.
type book struct {
	source Source
	rows   []*row
	terms  int64
}

// A row is a chunk, as it is in the index.
type row struct {
	record Record
	book   *book // nil if it is no more
}

// A posting says how often a row has a term.
type posting struct {
	row *row
	n   int
}

// NewInMemory returns an empty store.
func NewInMemory() *InMemory {
	return &InMemory{books: map[place]*book{}, byID: map[string]*book{}, index: map[string][]posting{}}
}

// Swap implements [Store].
func (m *InMemory) Swap(ctx context.Context, c Change) error {
	if err := ctx.Err(); err != nil || len(c.Swaps) == 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	next := make([]*book, len(c.Swaps))
	for i, s := range c.Swaps {
		b, err := m.bind(c.Scope, s, now)
		if err != nil {
			return fmt.Errorf("source %.60q: %w", s.Source.URI, err)
		}
		next[i] = b
	}
	if err := m.allowed(c, next); err != nil {
		return err
	}
	for _, b := range next {
		m.put(b)
	}
	m.sweep()
	return nil
}

func (m *InMemory) now() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(m.last) {
		now = m.last.Add(time.Microsecond)
	}
	m.last = now
	return now
}

// bind returns a source as it will be.
func (m *InMemory) bind(scope memory.Scope, s Swap, now time.Time) (*book, error) {
	old := m.books[place{scope, s.Source.URI}]
	source := s.Source
	source.Scope, source.Chunks = scope, len(s.Chunks)
	source.CreatedAt, source.UpdatedAt = now, now
	source.Metadata = slices.Clone(source.Metadata)
	kept := map[string]*row{}
	if old != nil {
		source.ID, source.CreatedAt = old.source.ID, old.source.CreatedAt
		for _, r := range old.rows {
			kept[r.record.ID] = r
		}
	}
	if has := revision(old); has != source.Revision {
		return nil, fmt.Errorf("it has revision %d and not %d: %w", has, source.Revision, memory.ErrConflict)
	}
	source.Revision++
	b := &book{source: source, rows: make([]*row, len(s.Chunks))}
	for i, r := range s.Chunks {
		if r.Kept {
			was := kept[r.ID]
			if was == nil {
				return nil, fmt.Errorf("chunk %s is not there: %w", r.ID, memory.ErrConflict)
			}
			ordinal, start, end := r.Ordinal, r.Start, r.End
			r = was.record
			r.Ordinal, r.Start, r.End = ordinal, start, end
		} else {
			r = cloneChunk(r)
		}
		r.Source = source.ID
		b.rows[i] = &row{record: r, book: b}
		b.terms += int64(len(r.Terms))
	}
	return b, nil
}

func revision(b *book) int64 {
	if b == nil {
		return 0
	}
	return b.source.Revision
}

func cloneChunk(r Record) Record {
	r.Headings, r.Terms, r.Embedding = slices.Clone(r.Headings), slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return r
}

// allowed says whether the quota allows what the scope would have.
func (m *InMemory) allowed(c Change, next []*book) error {
	if c.Quota == (Quota{}) {
		return nil
	}
	var has Quota
	for at, b := range m.books {
		if at.scope == c.Scope {
			has.Sources++
			has.Chunks += int64(len(b.rows))
		}
	}
	for _, b := range next {
		if old := m.books[place{c.Scope, b.source.URI}]; old != nil {
			has.Sources--
			has.Chunks -= int64(len(old.rows))
		}
		has.Sources++
		has.Chunks += int64(len(b.rows))
	}
	if q := c.Quota; q.Sources > 0 && has.Sources > q.Sources || q.Chunks > 0 && has.Chunks > q.Chunks {
		return fmt.Errorf("%d sources and %d chunks in the scope %s, and %d and %d are allowed: %w", has.Sources, has.Chunks, c.Scope, q.Sources, q.Chunks, memory.ErrQuota)
	}
	return nil
}

func (m *InMemory) put(b *book) {
	at := place{b.source.Scope, b.source.URI}
	m.remove(m.books[at])
	m.books[at], m.byID[b.source.ID] = b, b
	for _, r := range b.rows {
		m.enter(r)
	}
}

// enter puts a row into the index.
func (m *InMemory) enter(r *row) {
	m.alive++
	count := make(map[string]int, len(r.record.Terms))
	for _, term := range r.record.Terms {
		count[term]++
	}
	for term, n := range count {
		m.index[term] = append(m.index[term], posting{r, n})
	}
}

func (m *InMemory) remove(b *book) {
	if b == nil {
		return
	}
	delete(m.books, place{b.source.Scope, b.source.URI})
	delete(m.byID, b.source.ID)
	for _, r := range b.rows {
		r.book = nil
	}
	m.dead += len(b.rows)
	m.alive -= len(b.rows)
}

// sweep takes what is no more out of the index, when that is most of it.
func (m *InMemory) sweep() {
	if m.dead < m.alive || m.dead < 100 {
		return
	}
	for term, list := range m.index {
		if list = slices.DeleteFunc(list, func(p posting) bool { return p.row.book == nil }); len(list) == 0 {
			delete(m.index, term)
		} else {
			m.index[term] = list
		}
	}
	m.dead = 0
}

// Sources implements [Store].
func (m *InMemory) Sources(ctx context.Context, q Query) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		for _, b := range m.selected(&q) {
			if err := ctx.Err(); err != nil {
				yield(Source{}, err)
				return
			}
			if !yield(b.copy(), nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Source{}, err)
		}
	}
}

func (b *book) copy() Source {
	s := b.source
	s.Metadata = slices.Clone(s.Metadata)
	return s
}

// selected returns what a query selects, in order.
func (m *InMemory) selected(q *Query) []*book {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := m.pick(q)
	slices.SortFunc(list, func(a, b *book) int {
		return cmp.Or(strings.Compare(a.source.URI, b.source.URI), strings.Compare(a.source.ID, b.source.ID))
	})
	return list
}

func (m *InMemory) pick(q *Query) []*book {
	var list []*book
	for _, b := range m.books {
		if q.Match(&b.source) {
			list = append(list, b)
		}
	}
	return list
}

// Chunks implements [Store].
func (m *InMemory) Chunks(ctx context.Context, spans []Span) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		m.mu.RLock()
		var list []Chunk
		for _, s := range spans {
			if b := m.byID[s.Source]; b != nil && b.source.Scope == s.Scope {
				for _, r := range b.rows[min(max(s.From, 0), len(b.rows)):min(max(s.From, s.To, 0), len(b.rows))] {
					list = append(list, cloneChunk(r.record).Chunk)
				}
			}
		}
		m.mu.RUnlock()
		for _, c := range list {
			if ctx.Err() != nil || !yield(c, nil) {
				break
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Chunk{}, err)
		}
	}
}

// Delete implements [Store].
func (m *InMemory) Delete(ctx context.Context, q Query) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.pick(&q)
	for _, b := range list {
		m.remove(b)
	}
	m.sweep()
	return len(list), nil
}
