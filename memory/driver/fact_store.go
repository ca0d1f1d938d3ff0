package driver

import (
	"context"
	"iter"
	"time"
)

// SavedFact is the complete data of a fact in a store.
type SavedFact struct {
	Scope Scope
	ID    string
	// Record is nil for a deleted fact, which has only its history.
	Record *FactRecord
	// History has the changes of the fact, the oldest first.
	History []Event
}

// FactStore stores facts. Package memory checks the arguments of its methods, so a store need not. A store
// is safe for concurrent use and uses its own clock. Package drivertest tests it.
type FactStore interface {
	// Apply applies changes in a scope in their order, all of them or none, and returns the result of each.
	// It returns [ErrNotFound] for a fact that is not in the scope. It returns [ErrConflict] if a fact has
	// another version than the change names, if a fact with another text has the ID of an added fact, if an
	// update would make a fact repeat another one (see [Fact.Repeats]), and if a superseded fact has already
	// ended at the ValidFrom of the added fact. It returns [ErrForgotten] if [FactChange.Said] is before
	// the last Forget of the scope, and [ErrQuota] if the scope would have too many facts.
	Apply(ctx context.Context, s Scope, changes []FactChange) ([]Applied, error)
	// Find yields facts by descending CreatedAt, and facts with the same CreatedAt by descending ID.
	Find(ctx context.Context, q FactQuery) iter.Seq2[FactRecord, error]
	// Search returns the candidates of a recall.
	Search(ctx context.Context, s FactSearch) (FactCandidates, error)
	// History yields the changes of a fact of a scope, oldest first. It yields nothing for a fact that
	// never existed. An empty ID means all facts, even deleted facts, of all scopes that Forget(s) covers. The
	// changes of each fact are then in their order, and the facts in any order.
	History(ctx context.Context, s Scope, id string) iter.Seq2[Event, error]
	// Forget removes all facts of a scope with their history and returns their number. An empty part of the
	// scope means any, except for the tenant: a tenant and a user select all workspaces and agents. The
	// store records the time, so that Apply can reject facts that were said before it.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit expired facts of all scopes and returns their number. Several processes may
	// call it at the same time.
	Sweep(ctx context.Context, limit int) (int, error)
	// Scopes yields each scope of all tenants that has or had data, once, in any order. It leaves out scopes
	// that the database user cannot see. A scope that is created or removed during the iteration may be
	// yielded or not.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
	// Dump yields the data of the facts of all scopes that Forget(s) covers, or of all scopes if s is nil.
	// They are ordered by scope, as [CompareScopes] does, and then by ID. It reads page by page: it yields
	// an item that changes meanwhile as it was before or after the change, and may leave out an item that
	// is added.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedFact, error]
	// Restore stores facts with their IDs, times, versions and histories, all of them or none, and returns
	// the number of stored facts. It leaves out a fact whose ID the scope has or had. Quotas do not apply.
	Restore(ctx context.Context, list []SavedFact) (int, error)
}

// FactRecord is a fact with the data of its store.
type FactRecord struct {
	Fact
	// Key is equal for facts whose texts differ only in case, white space and marks at the ends of words.
	// It narrows the search for repetitions.
	Key [16]byte
	// Terms are the terms that find the fact, with repetitions.
	Terms []string
	// Embedding is the vector of the content by the model with this name, or nil.
	Embedding []float32
	Model     string
}

// FactChange is one change of the facts of a scope.
type FactChange struct {
	Kind FactChangeKind
	// Record is the new fact or the new state of a fact. Its ID selects the fact to change, close or
	// delete. If its Version is not zero, the fact must have it.
	Record FactRecord
	// Supersedes are the IDs of facts of the scope that an added fact replaces. The validity of each ends at
	// the ValidFrom of the added fact. If a replaced fact begins later than that, its validity ends at its own
	// ValidFrom, so that the fact was never valid.
	Supersedes []string
	// Said is the time of the statement. Zero means now.
	Said time.Time
	// Actor names the author of the change in the history.
	Actor string
	// Job, if not empty, names the job that makes the changes. All changes of a call have the same job. If
	// the changes of the job were already applied in the scope, they are not applied again, and their
	// results are zero [Applied]. A store remembers a job for at least 30 days.
	Job string
}

// FactChangeKind is the kind of a [FactChange].
type FactChangeKind string

// The kinds of changes.
const (
	Add    FactChangeKind = "add"    // if a valid fact has the same text, its validity is extended instead
	Update FactChangeKind = "update" // sets content, metadata, importance, trust, expiry, and the vector
	Close  FactChangeKind = "close"  // ends the validity at the record's ValidTo, or now if that is zero, but not before its ValidFrom
	Delete FactChangeKind = "delete" // the history, with the text, is kept until the scope is forgotten
	Erase  FactChangeKind = "erase"  // deletes the fact and its history
	Embed  FactChangeKind = "embed"  // sets only the vector and the terms; adds no [Event] and does not change the version
)

// Applied is the result of a change.
type Applied struct {
	// ID is the ID of the stored fact. Existed reports whether it existed before the change.
	ID      string
	Existed bool
}

// FactSearch describes the candidates of a recall.
type FactSearch struct {
	// Query selects the facts. Its Limit is ignored.
	Query FactQuery
	// Terms are distinct terms. A candidate found by words has at least one of them.
	Terms []string
	// Embedding is the vector of the question, from Model. Nil means a search by words only.
	Embedding []float32
	Model     string
	// Limit is the number of candidates found by words, and of candidates found by the vector. A store must
	// return that many if that many facts have a vector.
	Limit int
}

// FactCandidates are the candidates, each once and in any order, with the counts that determine the rarity
// of a term.
type FactCandidates struct {
	Records []FactRecord
	// Facts is the number of facts that the query selects. Terms is the number of their terms, with
	// repetitions.
	Facts, Terms int64
	// Frequency is the number of these facts with each of the terms of the search. A store may stop
	// counting at 10,000.
	Frequency []int64
}

// An Event is a change of a fact in its history.
type Event struct {
	ID     string         `json:"id"` // the ID of the fact
	Scope  Scope          `json:"scope,omitzero"`
	Kind   FactChangeKind `json:"kind"`
	Before string         `json:"before,omitempty"` // the content before the change
	After  string         `json:"after,omitempty"`
	By     string         `json:"by,omitempty"` // an actor, or the ID of the fact that superseded it
	At     time.Time      `json:"at"`
}
