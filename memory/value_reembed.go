package memory

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory/driver"
)

// Reembed computes terms and vectors for the indexed values of the namespace, and of the namespaces within
// it, that have no vector of the current model and length. It returns their number. Their versions, times
// and remaining TTL do not change. The query selects the values; without a Limit it selects all, and its
// Order and After are ignored. It can be stopped at any time and called again, and searches work meanwhile.
//
// The store does not keep [PutOptions.Index]. Reembed indexes all values by the given fields, or by
// [ValueOptions.Index] if no fields are given.
func (n Namespace) Reembed(ctx context.Context, q ValueQuery, index ...[]string) (int, error) {
	done, err := n.reembed(ctx, q, index)
	if err != nil {
		return done, fmt.Errorf("values: reembed: %w", err)
	}
	return done, nil
}

const valueBatch = 100

func (n Namespace) reembed(ctx context.Context, q ValueQuery, index [][]string) (done int, err error) {
	v := n.values
	switch {
	case v.options.Embedder == nil:
		return 0, fmt.Errorf("no embedder: %w", ErrInvalid)
	case index == nil:
		index = v.options.Values.Index
	}
	if q.Order, q.After = ByKey, nil; q.Limit <= 0 {
		q.Limit = -1
	}
	if err := n.check(); err != nil {
		return 0, err
	}
	if err := q.Validate(); err != nil {
		return 0, err
	}
	if err := checkIndex(index); err != nil {
		return 0, err
	}
	var writes []driver.ValueWrite
	var texts []string
	flush := func() error {
		if err := v.index(ctx, writes, texts); err != nil {
			return err
		}
		n, err := v.store.Index(ctx, n.scope, writes)
		done += n
		writes, texts = nil, nil
		return err
	}
	s := driver.ValueSelection{ValueQuery: q, Prefix: n.labels, Without: v.options.Embedder.Model(), Dimension: v.options.Embedder.Dimension()}
	for item, err := range v.store.Find(ctx, n.scope, s) {
		if err != nil {
			return done, err
		}
		text := textOf(item.Value, index)
		if text == "" {
			continue
		}
		writes, texts = append(writes, driver.ValueWrite{Address: item.Address, Version: item.Version}), append(texts, text)
		if len(writes) == valueBatch {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	if len(writes) > 0 {
		err = flush()
	}
	return done, err
}

// Scopes yields the scopes of all tenants that have or had values. It is for operators. Do not call it for
// a user's request.
func (v *Values) Scopes(ctx context.Context) iter.Seq2[Scope, error] {
	return func(yield func(Scope, error) bool) {
		for s, err := range v.store.Scopes(ctx) {
			if err != nil {
				yield(Scope{}, fmt.Errorf("values: scopes: %w", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}
