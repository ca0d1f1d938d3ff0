package driver

import (
	"context"
	"fmt"
	"iter"
)

// SavedSource is all that a store keeps of one source.
type SavedSource struct {
	Source
	// Records are its chunks, by their ordinals.
	Records []ChunkRecord
}

// A Reindexer is a [DocumentStore] that makes words of chunks anew.
type Reindexer interface {
	// Reindex makes the words of all chunks of the sources that a query selects anew, where
	// they are not those that this version of the module takes, and returns of how many. Vectors
	// stay as they are.
	Reindex(ctx context.Context, q SourceQuery) (int, error)
}

// Reindex calls the Reindex of a store. It returns [ErrInvalid] if the store is not a [Reindexer].
func Reindex(ctx context.Context, s DocumentStore, q SourceQuery) (int, error) {
	r, ok := s.(Reindexer)
	if !ok {
		return 0, fmt.Errorf("%T is not a Reindexer: %w", s, ErrInvalid)
	}
	return r.Reindex(ctx, q)
}

// DocumentStore stores sources and their chunks. [knowledge.Base] checks what it gives to a store. A store is safe for use by any number of
// goroutines, and its times are its own. Package drivertest tests it.
type DocumentStore interface {
	// Swap puts sources, each with all its chunks, in the place of what there is of
	// them: all of a change, or none of it, and no search sees a part. It returns
	// [ErrConflict] where a source has not the revision that the change says,
	// and [ErrQuota].
	Swap(ctx context.Context, c SourceChange) error
	// Sources yields the sources that a query selects, by URI, byte by byte, and then
	// by ID.
	Sources(ctx context.Context, q SourceQuery) iter.Seq2[Source, error]
	// Chunks yields the chunks of spans, span by span, each in order. What is not there
	// is left out.
	Chunks(ctx context.Context, spans []ChunkSpan) iter.Seq2[Chunk, error]
	// Search returns what may answer.
	Search(ctx context.Context, s ChunkSearch) (ChunkCandidates, error)
	// Delete removes the sources that a query selects, with their chunks, and returns how
	// many sources.
	Delete(ctx context.Context, q SourceQuery) (int, error)
	// Forget removes all sources of a scope, and returns how many. Parts that are empty mean
	// all, but for the tenant.
	Forget(ctx context.Context, s Scope) (int, error)
	// Dump yields the sources of the scopes that [knowledge.Base.Forget] would forget with s, or of all
	// scopes if s is nil: scope by scope in the order of [CompareScopes], the sources
	// of each by their IDs. A source that changes meanwhile is yielded as it was before or
	// after the change, and one that is added may be left out.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedSource, error]
	// Restore stores sources with their chunks, IDs, revisions and times, all or none, and
	// returns how many it stored. A source stays as it is whose ID or URI the scope has. No
	// quota applies.
	Restore(ctx context.Context, list []SavedSource) (int, error)
	// Scopes yields each scope in which there is something, or was, once, of all tenants, in any
	// order. A database that shows its user some of them yields those. It yields what was there
	// when it began, and may yield what came or went meanwhile.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
}

// SourceChange is sources to swap in a scope.
type SourceChange struct {
	Scope Scope
	// Swaps are of different URIs.
	Swaps []SourceSwap
	// Quota is what the scope may have when it is done.
	Quota SourceQuota
}

// SourceQuota is what a scope may have. Zero means any number.
type SourceQuota struct {
	Sources, Chunks int64
}

// SourceSwap is a source as it is to be.
type SourceSwap struct {
	// Source has the revision that it had when it was looked at, which is zero for one
	// that was not there. One that was there keeps its ID and CreatedAt.
	Source Source
	// Chunks are all of them, by their ordinals.
	Chunks []ChunkRecord
}

// ChunkRecord is a chunk as a store keeps it.
type ChunkRecord struct {
	Chunk
	// Terms are the words that it is found by, with repetition.
	Terms []string
	// Embedding is its vector, by the model that the chunk names, or nil.
	Embedding []float32
	// Kept says that the source has this chunk already, by its ID: there may be another
	// Ordinal, Start and End, and all else is left out and stays as it is. What is
	// not kept takes the place of a chunk with its ID. A Swap that keeps a chunk that
	// is not there is an [ErrConflict].
	Kept bool
}

// ChunkSpan is chunks of a source that follow each other.
type ChunkSpan struct {
	Scope  Scope
	Source string // ID
	// From and To are ordinals; To is the first that does not belong to it.
	From, To int
}

// ChunkSearch asks for candidates.
type ChunkSearch struct {
	// Query selects the sources.
	Query SourceQuery
	// Terms are different words; a candidate has one of them at least.
	Terms []string
	// Embedding is what candidates have to be near to, by the model of the name. It is
	// nil where only words count.
	Embedding []float32
	Model     string
	// Limit is how many to return for the words, and how many for the vector. If so many
	// chunks are there that have a vector, so many are returned.
	Limit int
}

// ChunkCandidates are chunks that may answer, each once, in any order, and what it takes to tell
// how rare a word is among the chunks of the sources that the query selects.
type ChunkCandidates struct {
	Records []ChunkRecord
	// Sources are those of the records, each once.
	Sources []Source
	// Chunks is how many chunks these sources have, and Terms how many words they have
	// together.
	Chunks, Terms int64
	// Frequency is how many of these chunks have each of the words asked for. From
	// 10,000 on, a store may stop to count.
	Frequency []int64
}
