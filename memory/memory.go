package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/weft-go/weft/internal/uuid"
	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// Options configures [New]. With the zero value, recall uses words only.
type Options struct {
	// Embedder computes the vectors of stored data and of questions.
	Embedder Embedder
	// Reranker, if not nil, orders the best hits of each search again. A search fails if its reranker fails.
	Reranker Reranker
	// Weights are the weights of the signals in recall.
	Weights Weights
	// Candidates is the number of facts that [Memory.Recall] ranks: this many found by words, and this many
	// found by vectors. Zero means 400. docs/memory.md compares 100, 200 and 400.
	Candidates int
	// Tokens counts the tokens of an item for [Question.MaxTokens]. Nil means [llm.EstimateTokens].
	Tokens llm.TokenCounter
	// Values configures [Memory.Values].
	Values ValueOptions
}

const maxCandidates = 10_000

// A Memory stores facts, values, conversations, documents and turns in one backend. Its own methods are for
// facts, except Forget, Sweep, Export and Import, which cover all parts. It is safe for concurrent use.
type Memory struct {
	backend driver.Backend
	store   driver.FactStore
	options Options
}

// New returns a memory that stores its data in a backend: of package inmemory, sqlitememory or pgmemory, or
// another one. It returns [ErrInvalid] for options out of range, and for a backend that lacks a part.
func New(b Backend, o Options) (*Memory, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("memory: new: %w", err)
	}
	if err := checkBackend(b); err != nil {
		return nil, fmt.Errorf("memory: new: %w", err)
	}
	return &Memory{backend: b, store: b.Facts(), options: o}, nil
}

func checkBackend(b driver.Backend) error {
	if b == nil {
		return fmt.Errorf("the backend is nil; inmemory.New, sqlitememory.Open and pgmemory.Open return one: %w", ErrInvalid)
	}
	missing := ""
	switch {
	case b.Facts() == nil:
		missing = "facts"
	case b.Values() == nil:
		missing = "values"
	case b.Documents() == nil:
		missing = "documents"
	case b.Conversations() == nil:
		missing = "conversations"
	case b.Turns() == nil:
		missing = "turns"
	default:
		return nil
	}
	return fmt.Errorf("the backend %T has no store of %s; inmemory.Fill can add one: %w", b, missing, ErrInvalid)
}

// complete checks the options and sets the defaults.
func (o *Options) complete() error {
	if e := o.Embedder; e != nil {
		if err := CheckEmbedder(e); err != nil {
			return err
		}
	}
	if err := o.Weights.check(); err != nil {
		return err
	}
	if err := o.Values.check(); err != nil {
		return err
	}
	if o.Candidates < 0 || o.Candidates > maxCandidates {
		return fmt.Errorf("%d candidates are not between 0 and %d: %w", o.Candidates, maxCandidates, ErrInvalid)
	}
	if o.Candidates == 0 {
		o.Candidates = rank.Candidates
	}
	if o.Tokens == nil {
		o.Tokens = llm.TokenCounterFunc(llm.EstimateTokens)
	}
	return nil
}

// Backend returns the backend, for packages that use its stores.
func (m *Memory) Backend() driver.Backend { return m.backend }

// Options returns the options of the memory, with the defaults that [New] has set.
func (m *Memory) Options() Options { return m.options }

// Stored is the result of storing one fact.
type Stored struct {
	// ID is the id of the stored fact.
	ID string
	// Existed reports whether the scope already had a valid fact of the same kind and content.
	// That fact is kept, and its validity covers both: see [Memory.Store].
	Existed bool
}

// MaxBatch is the largest number of facts that one call may store.
const MaxBatch = 1000

// Store stores facts in a scope, all of them or none, with one call of the embedder and one round trip to
// the store.
//
// A fact is not stored again if the scope has a valid fact of the same kind with the same text (see
// [SameText]), even if several programs store it at the same time. Instead, the stored fact gets the earlier
// ValidFrom and the later ValidTo and ExpiresAt of both. Its content, metadata, importance and trust do not
// change, and its history gets an update.
//
// If another fact of the scope has the given ID, the error is [ErrConflict], unless both have the same
// text.
func (m *Memory) Store(ctx context.Context, s Scope, facts ...Fact) ([]Stored, error) {
	changes := make([]FactChange, len(facts))
	for i, f := range facts {
		changes[i] = FactChange{Kind: Add, Record: FactRecord{Fact: f}}
	}
	applied, err := m.apply(ctx, s, changes)
	if err != nil {
		return nil, fmt.Errorf("memory: store: %w", err)
	}
	stored := make([]Stored, len(applied))
	for i, a := range applied {
		stored[i] = Stored(a)
	}
	return stored, nil
}

