package driver

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// SavedValue is the complete data of a value in a store. Versions are not transferred: a restored value has
// a new one.
type SavedValue struct {
	Scope Scope
	ValueRecord
	// TTL is the time to live that each read restarts, or zero if reads do not.
	TTL time.Duration
}

// ValueStore stores values. Package memory checks the arguments of its methods, so a store need not. A
// store is safe for concurrent use and uses its own clock. Package drivertest tests it. For all methods
// except Sweep and Forget, an expired value does not exist.
type ValueStore interface {
	// Apply applies writes in a scope in their order, all of them or none. It returns the item after each
	// write; for a removed value, only its address is set. It returns [ErrConflict] if a value has another
	// version than the write names, and [ErrQuota] if the scope would have too many values.
	Apply(ctx context.Context, s Scope, writes []ValueWrite) ([]Item, error)
	// Find yields items of a scope, in the order of [ValueQuery.Order].
	Find(ctx context.Context, s Scope, q ValueSelection) iter.Seq2[Item, error]
	// Search returns candidate values by words and by a vector.
	Search(ctx context.Context, s Scope, q ValueSearch) (ValueCandidates, error)
	// Namespaces yields the namespaces of a scope that have values, each once, ordered by the bytes of
	// their labels.
	Namespaces(ctx context.Context, s Scope, q NamespaceQuery) iter.Seq2[[]string, error]
	// Forget removes all values of a scope and returns their number. An empty part of the scope means any,
	// except for the tenant: a tenant and a user select all workspaces and agents.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit expired values of all scopes and returns their number. Several processes
	// may call it at the same time.
	Sweep(ctx context.Context, limit int) (int, error)
	// Index sets the Terms, Embedding and Model of values. It skips a value whose Version differs from the
	// Version of the write, and returns the number of changed values. It does not change other data of a
	// value, such as its version and times.
	Index(ctx context.Context, s Scope, writes []ValueWrite) (int, error)
	// Dump yields the values of all scopes that Forget(s) covers, or of all scopes if s is nil. They are
	// ordered by scope, as [CompareScopes] does, and then by namespace and key. It reads page by page: it
	// yields an item that changes meanwhile as it was before or after the change, and may leave out an item
	// that is added. It leaves out expired values.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedValue, error]
	// Restore stores values with their times, all of them or none, and returns the number of stored values.
	// It leaves out a value whose namespace and key the scope has. Quotas do not apply.
	Restore(ctx context.Context, list []SavedValue) (int, error)
	// Scopes yields each scope of all tenants that has or had data, once, in any order. It leaves out scopes
	// that the database user cannot see. A scope that is created or removed during the iteration may be
	// yielded or not.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
}

// ValueWrite puts or removes a value.
type ValueWrite struct {
	Address
	// Value is JSON. The store must return the same JSON value. Nil removes the value, if it exists.
	Value json.RawMessage
	// Version, if not zero, must be the version of the value. [Absent] requires that it does not exist.
	Version int64
	// TTL, if not zero, is the time to live of the value. Refresh makes reads with [ValueSelection.Refresh]
	// restart it.
	TTL     time.Duration
	Refresh bool
	// Terms are the terms that find the value, with repetitions. Embedding is its vector by the model with
	// this name. Both are nil for a value that is not indexed.
	Terms     []string
	Embedding []float32
	Model     string
}

// Absent is the version of a value that does not exist.
const Absent = -1

// ValueSelection is a query in the form that a store gets.
type ValueSelection struct {
	ValueQuery
	// Prefix has the first labels of the namespaces.
	Prefix []string
	// Addresses, if not nil, selects the values with these addresses. They are yielded in any order, each
	// once.
	Addresses []Address
	// Refresh restarts the TTL of the yielded values that were put with Refresh. The yielded items have the
	// new ExpiresAt.
	Refresh bool
	// Without, if not empty, keeps the indexed values that have no vector of the model with this name and
	// of the length Dimension.
	Without   string
	Dimension int
}

// ValueSearch describes the candidates of a search.
type ValueSearch struct {
	// Selection selects the values. Its After, Limit and Refresh are ignored.
	Selection ValueSelection
	// Terms are distinct terms. A candidate found by words has at least one of them.
	Terms []string
	// Embedding is the vector of the question, from Model. Nil means a search by words only.
	Embedding []float32
	Model     string
	// Limit is the number of candidates found by words, and of candidates found by the vector.
	Limit int
}

// ValueRecord is a value with its terms and its vector.
type ValueRecord struct {
	Item
	Terms     []string
	Embedding []float32
	Model     string
}

// ValueCandidates are the candidates, each once and in any order, with the counts that determine the rarity
// of a term.
type ValueCandidates struct {
	Records []ValueRecord
	// Values is the number of selected values that are indexed. Terms is the number of their terms, with
	// repetitions.
	Values, Terms int64
	// Frequency is the number of these values with each of the terms of the search. A store may stop
	// counting at 10,000.
	Frequency []int64
}
