package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weft-go/weft/memory/internal/rank"
)

// An Exported is one line of [Memory.Export]: a fact, or something that was done to one.
type Exported struct {
	Fact  *Fact  `json:"fact,omitempty"`
	Event *Event `json:"event,omitempty"`
}

// Export writes all that is kept of a scope, as lines of JSON: each fact, also if it is no
// longer so, and then what was done to facts, also to those that were deleted or have expired, as
// what they said is kept in the history until the scope is forgotten. Parts of the scope that
// are empty mean all, as in [Memory.Forget]: what is exported is what would be forgotten.
func (m *Memory) Export(ctx context.Context, s Scope, w io.Writer) error {
	if err := m.export(ctx, s, json.NewEncoder(w)); err != nil {
		return fmt.Errorf("memory: export: %s: %w", s, err)
	}
	return nil
}

func (m *Memory) export(ctx context.Context, s Scope, lines *json.Encoder) error {
	q := Query{
		Scope: s, AnyWorkspace: s.Workspace == "", AnyUser: s.User == "", AnyAgent: s.Agent == "",
		Closed: true, Untrusted: true, Limit: -1,
	}
	for f, err := range m.List(ctx, q) {
		if err == nil {
			err = lines.Encode(Exported{Fact: &f})
		}
		if err != nil {
			return err
		}
	}
	for e, err := range m.store.History(ctx, s, "") {
		if err == nil {
			err = lines.Encode(Exported{Event: &e})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reembed makes vectors, by the memory's embedder, of facts that have none of its model,
// and returns how many. The query says which facts, and its Limit how many at most; a negative one means all. It can be
// stopped at any time and called again, also by several programs: what is done stays
// done, and recall goes on meanwhile, by words where the vectors are not there yet.
func (m *Memory) Reembed(ctx context.Context, q Query) (int, error) {
	e := m.options.Embedder
	if e == nil {
		return 0, fmt.Errorf("memory: reembed: no embedder: %w", ErrInvalid)
	}
	q.Without, q.Closed, q.Untrusted = e.Model(), true, true
	limit, limited := q.Most()
	done := 0
	for !limited || done < limit {
		q.Limit = reembedBatch
		if limited {
			q.Limit = min(q.Limit, limit-done)
		}
		n, err := m.reembed(ctx, q)
		done += n
		if err != nil {
			return done, fmt.Errorf("memory: reembed: %w", err)
		}
		if n == 0 {
			break
		}
	}
	return done, nil
}

const reembedBatch = 100

func (m *Memory) reembed(ctx context.Context, q Query) (int, error) {
	if err := q.Validate(); err != nil {
		return 0, err
	}
	var records []Record
	var texts []string
	for r, err := range m.store.Find(ctx, q) {
		if err != nil {
			return 0, err
		}
		records, texts = append(records, r), append(texts, r.Content)
	}
	vectors, err := embed(ctx, m.options.Embedder, texts)
	if err != nil {
		return 0, err
	}
	changes := map[Scope][]Change{}
	for i, r := range records {
		r.Terms, r.Embedding, r.Model = rank.Terms(r.Content), vectors[i], m.options.Embedder.Model()
		changes[r.Scope] = append(changes[r.Scope], Change{Kind: Embed, Record: r})
	}
	for s, list := range changes {
		if err := m.embedded(ctx, s, list); err != nil {
			return 0, err
		}
	}
	return len(records), nil
}

// embedded stores vectors, but for facts that were changed meanwhile: those have got
// their own.
func (m *Memory) embedded(ctx context.Context, s Scope, changes []Change) error {
	_, err := m.store.Apply(ctx, s, changes)
	if !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
		return err
	}
	for _, c := range changes {
		_, err := m.store.Apply(ctx, s, []Change{c})
		if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