// Remember stores texts in a scope as facts of the kind [Plain] with the trust [Stated]: statements of the
// user, and facts that the program knows itself. For a text from a model, a document or a tool, call
// [Memory.Store] with a [Trust]. Otherwise it works like Store.
func (m *Memory) Remember(ctx context.Context, s Scope, texts ...string) ([]Stored, error) {
	facts := make([]Fact, len(texts))
	for i, text := range texts {
		facts[i] = Fact{Content: text, Trust: Stated}
	}
	return m.Store(ctx, s, facts...)
}

// Apply applies changes in a scope, all of them or none. It is for programs that decide how a new fact
// changes older facts. It derives key, terms and vector from the content, so a change needs only the
// [Fact], or its ID.
func (m *Memory) Apply(ctx context.Context, s Scope, changes ...FactChange) ([]Applied, error) {
	applied, err := m.apply(ctx, s, slices.Clone(changes))
	if err != nil {
		return nil, fmt.Errorf("memory: apply: %w", err)
	}
	return applied, nil
}

func (m *Memory) apply(ctx context.Context, s Scope, changes []FactChange) ([]Applied, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if len(changes) > MaxBatch {
		return nil, fmt.Errorf("%d facts at once, and %d are allowed: %w", len(changes), MaxBatch, ErrInvalid)
	}
	if len(changes) == 0 {
		return nil, nil
	}
	var said []int // indexes of the changes that have content
	for i := range changes {
		if changes[i].Job != changes[0].Job {
			return nil, fmt.Errorf("changes of the jobs %.40q and %.40q at once: %w", changes[0].Job, changes[i].Job, ErrInvalid)
		}
		has, err := prepareChange(&changes[i], s)
		if err != nil {
			return nil, fmt.Errorf("fact %d: %w", i, err)
		}
		if has {
			said = append(said, i)
		}
	}
	if err := m.embedChanges(ctx, changes, said); err != nil {
		return nil, err
	}
	return m.store.Apply(ctx, s, changes)
}

// prepareChange checks a change and derives the key and terms from its content. It reports
// whether the change has content.
func prepareChange(c *FactChange, s Scope) (hasContent bool, err error) {
	if err := input.Name("job", c.Job); err != nil {
		return false, err
	}
	c.Said = input.Exact(c.Said)
	switch c.Kind {
	case Add, Update:
		r := &c.Record
		if c.Kind == Update && !input.ValidID(r.ID) {
			return false, fmt.Errorf("id %.60q: %w", r.ID, ErrNotFound)
		}
		if r.Fact, err = r.Complete(s); err != nil {
			return false, err
		}
		if r.ID == "" {
			r.ID = uuid.New()
		}
		r.Key, r.Terms, r.Embedding, r.Model = input.FactKey(r.Content), termsOf(&r.Fact), nil, ""
		for _, id := range c.Supersedes {
			if !input.ValidID(id) {
				return false, fmt.Errorf("superseded id %.60q: %w", id, ErrNotFound)
			}
		}
		return true, input.Name("actor", c.Actor)
	case Close, Delete, Erase:
		c.Record.ValidTo = input.Exact(c.Record.ValidTo)
		if !input.ValidID(c.Record.ID) {
			return false, fmt.Errorf("id %.60q: %w", c.Record.ID, ErrNotFound)
		}
		return false, input.Name("actor", c.Actor)
	}
	return false, fmt.Errorf("change %.40q: %w", c.Kind, ErrInvalid)
}

func (m *Memory) embedChanges(ctx context.Context, changes []FactChange, said []int) error {
	if m.options.Embedder == nil || len(said) == 0 {
		return nil
	}
	texts := make([]string, len(said))
	for i, at := range said {
		texts[i] = changes[at].Record.Content
	}
	vectors, err := search.Vectors(ctx, m.options.Embedder, texts)
	if err != nil {
		return err
	}
	for i, at := range said {
		changes[at].Record.Embedding, changes[at].Record.Model = vectors[i], m.options.Embedder.Model()
	}
	return nil
}

// Get returns a fact of a scope, even if it is no longer valid. It returns [ErrNotFound] if the scope has
// no fact with this ID.
func (m *Memory) Get(ctx context.Context, s Scope, id string) (Fact, error) {
	if input.ValidID(id) {
		for f, err := range m.List(ctx, FactQuery{Reach: s.Only(), IDs: []string{id}, Closed: true, Untrusted: true}) {
			return f, err
		}
	}
	return Fact{}, fmt.Errorf("memory: get: fact %.60q in the scope %s: %w", id, s, ErrNotFound)
}

// List yields facts, newest first.
func (m *Memory) List(ctx context.Context, q FactQuery) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		if err := q.Validate(); err != nil {
			yield(Fact{}, fmt.Errorf("memory: list: %w", err))
			return
		}
		for r, err := range m.store.Find(ctx, q) {
			if err != nil {
				yield(Fact{}, fmt.Errorf("memory: list: %w", err))
				return
			}
			if !yield(r.Fact, nil) {
				return
			}
		}
	}
}

