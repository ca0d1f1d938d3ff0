package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// Saved is all that a store keeps of one fact.
type Saved struct {
	Scope Scope
	ID    string
	// Record is nil for a fact that was deleted, of which the history alone is left.
	Record *Record
	// History is what was done to the fact, the oldest first.
	History []Event
}

// CompareScopes orders scopes by tenant, workspace, user and agent, each by its bytes.
func CompareScopes(a, b Scope) int {
	return cmp.Or(strings.Compare(a.Tenant, b.Tenant), strings.Compare(a.Workspace, b.Workspace),
		strings.Compare(a.User, b.User), strings.Compare(a.Agent, b.Agent))
}

// Dump implements [Store].
func (m *InMemory) Dump(ctx context.Context, s *Scope) iter.Seq2[Saved, error] {
	return func(yield func(Saved, error) bool) {
		for _, one := range m.saved(s) {
			if err := ctx.Err(); err != nil {
				yield(Saved{}, err)
				return
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// saved returns what the store has of the scopes that s covers, in order.
func (m *InMemory) saved(s *Scope) []Saved {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []Saved
	for scope, f := range m.shelves {
		if s != nil && !s.Covers(scope) {
			continue
		}
		for id, r := range f.rows {
			c := copyFact(r)
			list = append(list, Saved{Scope: scope, ID: id, Record: &c, History: slices.Clone(f.events[id])})
		}
		for id, events := range f.events {
			if f.rows[id] == nil {
				list = append(list, Saved{Scope: scope, ID: id, History: slices.Clone(events)})
			}
		}
	}
	slices.SortFunc(list, func(a, b Saved) int {
		return cmp.Or(CompareScopes(a.Scope, b.Scope), strings.Compare(a.ID, b.ID))
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
		f := m.shelves[one.Scope]
		if f == nil {
			f = newShelf(one.Scope)
			m.shelves[one.Scope] = f
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

// passed makes later times of the store come after a time.
func (m *InMemory) passed(at time.Time) {
	if at.After(m.last) {
		m.last = at
	}
}

// Complete checks a fact that was read from a file, and fills in what follows from its
// content: the key and the words that it is found by. It returns [ErrInvalid] for a fact that
// cannot be stored.
func RestorableFact(s *Saved) error {
	if err := completeFact(s); err != nil {
		return fmt.Errorf("fact %.60q in the scope %s: %w", s.ID, s.Scope, err)
	}
	return nil
}

func completeFact(s *Saved) error {
	if !validID(s.ID) {
		return fmt.Errorf("the id is no UUID: %w", ErrInvalid)
	}
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	for i := range s.History {
		e := &s.History[i]
		e.ID, e.Scope, e.At = s.ID, s.Scope, input.Exact(e.At)
	}
	r := s.Record
	if r == nil {
		return nil
	}
	checked := r.Fact
	if checked.ValidTo.Equal(checked.ValidFrom) {
		checked.ValidTo = time.Time{} // a fact that was superseded before it began ended when it began
	}
	f, err := checked.Complete(s.Scope)
	if err != nil {
		return err
	}
	f.ValidTo = input.Exact(r.ValidTo)
	f.ID, f.CreatedAt, f.UpdatedAt = s.ID, input.Exact(f.CreatedAt), input.Exact(f.UpdatedAt)
	r.Fact, r.Key, r.Terms = f, keyOf(f.Content), termsOf(&f)
	if len(r.Embedding) > 0 {
		return CheckVector(r.Embedding, len(r.Embedding))
	}
	r.Model = ""
	return nil
}
