package knowledge

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory"
)

// Scopes yields the scopes in which there are sources, of all tenants: for those who look after
// the documents of all, such as with [Base.Reembed] after a change of the embedder. It is not for what
// a user asks. A store that is no [memory.Scoper] is a [memory.ErrInvalid].
func (b *Base) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return func(yield func(memory.Scope, error) bool) {
		scoper, ok := b.store.(memory.Scoper)
		if !ok {
			yield(memory.Scope{}, fmt.Errorf("knowledge: scopes: %T is no Scoper: %w", b.store, memory.ErrInvalid))
			return
		}
		for s, err := range scoper.Scopes(ctx) {
			if err != nil {
				yield(memory.Scope{}, fmt.Errorf("knowledge: scopes: %w", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Scopes implements [memory.Scoper].
func (m *InMemory) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return func(yield func(memory.Scope, error) bool) {
		m.mu.RLock()
		scopes := map[memory.Scope]bool{}
		for at := range m.books {
			scopes[at.scope] = true
		}
		m.mu.RUnlock()
		for s := range scopes {
			if err := ctx.Err(); err != nil {
				yield(memory.Scope{}, err)
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
