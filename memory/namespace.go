package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/memory/driver"
)

// A Namespace is a handle on the values under a list of labels in a scope. Creating a Namespace makes no
// request to the store. It is safe for concurrent use.
type Namespace struct {
	values *Values
	scope  Scope
	labels []string
}

// In returns a namespace of a scope. Without labels it cannot have values itself, but it can be listed and
// searched.
func (v *Values) In(s Scope, labels ...string) Namespace {
	return Namespace{v, s, slices.Clone(labels)}
}

// In returns a namespace within this one.
func (n Namespace) In(labels ...string) Namespace {
	return Namespace{n.values, n.scope, slices.Concat(n.labels, labels)}
}

// Scope returns the scope.
func (n Namespace) Scope() Scope { return n.scope }

// Labels returns a copy of the labels.
func (n Namespace) Labels() []string { return slices.Clone(n.labels) }

// At returns the address of a key.
func (n Namespace) At(key string) Address { return Address{Namespace: n.Labels(), Key: key} }

func (n Namespace) check() error {
	if err := n.scope.Validate(); err != nil {
		return err
	}
	return driver.CheckNamespace(n.labels)
}

// Put stores a JSON value and returns the stored item.
func (n Namespace) Put(ctx context.Context, key string, value json.RawMessage, o PutOptions) (Item, error) {
	if value == nil {
		value = json.RawMessage("null")
	}
	done, err := n.values.batch(ctx, n.scope, Batch{Write: []Entry{{Address: n.At(key), Value: value, PutOptions: o}}})
	if err != nil {
		return Item{}, fmt.Errorf("values: put: %w", err)
	}
	return done.Written[0], nil
}

// Get returns a value, or [ErrNotFound].
func (n Namespace) Get(ctx context.Context, key string) (Item, error) {
	done, err := n.values.batch(ctx, n.scope, Batch{Get: []Address{n.At(key)}})
	if err == nil && !done.Got[0].Known() {
		err = fmt.Errorf("key %.60q of the namespace %q in the scope %s: %w", key, n.labels, n.scope, ErrNotFound)
	}
	if err != nil {
		return Item{}, fmt.Errorf("values: get: %w", err)
	}
	return done.Got[0], nil
}

// Delete removes a value, if it exists. A version that is not zero must be the version of the value;
// otherwise the error is [ErrConflict].
func (n Namespace) Delete(ctx context.Context, key string, version int64) error {
	_, err := n.values.batch(ctx, n.scope, Batch{Write: []Entry{{Address: n.At(key), PutOptions: PutOptions{Version: version}}}})
	if err != nil {
		return fmt.Errorf("values: delete: %w", err)
	}
	return nil
}

// List yields the values of the namespace and of the namespaces within it. For the next page, set
// [driver.ValueQuery.After] to the last item of a page.
func (n Namespace) List(ctx context.Context, q ValueQuery) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		err := n.check()
		if err == nil {
			err = q.Validate()
		}
		if err != nil {
			yield(Item{}, fmt.Errorf("values: list: %w", err))
			return
		}
		for item, err := range n.values.store.Find(ctx, n.scope, driver.ValueSelection{ValueQuery: q, Prefix: n.labels, Refresh: !q.Peek}) {
			if err != nil {
				yield(Item{}, fmt.Errorf("values: list: %w", err))
				return
			}
			if !yield(item, nil) {
				return
			}
		}
	}
}

// Namespaces yields this namespace and the namespaces within it, if they have values, in the byte order of
// their labels. Each result has all labels, beginning with the labels of this namespace.
func (n Namespace) Namespaces(ctx context.Context, q NamespaceQuery) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		err := n.check()
		if err == nil {
			err = q.Validate()
		}
		if err != nil {
			yield(nil, fmt.Errorf("values: namespaces: %w", err))
			return
		}
		q.Prefix = slices.Concat(n.labels, q.Prefix)
		for labels, err := range n.values.store.Namespaces(ctx, n.scope, q) {
			if err != nil {
				yield(nil, fmt.Errorf("values: namespaces: %w", err))
				return
			}
			if !yield(labels, nil) {
				return
			}
		}
	}
}
