package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
)

// Saved is all that a store keeps of one source.
type Saved struct {
	Source
	// Records are its chunks, by their ordinals.
	Records []Record
}

// Dump implements [Store].
func (m *InMemory) Dump(ctx context.Context, s *memory.Scope) iter.Seq2[Saved, error] {
	return func(yield func(Saved, error) bool) {
		for _, b := range m.within(s) {
			if err := ctx.Err(); err != nil {
				yield(Saved{}, err)
				return
			}
			one := Saved{Source: b.copy(), Records: make([]Record, len(b.rows))}
			for i, r := range b.rows {
				one.Records[i] = cloneChunk(r.record)
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// within returns the sources of the scopes that s covers, in order.
func (m *InMemory) within(s *memory.Scope) []*book {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*book
	for at, b := range m.books {
		if s == nil || s.Covers(at.scope) {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *book) int {
		return cmp.Or(memory.CompareScopes(a.source.Scope, b.source.Scope), strings.Compare(a.source.ID, b.source.ID))
	})
	return list
}

// Restore implements [Store].
func (m *InMemory) Restore(ctx context.Context, list []Saved) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range list {
		if m.books[place{one.Scope, one.URI}] != nil || m.byID[one.ID] != nil {
			continue
		}
		b := &book{source: one.Source, rows: make([]*row, len(one.Records))}
		b.source = b.copy()
		b.source.Chunks = len(one.Records)
		for i, r := range one.Records {
			r = cloneChunk(r)
			r.Source, r.Kept = one.ID, false
			b.rows[i] = &row{record: r, book: b}
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

// Complete checks a source that was read from a file, and fills in what follows from its
// chunks: the words that they are found by. It returns [memory.ErrInvalid] for a source that
// cannot be stored.
func RestorableSource(s *Saved) error {
	if err := completeSource(s); err != nil {
		return fmt.Errorf("source %.60q in the scope %s: %w", s.URI, s.Scope, err)
	}
	return nil
}

func completeSource(s *Saved) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	source, err := checkSource(s.Source)
	if err != nil {
		return err
	}
	source.CreatedAt, source.UpdatedAt = input.Exact(source.CreatedAt), input.Exact(source.UpdatedAt)
	s.Source = source
	s.Chunks = len(s.Records)
	for i := range s.Records {
		r := &s.Records[i]
		if r.Ordinal != i || !input.Storable(r.Content) {
			return fmt.Errorf("chunk %d has the ordinal %d, or is no text: %w", i, r.Ordinal, memory.ErrInvalid)
		}
		r.Source, r.Terms = s.ID, rank.Terms(passage.Text(s.Title, r.Headings, r.Content))
		if len(r.Embedding) > 0 {
			if err := memory.CheckVector(r.Embedding, len(r.Embedding)); err != nil {
				return fmt.Errorf("chunk %d: %w", i, err)
			}
		}
	}
	return nil
}
