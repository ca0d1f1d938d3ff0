package driver

import (
	"fmt"

	"github.com/weft-go/weft/memory/internal/input"
)

// ValueQuery selects values of a namespace and of the namespaces within it.
type ValueQuery struct {
	// Own keeps only the values of the namespace itself.
	Own bool
	// KeyPrefix keeps the values whose key begins with it.
	KeyPrefix string
	// Where keeps the values that meet all conditions.
	Where []Condition
	// Order is the order of the values.
	Order Order
	// After, if not nil, keeps the values that follow this one. Only its address and UpdatedAt are used.
	After *Item
	// Limit is the maximum number of values. Zero and a negative number mean all.
	Limit int
	// Peek reads values without restarting their TTL.
	Peek bool
}

// Order is an order of values.
type Order int

// The orders.
const (
	// Newest puts the value that was written last first. Values with the same time are in descending order
	// of their addresses.
	Newest Order = iota
	// ByKey orders by the labels of the namespace and then by key, by bytes.
	ByKey
)

// String returns the name of the order.
func (o Order) String() string {
	switch o {
	case Newest:
		return "newest"
	case ByKey:
		return "by key"
	}
	return fmt.Sprintf("Order(%d)", int(o))
}

const maxValueWhere = 20

// Most returns the largest number of results. limited is false if there is no limit.
func (q *ValueQuery) Most() (limit int, limited bool) { return most(q.Limit) }

// Validate returns [ErrInvalid] for an invalid query.
func (q *ValueQuery) Validate() error {
	if err := input.Name("prefix of keys", q.KeyPrefix); err != nil {
		return err
	}
	if q.Order != Newest && q.Order != ByKey {
		return fmt.Errorf("%v: %w", q.Order, ErrInvalid)
	}
	if len(q.Where) > maxValueWhere {
		return fmt.Errorf("%d conditions, and %d are allowed: %w", len(q.Where), maxValueWhere, ErrInvalid)
	}
	for _, c := range q.Where {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	if q.After != nil {
		if err := q.After.Validate(); err != nil {
			return fmt.Errorf("after: %w", err)
		}
	}
	return nil
}

// Any matches any one label in a pattern. No label of a namespace is empty.
const Any = ""

// A NamespaceQuery selects namespaces that have values.
type NamespaceQuery struct {
	// Prefix and Suffix are the first and the last labels of the namespaces, relative to the namespace of
	// [memory.Namespace.Namespaces]. Labels may be [Any].
	Prefix, Suffix []string
	// MaxDepth, if not zero, shortens namespaces to this number of labels. Equal results are returned once.
	MaxDepth int
	// After, if not nil, keeps the namespaces that follow this one.
	After []string
	// Limit is the maximum number of namespaces. Zero and a negative number mean all.
	Limit int
}

// Most returns the largest number of results. limited is false if there is no limit.
func (q *NamespaceQuery) Most() (limit int, limited bool) { return most(q.Limit) }

// Match reports whether the query selects a namespace before MaxDepth is applied, for stores without a
// query language.
func (q *NamespaceQuery) Match(namespace []string) bool {
	n := len(namespace)
	return len(q.Prefix) <= n && fits(q.Prefix, namespace[:len(q.Prefix)]) &&
		len(q.Suffix) <= n && fits(q.Suffix, namespace[n-len(q.Suffix):])
}

func fits(pattern, labels []string) bool {
	for i, label := range pattern {
		if label != Any && label != labels[i] {
			return false
		}
	}
	return true
}

// Validate returns [ErrInvalid] for an invalid query.
func (q *NamespaceQuery) Validate() error {
	if q.MaxDepth < 0 {
		return fmt.Errorf("a depth of %d: %w", q.MaxDepth, ErrInvalid)
	}
	for _, pattern := range [][]string{q.Prefix, q.Suffix} {
		if len(pattern) > MaxLabels {
			return fmt.Errorf("a pattern of %d labels, and %d are allowed: %w", len(pattern), MaxLabels, ErrInvalid)
		}
		for _, label := range pattern {
			if err := input.Name("label", label); err != nil {
				return err
			}
		}
	}
	return CheckNamespace(q.After)
}
