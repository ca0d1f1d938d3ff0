package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/search"
)

// An Edit is a change of a fact by [Memory.Update]. Fields that are not set do not change the fact.
type Edit struct {
	// Content is the new content. Empty means no change.
	Content string
	// Metadata replaces the metadata. Empty means no change; {} removes all fields.
	Metadata json.RawMessage
	// Importance is the new importance, between 0 and 1. Zero means no change.
	Importance float64
	// Trust, if not nil, is the new trust: new(memory.Stated) means that a person confirms the fact.
	Trust *Trust
	// ExpiresAt, if not nil, is the time at which the fact expires. The zero time means never.
	ExpiresAt *time.Time
	// Version, if not zero, must be the version of the fact. Otherwise the error is [ErrConflict].
	Version int64
	// Actor names the author of the change in the history.
	Actor string
}

// Update changes a fact of a scope, even if it is no longer valid. The history keeps the old content. It
// returns [ErrNotFound] if the scope has no fact with this ID, and [ErrConflict] if another valid fact of
// the same kind has the same content. If a new statement replaces one that is no longer true, call
// [Memory.Supersede] instead.
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
	var made *FactRecord // the key and the vector of the new content, computed once
	var failed error
	for version := int64(0); ; {
		r, err := m.record(ctx, s, id)
		switch {
		case err != nil:
			return err
		case e.Version != 0 && e.Version != r.Version:
			return fmt.Errorf("fact %s has version %d and not %d: %w", id, r.Version, e.Version, ErrConflict)
		case r.Version == version: // no other program changed it, so a retry does not help
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

// record returns a fact of a scope, or [ErrNotFound].
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

// apply applies an edit to a record, and checks only the changed fields.
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

// made returns a record with the key and the vector of a text.
func (m *Memory) made(ctx context.Context, content string) (*FactRecord, error) {
	r := &FactRecord{Key: input.FactKey(content)}
	if m.options.Embedder == nil {
		return r, nil
	}
	vectors, err := search.Vectors(ctx, m.options.Embedder, []string{content})
	if err == nil {
		r.Embedding, r.Model = vectors[0], m.options.Embedder.Model()
	}
	return r, err
}
