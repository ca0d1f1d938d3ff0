package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// An Edit is what [Memory.Update] changes of a fact. What is left out stays as it is.
type Edit struct {
	// Content is what the fact is to say. Empty keeps what it says.
	Content string
	// Metadata takes the place of the fact's. Empty keeps that; {} is metadata with nothing in it.
	Metadata json.RawMessage
	// Importance is between 0 and 1. Zero keeps the fact's.
	Importance float64
	// Trust, if not nil, is the fact's from now on: new(memory.Stated) says that somebody
	// vouches for it.
	Trust *Trust
	// ExpiresAt, if not nil, is when the fact expires. The zero time means never.
	ExpiresAt *time.Time
	// Version, if not zero, has to be the fact's, or else it is an [ErrConflict].
	Version int64
	// Actor is who did it, for the history.
	Actor string
}

// Update changes a fact of a scope, also one that is no longer so: what it says, and its metadata,
// importance, trust and expiry, as far as the edit names them. The old content stays in the
// history. It returns [ErrNotFound] if the scope has no fact of that id, and [ErrConflict] if another
// valid one of the kind says the same. To say that something is no longer so, and something else
// is, take [Memory.Supersede].
func (m *Memory) Update(ctx context.Context, s Scope, id string, e Edit) error {
	if err := m.edit(ctx, s, id, e); err != nil {
		return fmt.Errorf("memory: update: %w", err)
	}
	return nil
}

func (m *Memory) edit(ctx context.Context, s Scope, id string, e Edit) error {
	if err := input.Name("actor", e.Actor); err != nil {
		return err
	}
	var made *FactRecord // of the content, once
	var failed error
	for version := int64(0); ; {
		r, err := m.record(ctx, s, id)
		switch {
		case err != nil:
			return err
		case e.Version != 0 && e.Version != r.Version:
			return fmt.Errorf("fact %s has version %d and not %d: %w", id, r.Version, e.Version, ErrConflict)
		case r.Version == version: // nobody changed it meanwhile: trying again does not help
			return failed
		}
		version = r.Version
		if err := e.apply(&r); err != nil {
			return err
		}
		if e.Content != "" && made == nil {
			if made, err = m.made(ctx, e.Content); err != nil {
				return err
			}
		}
		if made != nil {
			r.Key, r.Terms, r.Embedding, r.Model = made.Key, termsOf(&r.Fact), made.Embedding, made.Model
		}
		if _, failed = m.store.Apply(ctx, s, []FactChange{{Kind: Update, Record: r, Actor: e.Actor}}); !errors.Is(failed, ErrConflict) {
			return failed
		}
	}
}

// record returns one of a scope, or [ErrNotFound].
func (m *Memory) record(ctx context.Context, s Scope, id string) (FactRecord, error) {
	if err := s.Validate(); err != nil {
		return FactRecord{}, err
	}
	if input.ValidID(id) {
		for r, err := range m.store.Find(ctx, FactQuery{Reach: s.Only(), IDs: []string{id}, Closed: true, Untrusted: true, Limit: 1}) {
			return r, err
		}
	}
	return FactRecord{}, fmt.Errorf("fact %.60q in the scope %s: %w", id, s, ErrNotFound)
}

// apply changes what the edit names, and checks that alone.
func (e *Edit) apply(r *FactRecord) error {
	if e.Content != "" {
		r.Content = e.Content
	}
	if len(e.Metadata) > 0 {
		r.Metadata = e.Metadata
	}
	if e.Importance != 0 {
		r.Importance = e.Importance
	}
	if e.Trust != nil {
		r.Trust = *e.Trust
	}
	if e.ExpiresAt != nil {
		r.ExpiresAt = *e.ExpiresAt
	}
	f := Fact{Kind: r.Kind, Content: r.Content, Metadata: r.Metadata, Importance: r.Importance, Trust: r.Trust, ExpiresAt: r.ExpiresAt}
	f, err := f.Complete(r.Scope)
	r.Metadata, r.ExpiresAt = f.Metadata, f.ExpiresAt
	return err
}

// made returns what follows from a content.
func (m *Memory) made(ctx context.Context, content string) (*FactRecord, error) {
	r := &FactRecord{Key: input.FactKey(content)}
	if m.options.Embedder == nil {
		return r, nil
	}
	vectors, err := embed(ctx, m.options.Embedder, []string{content})
	if err == nil {
		r.Embedding, r.Model = vectors[0], m.options.Embedder.Model()
	}
	return r, err
}
