package memory

import (
	"context"
	"fmt"
	"iter"
)

// Scopes yields the scopes in which there are facts, or were, of all tenants: for those who look
// after the memory of all, such as with [Memory.Reembed] after a change of the embedder. It is
// not for what a user asks.
func (m *Memory) Scopes(ctx context.Context) iter.Seq2[Scope, error] {
	return func(yield func(Scope, error) bool) {
		for s, err := range m.store.Scopes(ctx) {
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
