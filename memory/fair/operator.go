package fair

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
	"github.com/weft-go/weft/memory/kv"
)

// What is for those who look after all tenants is nobody's in particular, and does not wait.

func (f *facts) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return scopes(ctx, f.store)
}

func (d *documents) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return scopes(ctx, d.store)
}

func (v *values) Scopes(ctx context.Context) iter.Seq2[memory.Scope, error] {
	return scopes(ctx, v.store)
}

func scopes(ctx context.Context, store any) iter.Seq2[memory.Scope, error] {
	if scoper, ok := store.(memory.Scoper); ok {
		return scoper.Scopes(ctx)
	}
	return func(yield func(memory.Scope, error) bool) {
		yield(memory.Scope{}, fmt.Errorf("fair: scopes: %T is no Scoper: %w", store, memory.ErrInvalid))
	}
}

func (d *documents) Reindex(ctx context.Context, q knowledge.Query) (int, error) {
	reindexer, ok := d.store.(knowledge.Reindexer)
	if !ok {
		return 0, fmt.Errorf("fair: reindex: %T is no Reindexer: %w", d.store, memory.ErrInvalid)
	}
	return call(ctx, d.gate, q.Scope.Tenant, func() (int, error) { return reindexer.Reindex(ctx, q) })
}

func (v *values) Index(ctx context.Context, s memory.Scope, writes []kv.Write) (int, error) {
	indexer, ok := v.store.(kv.Indexer)
	if !ok {
		return 0, fmt.Errorf("fair: index: %T is no Indexer: %w", v.store, memory.ErrInvalid)
	}
	return call(ctx, v.gate, s.Tenant, func() (int, error) { return indexer.Index(ctx, s, writes) })
}
