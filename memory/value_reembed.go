package memory

import (
	"context"
	"fmt"
	"iter"

	"github.com/weft-go/weft/memory/driver"
)

// Reembed makes words and vectors, by the embedder of [ValueOptions], of the values of the namespace,
// and of those within it, that can be searched and have no vector of its model and its length. It
// returns how many it changed; their versions, times and what is left of their lives stay. The query says which
// values to look at, and without a Limit, all of them; its Order and After do not count. It can be stopped and
// called again, and searches go on meanwhile.
//
// Where a value was put with an Index of its own, nobody knows that any more: it is indexed by
// the fields of [ValueOptions.Index], or by those that are given here instead.
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
	case v.embedder == nil:
		return 0, fmt.Errorf("no embedder: %w", ErrInvalid)
	case index == nil:
		index = v.options.Index
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
	s := driver.ValueSelection{ValueQuery: q, Prefix: n.labels, Without: v.embedder.Model(), Dimension: v.embedder.Dimension()}
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

// Scopes yields the scopes in which there are values, or were, of all tenants: for those who look
// after the values of all. It is not for what a user asks.
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
