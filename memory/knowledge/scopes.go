package knowledge

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// Scopes yields the scopes in which there are sources, of all tenants: for those who look after
// the documents of all, such as with [Base.Reembed] after a change of the embedder. It is not for what
// a user asks.
func (b *Base) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return func(yield func(memory.Scope, error) bool) {
		for s, err := range b.store.Scopes(ctx) {
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

// Reindex makes the words by which chunks are found anew, without the documents and without an
// embedder, where another program has written chunks by itself, or an older version of this module. It returns how many
// chunks it changed, can be stopped and called again, and then changes nothing that is right. A store
// that is no [driver.Reindexer], as those of one program alone, is a [memory.ErrInvalid]: there [Base.Ingest] does it.
func (b *Base) Reindex(ctx context.Context, q Query) (int, error) {
	n, err := 0, q.Validate()
	if err == nil {
		n, err = driver.Reindex(ctx, b.store, q)
	}
	if err != nil {
		return n, fmt.Errorf("knowledge: reindex: %w", err)
	}
	return n, nil
}
