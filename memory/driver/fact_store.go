package driver

import (
	"context"
	"iter"
	"time"
)

// SavedFact is all that a store keeps of one fact.
type SavedFact struct {
	Scope Scope
	ID    string
	// Record is nil for a fact that was deleted, of which the history alone is left.
	Record *FactRecord
	// History is what was done to the fact, the oldest first.
	History []Event
}

// FactStore stores facts. [memory.Memory] checks what it gives to a store. A store is safe for use by any number of
// goroutines, and its times are its own. Package drivertest tests it.
type FactStore interface {
	// Apply does all changes in a scope, or none, in their order. It returns what
	// became of each. It returns [ErrNotFound] for a fact that is not in the scope,
	// [ErrConflict] for a version that is not the fact's, for an ID to add that a fact
	// has which says something else, and for an update to what another fact says,
	// [ErrForgotten] where [FactChange.Said] is before the scope was forgotten, and [ErrQuota].
	Apply(ctx context.Context, s Scope, changes []FactChange) ([]Applied, error)
	// Find yields facts, newest first by CreatedAt, and by ID where that is equal.
	Find(ctx context.Context, q FactQuery) iter.Seq2[FactRecord, error]
	// Search returns what may be recalled.
	Search(ctx context.Context, s FactSearch) (FactCandidates, error)
	// History yields what was done to a fact of a scope, oldest first. It yields
	// nothing for one that there never was. An empty id stands for all facts, also those
	// that are deleted, of the scopes that Forget would forget: what was done to each is in
	// its order, and that of the facts is any.
	History(ctx context.Context, s Scope, id string) iter.Seq2[Event, error]
	// Forget removes all facts of a scope with their history, and returns how many
	// facts. Parts that are empty mean all, but for the tenant: of a tenant and user, all
	// workspaces and agents. It is noted when that was, so that nothing said before comes back.
	Forget(ctx context.Context, s Scope) (int, error)
	// Sweep removes up to limit facts that have expired, of all scopes, and returns how
	// many. Any number of processes may do so at once.
	Sweep(ctx context.Context, limit int) (int, error)
	// Scopes yields each scope once, of all tenants, in any order. A database that shows its
	// user some of them yields those. It yields what was there when it began, and may yield
	// what came or went meanwhile.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
	// Dump yields everything that the store keeps of the scopes that Forget would forget
	// with s, or of all scopes if s is nil: scope by scope in the order of [CompareScopes],
	// the facts of each by their IDs. It reads page by page: a fact that changes meanwhile
	// is yielded as it was before or after the change, and one that is added may be left out.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedFact, error]
	// Restore stores facts as they are, with their IDs, times, versions and histories, all or
	// none, and returns how many it stored. It leaves out a fact whose ID the scope has or
	// had. No quota applies.
	Restore(ctx context.Context, list []SavedFact) (int, error)
}

// FactRecord is a fact as a store keeps it.
type FactRecord struct {
	Fact
	// Key is equal for facts that say the same in other letters. There is one valid fact
	// of a key in a scope and kind.
	Key [16]byte
	// Terms are the words that it is found by, with repetition.
	Terms []string
	// Embedding is its vector, by the model of the name, or nil.
	Embedding []float32
	Model     string
}

// FactChange is one thing to do to the facts of a scope.
type FactChange struct {
	Kind FactChangeKind
	// Record is what to add, or what a fact becomes; its ID is the fact that is changed,
	// closed or removed. With a Version, the fact has to have it.
	Record FactRecord
	// Supersedes are the facts of the scope whose place an added one takes: they are closed
	// at its ValidFrom, or at their own if that is later: then they were so at no time.
	Supersedes []string
	// Said is when what is stored was said, if it was not now.
	Said time.Time
	// Actor is who did it, for the history.
	Actor string
	// Job, if not empty, names what the changes come from, the same in all changes of a call. The
	// changes of a job that were applied in the scope are not applied again:
	// what became of them is then the zero [Applied]. A store knows a job for 30 days at
	// least.
	Job string
}

// FactChangeKind says what a [FactChange] does.
type FactChangeKind string

// The kinds of changes.
const (
	Add    FactChangeKind = "add"    // unless a valid fact with its key is there, which then holds as long as either; that is an Update
	Update FactChangeKind = "update" // content, metadata, importance, trust, expiry, and the vector
	Close  FactChangeKind = "close"  // it is no longer so, from the record's ValidTo on, or else from now, but not before its ValidFrom
	Delete FactChangeKind = "delete" // its history stays, with its text, until the scope is forgotten
	Embed  FactChangeKind = "embed"  // the vector and the terms alone; it is no [Event], and the version stays
)

// Applied is what became of a change.
type Applied struct {
	// ID is that of the fact that is there now, and Existed says that it was before.
	ID      string
	Existed bool
}

// FactSearch asks for candidates.
type FactSearch struct {
	// Query selects; its Limit does not count.
	Query FactQuery
	// Terms are different words; a candidate has one of them at least.
	Terms []string
	// Embedding is what candidates have to be near to, by the model of the name. It is
	// nil where only words count.
	Embedding []float32
	Model     string
	// Limit is how many to return for the words, and how many for the vector. If so many
	// facts are there that have a vector, so many are returned.
	Limit int
}

// FactCandidates are what may be recalled, each once, in any order, and what it takes to tell how rare a
// word is among the facts that the query selects.
type FactCandidates struct {
	Records []FactRecord
	// Facts is how many facts the query selects, and Terms how many words they have
	// together.
	Facts, Terms int64
	// Frequency is how many of these facts have each of the words asked for. From
	// 10,000 on, a store may stop to count.
	Frequency []int64
}

// An Event is something that was done to a fact.
type Event struct {
	ID     string         `json:"id"` // the fact's
	Scope  Scope          `json:"scope,omitzero"`
	Kind   FactChangeKind `json:"kind"`
	Before string         `json:"before,omitempty"` // the content
	After  string         `json:"after,omitempty"`
	By     string         `json:"by,omitempty"` // an actor, or the fact that took its place
	At     time.Time      `json:"at"`
}
