package knowledge

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/knowledge/split"
)

// Options configures [New]. The zero value works.
type Options struct {
	// Embedder converts chunks and questions to vectors. Nil means the Embedder of [memory.Options];
	// if that is nil too, search uses words only.
	Embedder memory.Embedder
	// Splitter cuts documents into chunks. After a change of the splitter, documents are cut again when
	// they are ingested again.
	Splitter split.Splitter
	// Batch is the maximum number of texts in one call of the embedder, and Parallel the maximum number of
	// concurrent calls. Zero means 64 and 4.
	Batch, Parallel int
	// MaxSize is the maximum number of bytes of a document. Zero means 8 MB.
	MaxSize int64
	// Quota limits the documents of a scope.
	Quota driver.SourceQuota
	// Reranker orders the best hits of [Base.Search] again. Nil means the Reranker of [memory.Options]; if
	// that is nil too, the order does not change. A search fails if its reranker fails.
	Reranker memory.Reranker
	// Weights are the weights of the signals in a search. Recency uses the age of the source. Importance is
	// not used.
	Weights memory.Weights
}

// The defaults of [Options].
const (
	DefaultBatch    = 64
	DefaultParallel = 4
	DefaultMaxSize  = 8 << 20
)

// A Base ingests documents and searches them. It is safe for concurrent use.
type Base struct {
	store   driver.DocumentStore
	options Options
	recipe  recipe
}

// New returns a base for the documents of a memory. It returns [memory.ErrInvalid] for options out of
// range.
func New(m *memory.Memory, o Options) (*Base, error) {
	if m == nil {
		return nil, fmt.Errorf("knowledge: new: no memory: %w", memory.ErrInvalid)
	}
	if o.Embedder == nil {
		o.Embedder = m.Options().Embedder
	}
	if o.Reranker == nil {
		o.Reranker = m.Options().Reranker
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("knowledge: new: %w", err)
	}
	if o.Batch == 0 {
		o.Batch = DefaultBatch
	}
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.MaxSize == 0 {
		o.MaxSize = DefaultMaxSize
	}
	return &Base{m.Backend().Documents(), o, recipeOf(&o)}, nil
}

func (o *Options) check() error {
	if o.Embedder != nil {
		if err := memory.CheckEmbedder(o.Embedder); err != nil {
			return err
		}
	}
	if err := o.Splitter.Validate(); err != nil {
		return fmt.Errorf("splitter: %w: %w", memory.ErrInvalid, err)
	}
	if o.Batch < 0 || o.Parallel < 0 || o.MaxSize < 0 || o.Quota.Sources < 0 || o.Quota.Chunks < 0 {
		return fmt.Errorf("batch %d, parallel %d, max size %d, quota %+v: %w", o.Batch, o.Parallel, o.MaxSize, o.Quota, memory.ErrInvalid)
	}
	w := o.Weights
	ok := w.HalfLife >= 0
	for _, x := range []float64{w.Keyword, w.Vector, w.Neighbour, w.Recency, w.Importance} {
		ok = ok && x >= 0 && x <= math.MaxFloat32
	}
	if !ok {
		return fmt.Errorf("weights %+v: %w", w, memory.ErrInvalid)
	}
	return nil
}

// model returns the name of the embedder's model, or an empty name without an embedder.
func (b *Base) model() string {
	if b.options.Embedder == nil {
		return ""
	}
	return b.options.Embedder.Model()
}

// Sources yields the selected sources, ordered by URI. It ends after an error.
func (b *Base) Sources(ctx context.Context, q Query) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		if err := q.Validate(); err != nil {
			yield(Source{}, fmt.Errorf("knowledge: sources: %w", err))
			return
		}
		for s, err := range b.store.Sources(ctx, q) {
			if err != nil {
				yield(Source{}, fmt.Errorf("knowledge: sources: %w", err))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Chunks yields the chunks of a source, in order. A source that does not exist has no chunks.
func (b *Base) Chunks(ctx context.Context, s Source) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		for c, err := range b.store.Chunks(ctx, []driver.ChunkSpan{wholeOf(&s)}) {
			if err != nil {
				yield(Chunk{}, fmt.Errorf("knowledge: chunks of %.60q: %w", s.URI, err))
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

func wholeOf(s *Source) driver.ChunkSpan {
	return driver.ChunkSpan{Scope: s.Scope, Source: s.ID, To: math.MaxInt32}
}

// Delete removes the selected sources with their chunks, and returns the number of sources. A query with
// only a scope selects all sources of the scope.
func (b *Base) Delete(ctx context.Context, q Query) (int, error) {
	n, err := 0, q.Validate()
	if err == nil {
		n, err = b.store.Delete(ctx, q)
	}
	if err != nil {
		return 0, fmt.Errorf("knowledge: delete: %w", err)
	}
	return n, nil
}

// Forget removes all sources of a scope and returns their number. An empty part of the scope means any,
// except for the tenant. For an empty scope it returns [memory.ErrInvalid].
func (b *Base) Forget(ctx context.Context, s memory.Scope) (int, error) {
	if s == (memory.Scope{}) {
		return 0, fmt.Errorf("knowledge: forget: a scope that names nobody: %w", memory.ErrInvalid)
	}
	if err := s.Validate(); err != nil {
		return 0, fmt.Errorf("knowledge: forget: %w", err)
	}
	n, err := b.store.Forget(ctx, s)
	if err != nil {
		return n, fmt.Errorf("knowledge: forget %s: %w", s, err)
	}
	return n, nil
}
