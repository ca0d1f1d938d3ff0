package kv

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// Saved is all that a store keeps of one value. Its version is the store's own: a restored
// value has a new one.
type Saved struct {
	Scope memory.Scope
	Record
	// TTL is how long each read makes the value live on; zero if reading does not.
	TTL time.Duration
}

// Dump implements [Store].
func (m *InMemory) Dump(ctx context.Context, s *memory.Scope) iter.Seq2[Saved, error] {
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

// saved returns the values of the scopes that s covers, in order.
func (m *InMemory) saved(s *memory.Scope) []Saved {
	m.mu.RLock()
	defer m.mu.RUnlock()
	now := time.Now()
	var list []Saved
	for scope, rows := range m.scopes {
		if s != nil && !s.Covers(scope) {
			continue
		}
		for _, r := range rows {
			if r.expired(now) {
				continue
			}
			one := Saved{Scope: scope, Record: r.copy()}
			if r.refresh {
				one.TTL = r.ttl
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b Saved) int {
		return cmp.Or(memory.CompareScopes(a.Scope, b.Scope), a.Address.Compare(b.Address))
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
	now := m.now()
	n := 0
	for _, one := range list {
		rows := m.scopes[one.Scope]
		if rows == nil {
			rows = map[string]*row{}
			m.scopes[one.Scope] = rows
		}
		if old := rows[one.Path()]; old != nil && !old.expired(now) {
			continue
		}
		r := row{Record: one.Record, ttl: one.TTL, refresh: one.TTL > 0}
		r.Record = r.copy()
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

// Complete checks a value that was read from a file. It returns [memory.ErrInvalid] for one
// that cannot be stored.
func RestorableValue(s *Saved) error {
	if err := completeValue(s); err != nil {
		return fmt.Errorf("key %.60q of the namespace %q in the scope %s: %w", s.Key, s.Namespace, s.Scope, err)
	}
	return nil
}

func completeValue(s *Saved) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	value, err := input.JSON(fmt.Sprintf("value of %.60q", s.Key), s.Value, MaxValue)
	if err != nil {
		return err
	}
	s.Value = value
	s.CreatedAt, s.UpdatedAt, s.ExpiresAt = input.Exact(s.CreatedAt), input.Exact(s.UpdatedAt), input.Exact(s.ExpiresAt)
	if len(s.Embedding) > 0 {
		return memory.CheckVector(s.Embedding, len(s.Embedding))
	}
	s.Model = ""
	return nil
}
