package knowledge

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
)

// Scopes yields the scopes of all tenants that have or had sources. It is for operators, for example to
// call [Base.Reembed] after a change of the embedder. Do not call it for a user's request.
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

// Reindex updates the terms of stored chunks that another program or an older version of this module has
// written. It needs neither the documents nor an embedder. It returns the number of changed chunks, and
// can be stopped at any time and called again. It returns [memory.ErrInvalid] if the store is not a
// [driver.Reindexer]. In this case, [Base.Ingest] updates the terms.
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
