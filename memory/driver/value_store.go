package driver

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// SavedValue is all that a store keeps of one value. Its version is the store's own: a restored
// value has a new one.
type SavedValue struct {
	Scope Scope
	ValueRecord
	// TTL is how long each read makes the value live on; zero if reading does not.
	TTL time.Duration
}

// ValueStore stores values. [memory.Values] checks what it gives to a store. A store is safe for use by any number of
// goroutines, and its times are its own. Package drivertest tests it. For all methods but Sweep
// and Forget a value that has expired does not exist.
type ValueStore interface {
	// Apply does all writes in a scope, or none, in their order, and returns what
	// is there after each: the item, or for one that was removed its address alone. It returns [ErrConflict] for a
	// version that is not the value's, and [ErrQuota].
	Apply(ctx context.Context, s Scope, writes []ValueWrite) ([]Item, error)
	// Find yields items of a scope, in the order of [ValueQuery.Order].
	Find(ctx context.Context, s Scope, q ValueSelection) iter.Seq2[Item, error]
	// Search returns what may be found by words and by a vector.
	Search(ctx context.Context, s Scope, q ValueSearch) (ValueCandidates, error)
	// Namespaces yields the namespaces of a scope in which there are values, each once,
	// ordered label by label, by their bytes.
	Namespaces(ctx context.Context, s Scope, q NamespaceQuery) iter.Seq2[[]string, error]
	// Forget removes all values of a scope, and returns how many. Parts that are empty mean
	// all, but for the tenant: of a tenant and user, all workspaces and agents.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit values that have expired, of all scopes, and returns how
	// many. Any number of processes may do so at once.
	Sweep(ctx context.Context, limit int) (int, error)
	// Index gives values of a scope the Terms, Embedding and Model of writes, each where a
	// value is there that has the Version of the write, and leaves out the others. It
	// returns how many got theirs. All else of a value stays, its version and times too.
	Index(ctx context.Context, s Scope, writes []ValueWrite) (int, error)
	// Dump yields the values of the scopes that Forget would forget with s, or of all scopes
	// if s is nil: scope by scope in the order of [CompareScopes], the values of each
	// by namespace and key. It reads page by page: a value that changes meanwhile is yielded
	// as it was before or after the change. What has expired is left out.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedValue, error]
	// Restore stores values with their times, all or none, and returns how many it stored. A
	// value whose namespace and key the scope has stays as it is. No quota applies.
	Restore(ctx context.Context, list []SavedValue) (int, error)
	// Scopes yields each scope in which there is something, or was, once, of all tenants, in any
	// order. A database that shows its user some of them yields those. It yields what was there
	// when it began, and may yield what came or went meanwhile.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
}

// ValueWrite puts a value, or removes it.
type ValueWrite struct {
	Address
	// Value is JSON, and comes back as the same. Nil removes what is there, if
	// anything is.
	Value json.RawMessage
	// Version, if not zero, has to be that of what is there. [Absent] says that nothing
	// must be.
	Version int64
	// TTL is how long the value lives, if not zero, and Refresh says that each read
	// that refreshes makes it live so long again.
	TTL     time.Duration
	Refresh bool
	// Terms are the words that it is found by, with repetition, and Embedding is its
	// vector, by the model of the name. They are nil for a value that is not indexed.
	Terms     []string
	Embedding []float32
	Model     string
}

// Absent is the version of a value that is not there.
const Absent = -1

// ValueSelection is a query as a store gets it.
type ValueSelection struct {
	ValueQuery
	// Prefix is what namespaces begin with.
	Prefix []string
	// Addresses, if not nil, are the values to yield, in any order, each once.
	Addresses []Address
	// Refresh says that what is yielded, and was put with Refresh, lives on from now. The items
	// say so.
	Refresh bool
	// Without, if not empty, keeps the values that have words, or a vector, and no vector by
	// the model of this name that has the length Dimension.
	Without   string
	Dimension int
}

// ValueSearch asks for candidates.
type ValueSearch struct {
	// Selection selects; its After, Limit and Refresh do not count.
	Selection ValueSelection
	// Terms are different words; a candidate has one of them at least.
	Terms []string
	// Embedding is what candidates have to be near to, by the model of the name. It is nil
	// where only words count.
	Embedding []float32
	Model     string
	// Limit is how many to return for the words, and how many for the vector.
	Limit int
}

// ValueRecord is a value with what it is found by.
type ValueRecord struct {
	Item
	Terms     []string
	Embedding []float32
	Model     string
}

// ValueCandidates are what may be found, each once, in any order, and what it takes to tell how rare
// a word is among the values that are selected and have words.
type ValueCandidates struct {
	Records []ValueRecord
	// Values is how many are selected that have words, and Terms how many words they have
	// together.
	Values, Terms int64
	// Frequency is how many of these values have each of the words asked for. From
	// 10,000 on, a store may stop to count.
	Frequency []int64
}
