package memory

import (
	"context"
	"fmt"
	"iter"
)

// A Scoper is a store, of facts, documents or values, that names the scopes in which it has
// something.
type Scoper interface {
	// Scopes yields each scope once, of all tenants, in any order. A database that shows its
	// user some of them yields those. It yields what was there when it began, and may yield
	// what came or went meanwhile.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
}

// Scopes yields the scopes in which there are facts, or were, of all tenants: for those who look
// after the memory of all, such as with [Memory.Reembed] after a change of the embedder. It is
// not for what a user asks. A store that is no [Scoper] is an [ErrInvalid].
func (m *Memory) Scopes(ctx context.Context) iter.Seq2[Scope, error] {
	return func(yield func(Scope, error) bool) {
		scoper, ok := m.store.(Scoper)
		if !ok {
			yield(Scope{}, fmt.Errorf("memory: scopes: %T is no Scoper: %w", m.store, ErrInvalid))
			return
		}
		for s, err := range scoper.Scopes(ctx) {
			if err != nil {
				yield(Scope{}, fmt.Errorf("memory: scopes: %w", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Scopes implements [Scoper].
func (m *InMemory) Scopes(ctx context.Context) iter.Seq2[Scope, error] {
	return func(yield func(Scope, error) bool) {
		m.mu.RLock()
		scopes := make([]Scope, 0, len(m.shelves))
		for s := range m.shelves {
			scopes = append(scopes, s)
		}
		m.mu.RUnlock()
		for _, s := range scopes {
			if err := ctx.Err(); err != nil {
				yield(Scope{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
