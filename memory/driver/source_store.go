package driver

import (
	"context"
	"fmt"
	"iter"
)

// SavedSource is the complete data of a source in a store.
type SavedSource struct {
	Source
	// Records are its chunks in the order of their ordinals.
	Records []ChunkRecord
}

// A Reindexer is a [DocumentStore] that can update the terms of its chunks.
type Reindexer interface {
	// Reindex updates the terms of chunks of the selected sources if this version of the module computes
	// other terms. It returns the number of changed chunks. It does not change vectors.
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

// DocumentStore stores sources and their chunks. Package knowledge checks the arguments of its methods, so
// a store need not. A store is safe for concurrent use and uses its own clock. Package drivertest tests it.
type DocumentStore interface {
	// Swap replaces sources with all their chunks, completely or not at all. A concurrent search sees the state
	// before the call or after it. Swap returns [ErrConflict] if a source has another revision than the change names, and
	// [ErrQuota] if the scope would exceed [SourceChange.Quota].
	Swap(ctx context.Context, c SourceChange) error
	// Sources yields the selected sources by the bytes of their URI, and then by ID.
	Sources(ctx context.Context, q SourceQuery) iter.Seq2[Source, error]
	// Chunks yields the chunks of spans, span by span, each in order. It skips missing chunks.
	Chunks(ctx context.Context, spans []ChunkSpan) iter.Seq2[Chunk, error]
	// Search returns candidate chunks.
	Search(ctx context.Context, s ChunkSearch) (ChunkCandidates, error)
	// Delete removes the selected sources with their chunks, and returns the number of sources.
	Delete(ctx context.Context, q SourceQuery) (int, error)
	// Forget removes all sources of a scope and returns their number. An empty part of the scope means any,
	// except for the tenant.
	Forget(ctx context.Context, s Scope) (int, error)
	// Dump yields the sources of all scopes that Forget(s) covers, or of all scopes if s is nil. They are
	// ordered by scope, as [CompareScopes] does, and then by ID. It reads page by page: it yields an item
	// that changes meanwhile as it was before or after the change, and may leave out an item that is added.
	Dump(ctx context.Context, s *Scope) iter.Seq2[SavedSource, error]
	// Restore stores sources with their chunks, IDs, revisions and times, all of them or none, and returns
	// the number of stored sources. It leaves out a source whose ID or URI the scope has. Quotas do not
	// apply.
	Restore(ctx context.Context, list []SavedSource) (int, error)
	// Scopes yields each scope of all tenants that has or had data, once, in any order. It leaves out scopes
	// that the database user cannot see. A scope that is created or removed during the iteration may be
	// yielded or not.
	Scopes(ctx context.Context) iter.Seq2[Scope, error]
}

// SourceChange is a list of sources to replace in a scope.
type SourceChange struct {
	Scope Scope
	// Swaps have distinct URIs.
	Swaps []SourceSwap
	// Quota limits the scope after the change.
	Quota SourceQuota
}

// SourceQuota limits the data of a scope. Zero means no limit.
type SourceQuota struct {
	Sources, Chunks int64
}

// SourceSwap is the new state of a source.
type SourceSwap struct {
	// Source has the revision that the source had when it was read, or zero if it did not exist. A source
	// that existed keeps its ID and CreatedAt.
	Source Source
	// Chunks are all chunks of the source in the order of their ordinals.
	Chunks []ChunkRecord
}

// ChunkRecord is a chunk with the data of its store.
type ChunkRecord struct {
	Chunk
	// Terms are the terms that find the chunk, with repetitions.
	Terms []string
	// Embedding is the vector of the chunk by the model that the chunk names, or nil.
	Embedding []float32
	// Kept means that the source already has the chunk with this ID. Only its Ordinal, Start and End may
	// change; other fields are not set and stay unchanged. A chunk that is not Kept replaces a chunk with
	// the same ID. If a Kept chunk does not exist, Swap returns [ErrConflict].
	Kept bool
}

// ChunkSpan is a range of chunks of a source.
type ChunkSpan struct {
	Scope  Scope
	Source string // ID
	// From and To are ordinals. To is not included.
	From, To int
}

// ChunkSearch describes the candidates of a search.
type ChunkSearch struct {
	// Query selects the sources.
	Query SourceQuery
	// Terms are distinct terms. A candidate found by words has at least one of them.
	Terms []string
	// Embedding is the vector of the question, from Model. Nil means a search by words only.
	Embedding []float32
	Model     string
	// Limit is the number of candidates found by words, and of candidates found by the vector. A store must
	// return that many if that many chunks have a vector.
	Limit int
}

// ChunkCandidates are the candidates, each once and in any order, with the counts that determine the rarity
// of a term.
type ChunkCandidates struct {
	Records []ChunkRecord
	// Sources are the sources of the records, each once.
	Sources []Source
	// Chunks is the number of chunks of the selected sources. Terms is the number of their terms, with
	// repetitions.
	Chunks, Terms int64
	// Frequency is the number of these chunks with each of the terms of the search. A store may stop
	// counting at 10,000.
	Frequency []int64
}
