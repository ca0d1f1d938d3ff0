package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/memory/internal/search"
)

// Reembed computes vectors for the facts that have no vector of the current model and length, and returns
// their number. The query selects the facts; without a Limit it selects all. It can be stopped at any time
// and called again, and several programs may call it: finished work is kept. Recall works meanwhile; it
// finds facts without a vector by words.
//
// A query covers one tenant. For all tenants, call it for each of [Memory.Scopes].
func (m *Memory) Reembed(ctx context.Context, q FactQuery) (int, error) {
	e := m.options.Embedder
	if e == nil {
		return 0, fmt.Errorf("memory: reembed: no embedder: %w", ErrInvalid)
	}
	q.Without, q.Dimension = e.Model(), e.Dimension()
	limit, limited := q.Limit, q.Limit > 0
	done := 0
	var last *FactRecord
	for !limited || done < limit {
		q.Limit = indexBatch
		if limited {
			q.Limit = min(q.Limit, limit-done)
		}
		records, err := m.stale(ctx, q)
		if err == nil && len(records) > 0 {
			if last != nil && last.ID == records[0].ID && last.Scope == records[0].Scope && last.Version == records[0].Version {
				err = fmt.Errorf("fact %s of the scope %s takes no vector: %w", last.ID, last.Scope, ErrConflict)
			} else {
				err = m.embedRecords(ctx, records)
			}
		}
		if err != nil {
			return done, fmt.Errorf("memory: reembed: %w", err)
		}
		if len(records) == 0 {
			break
		}
		done += len(records)
		last = &records[0]
	}
	return done, nil
}

// indexBatch is the number of facts that are indexed together.
const indexBatch = 100

// stale returns the facts of a query, including facts that are untrusted or no longer valid.
func (m *Memory) stale(ctx context.Context, q FactQuery) ([]FactRecord, error) {
	q.Closed, q.Untrusted = true, true
	if err := q.Validate(); err != nil {
		return nil, err
	}
	var records []FactRecord
	for r, err := range m.store.Find(ctx, q) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

func (m *Memory) embedRecords(ctx context.Context, records []FactRecord) error {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = r.Content
	}
	vectors, err := search.Vectors(ctx, m.options.Embedder, texts)
	if err != nil {
		return err
	}
	for i := range records {
		r := &records[i]
		r.Terms, r.Embedding, r.Model = termsOf(&r.Fact), vectors[i], m.options.Embedder.Model()
	}
	return m.index(ctx, records)
}

// index stores the terms and vectors of records. It skips facts that were changed meanwhile, because the
// change has set their terms and vectors.
func (m *Memory) index(ctx context.Context, records []FactRecord) error {
	changes := map[Scope][]FactChange{}
	for _, r := range records {
		changes[r.Scope] = append(changes[r.Scope], FactChange{Kind: Embed, Record: r})
	}
	for s, list := range changes {
		_, err := m.store.Apply(ctx, s, list)
		if gone(err) {
			for _, c := range list {
				if _, err = m.store.Apply(ctx, s, []FactChange{c}); gone(err) {
					err = nil
				} else if err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func gone(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) }

// Reindex updates the terms of facts for which this version of the package computes other terms. Call it
// after an update that changes the terms, or after another program has written facts directly. It needs no
// embedder and does not change vectors. It returns the number of changed facts. The query selects the
// facts to check; without a Limit it selects all. It can be stopped at any time and called again.
func (m *Memory) Reindex(ctx context.Context, q FactQuery) (int, error) {
	if q.Limit <= 0 {
		q.Limit = -1
	}
	q.Closed, q.Untrusted = true, true
	done, err := 0, q.Validate()
	if err == nil {
		done, err = m.reindex(ctx, q)
	}
	if err != nil {
		return done, fmt.Errorf("memory: reindex: %w", err)
	}
	return done, nil
}

func (m *Memory) reindex(ctx context.Context, q FactQuery) (done int, err error) {
	var wrong []FactRecord
	flush := func() error {
		if err := m.index(ctx, wrong); err != nil {
			return err
		}
		done += len(wrong)
		wrong = wrong[:0]
		return nil
	}
	for r, err := range m.store.Find(ctx, q) {
		if err != nil {
			return done, err
		}
		terms := termsOf(&r.Fact)
		if slices.Equal(terms, r.Terms) {
			continue
		}
		r.Terms = terms
		if wrong = append(wrong, r); len(wrong) == indexBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}
