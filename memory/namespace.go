package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/memory/driver"
)

// A Namespace is where values of a scope are. It is a handle: nothing is stored, or asked,
// before one of its methods is called. It is safe for use by any number of goroutines.
type Namespace struct {
	values *Values
	scope  Scope
	labels []string
}

// In returns a namespace of a scope. One without labels holds no values itself, and can be
// listed and searched.
func (v *Values) In(s Scope, labels ...string) Namespace {
	return Namespace{v, s, slices.Clone(labels)}
}

// In returns a namespace within.
func (n Namespace) In(labels ...string) Namespace {
	return Namespace{n.values, n.scope, slices.Concat(n.labels, labels)}
}

// Scope returns the scope.
func (n Namespace) Scope() Scope { return n.scope }

// Labels returns the labels, in a slice of the caller's.
func (n Namespace) Labels() []string { return slices.Clone(n.labels) }

// At returns the address of a key.
func (n Namespace) At(key string) Address { return Address{Namespace: n.Labels(), Key: key} }

func (n Namespace) check() error {
	if err := n.scope.Validate(); err != nil {
		return err
	}
	return driver.CheckNamespace(n.labels)
}

// Put stores a value, which is any JSON, and returns it as it is stored.
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

// Delete removes a value, if it is there. A version that is not zero has to be the value's, or else it is a
// [ErrConflict].
func (n Namespace) Delete(ctx context.Context, key string, version int64) error {
	_, err := n.values.batch(ctx, n.scope, Batch{Write: []Entry{{Address: n.At(key), PutOptions: PutOptions{Version: version}}}})
	if err != nil {
		return fmt.Errorf("values: delete: %w", err)
	}
	return nil
}

// List yields values of the namespace and of those within it. To go on after a page, set
// [ValueQuery.After] to its last item.
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

// Namespaces yields the namespaces in which there are values, this one and those within it,
// label by label in the order of their bytes. They are whole: those of this one are in
// them.
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
