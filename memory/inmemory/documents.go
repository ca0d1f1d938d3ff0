package inmemory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-go/weft/memory/driver"
)

// Documents is a [driver.DocumentStore] in memory. Its data ends with the process. It finds words by an
// index, and compares a vector with all vectors, so it suits tests and tens of thousands of chunks. It is
// safe for concurrent use.
type Documents struct {
	mu      sync.RWMutex
	sources map[sourceKey]*sourceRow
	byID    map[string]*sourceRow
	index   map[string][]posting // by term
	dead    int                  // removed chunks that the index still has
	alive   int
	clock
}

type sourceKey struct {
	scope driver.Scope
	uri   string
}

// A sourceRow is a source with its chunks. It is replaced and never changed, because readers share it.
type sourceRow struct {
	source driver.Source
	rows   []*chunkRow
	terms  int64
}

// A chunkRow is an indexed chunk.
type chunkRow struct {
	record driver.ChunkRecord
	source *sourceRow // nil after the chunk was removed
}

// A posting is a row that contains a term, with the number of occurrences of the term.
type posting struct {
	row *chunkRow
	n   int
}

// NewDocuments returns an empty store.
func NewDocuments() *Documents {
	return &Documents{sources: map[sourceKey]*sourceRow{}, byID: map[string]*sourceRow{}, index: map[string][]posting{}}
}

// Dump implements [driver.DocumentStore].
func (m *Documents) Dump(ctx context.Context, s *driver.Scope) iter.Seq2[driver.SavedSource, error] {
	return each(ctx, func() (list []driver.SavedSource) {
		for _, b := range m.within(s) {
			one := driver.SavedSource{Source: b.copy(), Records: make([]driver.ChunkRecord, len(b.rows))}
			for i, r := range b.rows {
				one.Records[i] = cloneChunk(r.record)
			}
			list = append(list, one)
		}
		return list
	})
}

// within returns the sources of the scopes that s covers, in order.
func (m *Documents) within(s *driver.Scope) []*sourceRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*sourceRow
	for at, b := range m.sources {
		if s == nil || s.Covers(at.scope) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *sourceRow) int {
		return cmp.Or(driver.CompareScopes(a.source.Scope, b.source.Scope), strings.Compare(a.source.ID, b.source.ID))
	})
	return list
}

// Restore implements [driver.DocumentStore].
func (m *Documents) Restore(ctx context.Context, list []driver.SavedSource) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range list {
		if m.sources[sourceKey{one.Scope, one.URI}] != nil || m.byID[one.ID] != nil {
			continue
		}
		b := &sourceRow{source: one.Source, rows: make([]*chunkRow, len(one.Records))}
		b.source = b.copy()
		b.source.Chunks = len(one.Records)
		for i, r := range one.Records {
			r = cloneChunk(r)
			r.Source, r.Kept = one.ID, false
			b.rows[i] = &chunkRow{record: r, source: b}
			b.terms += int64(len(r.Terms))
		}
		m.put(b)
		if one.UpdatedAt.After(m.last) {
			m.last = one.UpdatedAt
		}
		n++
	}
	return n, nil
}

