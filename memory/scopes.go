package memory

import (
	"context"
	"fmt"
	"iter"
)

// Scopes yields the scopes of all tenants that have or had facts. It is for operators, for example to call
// [Memory.Reembed] after a change of the embedder. Do not call it for a user's request.
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