// Supersede stores a fact that replaces old facts. The old facts are valid until its ValidFrom, and
// [driver.FactQuery.AsOf] still finds them. The validity of an old fact with a later ValidFrom is empty: only
// [driver.FactQuery.Closed] and the history include it.
func (m *Memory) Supersede(ctx context.Context, s Scope, f Fact, old ...string) (Stored, error) {
	applied, err := m.apply(ctx, s, []FactChange{{Kind: Add, Record: FactRecord{Fact: f}, Supersedes: old}})
	if err != nil {
		return Stored{}, fmt.Errorf("memory: supersede: %w", err)
	}
	return Stored(applied[0]), nil
}

// Close ends the validity of facts of a scope.
func (m *Memory) Close(ctx context.Context, s Scope, ids ...string) error {
	if err := m.each(ctx, s, Close, ids); err != nil {
		return fmt.Errorf("memory: close: %w", err)
	}
	return nil
}

// Delete removes facts of a scope. If one does not exist, it removes none and returns [ErrNotFound]. The
// history keeps the facts with their content; see [Memory.Erase].
func (m *Memory) Delete(ctx context.Context, s Scope, ids ...string) error {
	if err := m.each(ctx, s, Delete, ids); err != nil {
		return fmt.Errorf("memory: delete: %w", err)
	}
	return nil
}

func (m *Memory) each(ctx context.Context, s Scope, kind driver.FactChangeKind, ids []string) error {
	changes := make([]FactChange, len(ids))
	for i, id := range ids {
		changes[i] = FactChange{Kind: kind, Record: FactRecord{Fact: Fact{ID: id}}}
	}
	_, err := m.apply(ctx, s, changes)
	return err
}

// Clear deletes the facts that a query selects, in batches, and returns their number. Without a Limit it
// deletes all of them. The history keeps them with their content; see [Memory.Erase].
func (m *Memory) Clear(ctx context.Context, q FactQuery) (int, error) {
	n, err := m.clear(ctx, q, Delete)
	if err != nil {
		err = fmt.Errorf("memory: clear: %w", err)
	}
	return n, err
}

// Erase removes the facts that a query selects, and their histories, in batches. Without a Limit it removes all
// of them. It returns the number of facts. Facts that they superseded stay, unless the query selects them too; see
// [driver.FactQuery.Closed]. Erase does not find deleted facts: [Memory.Forget] removes their histories.
//
// Unlike [Memory.Forget], Erase does not reject older turns later: an erased fact can be learned again from a
// queued turn, or from a stored conversation.
func (m *Memory) Erase(ctx context.Context, q FactQuery) (int, error) {
	n, err := m.clear(ctx, q, Erase)
	if err != nil {
		err = fmt.Errorf("memory: erase: %w", err)
	}
	return n, err
}

func (m *Memory) clear(ctx context.Context, q FactQuery, kind driver.FactChangeKind) (int, error) {
	limit, limited := q.Limit, q.Limit > 0
	removed := 0
	for !limited || removed < limit {
		q.Limit = MaxBatch
		if limited {
			q.Limit = min(q.Limit, limit-removed)
		}
		found := map[Scope][]string{}
		for f, err := range m.List(ctx, q) {
			if err != nil {
				return removed, err
			}
			found[f.Scope] = append(found[f.Scope], f.ID)
		}
		if len(found) == 0 {
			break
		}
		for s, ids := range found {
			n, err := m.remove(ctx, s, kind, ids)
			removed += n
			if err != nil {
				return removed, err
			}
		}
	}
	return removed, nil
}

// History yields the changes of a fact of a scope, oldest first, even if the fact is deleted. It yields
// nothing for a fact that never existed.
func (m *Memory) History(ctx context.Context, s Scope, id string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if !input.ValidID(id) {
			return
		}
		if err := s.Validate(); err != nil {
			yield(Event{}, fmt.Errorf("memory: history: %w", err))
			return
		}
		for e, err := range m.store.History(ctx, s, id) {
			if err != nil {
				yield(Event{}, fmt.Errorf("memory: history: %w", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// remove deletes or erases facts. It ignores facts that another program has already removed.
func (m *Memory) remove(ctx context.Context, s Scope, kind driver.FactChangeKind, ids []string) (int, error) {
	err := m.each(ctx, s, kind, ids)
	if !errors.Is(err, ErrNotFound) {
		if err != nil {
			return 0, err
		}
		return len(ids), nil
	}
	removed := 0
	for _, id := range ids {
		switch err := m.each(ctx, s, kind, []string{id}); {
		case err == nil:
			removed++
		case !errors.Is(err, ErrNotFound):
			return removed, err
		}
	}
	return removed, nil
}