// Swap implements [driver.DocumentStore].
func (m *Documents) Swap(ctx context.Context, c driver.SourceChange) error {
	if err := ctx.Err(); err != nil || len(c.Swaps) == 0 {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	next := make([]*sourceRow, len(c.Swaps))
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

// bind returns the row of a source after a swap, with the kept and the new chunks.
func (m *Documents) bind(scope driver.Scope, s driver.SourceSwap, now time.Time) (*sourceRow, error) {
	old := m.sources[sourceKey{scope, s.Source.URI}]
	source := s.Source
	source.Scope, source.Chunks = scope, len(s.Chunks)
	source.CreatedAt, source.UpdatedAt = now, now
	source.Metadata = slices.Clone(source.Metadata)
	kept := map[string]*chunkRow{}
	if old != nil {
		source.ID, source.CreatedAt = old.source.ID, old.source.CreatedAt
		for _, r := range old.rows {
			kept[r.record.ID] = r
		}
	}
	if has := revision(old); has != source.Revision {
		return nil, fmt.Errorf("it has revision %d and not %d: %w", has, source.Revision, driver.ErrConflict)
	}
	source.Revision++
	b := &sourceRow{source: source, rows: make([]*chunkRow, len(s.Chunks))}
	for i, r := range s.Chunks {
		if r.Kept {
			was := kept[r.ID]
			if was == nil {
				return nil, fmt.Errorf("chunk %s is not there: %w", r.ID, driver.ErrConflict)
			}
			ordinal, start, end := r.Ordinal, r.Start, r.End
			r = was.record
			r.Ordinal, r.Start, r.End = ordinal, start, end
		} else {
			r = cloneChunk(r)
		}
		r.Source = source.ID
		b.rows[i] = &chunkRow{record: r, source: b}
		b.terms += int64(len(r.Terms))
	}
	return b, nil
}

func revision(b *sourceRow) int64 {
	if b == nil {
		return 0
	}
	return b.source.Revision
}

func cloneChunk(r driver.ChunkRecord) driver.ChunkRecord {
	r.Headings, r.Terms, r.Embedding = slices.Clone(r.Headings), slices.Clone(r.Terms), slices.Clone(r.Embedding)
	return r
}

// allowed returns [driver.ErrQuota] if the quota does not permit the new size of the scope.
func (m *Documents) allowed(c driver.SourceChange, next []*sourceRow) error {
	if c.Quota == (driver.SourceQuota{}) {
		return nil
	}
	var has driver.SourceQuota
	for at, b := range m.sources {
		if at.scope == c.Scope {
			has.Sources++
			has.Chunks += int64(len(b.rows))
		}
	}
	for _, b := range next {
		if old := m.sources[sourceKey{c.Scope, b.source.URI}]; old != nil {
			has.Sources--
			has.Chunks -= int64(len(old.rows))
		}
		has.Sources++
		has.Chunks += int64(len(b.rows))
	}
	if q := c.Quota; q.Sources > 0 && has.Sources > q.Sources || q.Chunks > 0 && has.Chunks > q.Chunks {
		return fmt.Errorf("%d sources and %d chunks in the scope %s, and %d and %d are allowed: %w", has.Sources, has.Chunks, c.Scope, q.Sources, q.Chunks, driver.ErrQuota)
	}
	return nil
}

func (m *Documents) put(b *sourceRow) {
	at := sourceKey{b.source.Scope, b.source.URI}
	m.remove(m.sources[at])
	m.sources[at], m.byID[b.source.ID] = b, b
	for _, r := range b.rows {
		m.enter(r)
	}
}

// enter adds a row to the index.
func (m *Documents) enter(r *chunkRow) {
	m.alive++
	count := make(map[string]int, len(r.record.Terms))
	for _, term := range r.record.Terms {
		count[term]++
	}
	for term, n := range count {
		m.index[term] = append(m.index[term], posting{r, n})
	}
}

func (m *Documents) remove(b *sourceRow) {
	if b == nil {
		return
	}
	delete(m.sources, sourceKey{b.source.Scope, b.source.URI})
	delete(m.byID, b.source.ID)
	for _, r := range b.rows {
		r.source = nil
	}
	m.dead += len(b.rows)
	m.alive -= len(b.rows)
}

// sweep removes deleted rows from the index if there are at least 100, and at least as many as other rows.
func (m *Documents) sweep() {
	if m.dead < m.alive || m.dead < 100 {
		return
	}
	for term, list := range m.index {
		if list = slices.DeleteFunc(list, func(p posting) bool { return p.row.source == nil }); len(list) == 0 {
			delete(m.index, term)
		} else {
			m.index[term] = list
		}
	}
	m.dead = 0
}

// Sources implements [driver.DocumentStore].
func (m *Documents) Sources(ctx context.Context, q driver.SourceQuery) iter.Seq2[driver.Source, error] {
	return func(yield func(driver.Source, error) bool) {
		for _, b := range m.selected(&q) {
			if err := ctx.Err(); err != nil {
				yield(driver.Source{}, err)
				return
			}
			if !yield(b.copy(), nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(driver.Source{}, err)
		}
	}
}

func (b *sourceRow) copy() driver.Source {
	s := b.source
	s.Metadata = slices.Clone(s.Metadata)
	return s
}

// selected returns the sources of a query, in order.
func (m *Documents) selected(q *driver.SourceQuery) []*sourceRow {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := m.pick(q)
	slices.SortFunc(list, func(a, b *sourceRow) int {
		return cmp.Or(strings.Compare(a.source.URI, b.source.URI), strings.Compare(a.source.ID, b.source.ID))
	})
	return list
}

func (m *Documents) pick(q *driver.SourceQuery) []*sourceRow {
	var list []*sourceRow
	for _, b := range m.sources {
		if q.Match(&b.source) {
			list = append(list, b)
		}
	}
	return list
}

// Chunks implements [driver.DocumentStore].
func (m *Documents) Chunks(ctx context.Context, spans []driver.ChunkSpan) iter.Seq2[driver.Chunk, error] {
	return func(yield func(driver.Chunk, error) bool) {
		m.mu.RLock()
		var list []driver.Chunk
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
			yield(driver.Chunk{}, err)
		}
	}
}

// Delete implements [driver.DocumentStore].
func (m *Documents) Delete(ctx context.Context, q driver.SourceQuery) (int, error) {
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

// Search implements [driver.DocumentStore].
func (m *Documents) Search(ctx context.Context, s driver.ChunkSearch) (driver.ChunkCandidates, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	sources := m.pick(&s.Query)
	c := driver.ChunkCandidates{Frequency: make([]int64, len(s.Terms))}
	chosen := make(map[*sourceRow]bool, len(sources))
	for _, b := range sources {
		chosen[b] = true
		c.Chunks += int64(len(b.rows))
		c.Terms += b.terms
	}
	found := m.byWords(s.Terms, chosen, &c)
	near := byVector(&s, sources)
	if err := ctx.Err(); err != nil {
		return driver.ChunkCandidates{}, err
	}
	collectChunks(&c, bestChunks(found, s.Limit), bestChunks(near, s.Limit))
	return c, nil
}

// byWords returns the rows that have any of the terms, and sets the number of rows with each term.
func (m *Documents) byWords(terms []string, chosen map[*sourceRow]bool, c *driver.ChunkCandidates) []chunkHit {
	scores := map[*chunkRow]float64{}
	for i, term := range terms {
		list := make([]posting, 0, len(m.index[term]))
		for _, p := range m.index[term] {
			if p.row.source != nil && chosen[p.row.source] {
				list = append(list, p)
			}
		}
		c.Frequency[i] = int64(len(list))
		rarity := math.Log1p(float64(c.Chunks) / float64(len(list)+1))
		for _, p := range list {
			scores[p.row] += rarity * p.weight()
		}
	}
	hits := make([]chunkHit, 0, len(scores))
	for r, score := range scores {
		hits = append(hits, chunkHit{r, score})
	}
	return hits
}

// Scopes implements [driver.DocumentStore].
func (m *Documents) Scopes(ctx context.Context) iter.Seq2[driver.Scope, error] {
	return each(ctx, func() []driver.Scope {
		m.mu.RLock()
		defer m.mu.RUnlock()
		scopes := map[driver.Scope]bool{}
		for at := range m.sources {
			scopes[at.scope] = true
		}
		return slices.Collect(maps.Keys(scopes))
	})
}

// Forget implements [driver.DocumentStore].
func (m *Documents) Forget(ctx context.Context, s driver.Scope) (int, error) {
	return m.Delete(ctx, driver.SourceQuery{Reach: s.Within()})
}
