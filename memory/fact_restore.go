package memory

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/search"
)

// restorableFact checks a fact that was read from a file, and sets its key and its terms. It returns
// [ErrInvalid] for a fact that cannot be stored.
func restorableFact(s *driver.SavedFact) error {
	if err := completeFact(s); err != nil {
		return fmt.Errorf("fact %.60q in the scope %s: %w", s.ID, s.Scope, err)
	}
	return nil
}

func completeFact(s *driver.SavedFact) error {
	if !input.ValidID(s.ID) {
		return fmt.Errorf("the id is no UUID: %w", ErrInvalid)
	}
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	for i := range s.History {
		e := &s.History[i]
		e.ID, e.Scope, e.At = s.ID, s.Scope, input.Exact(e.At)
	}
	r := s.Record
	if r == nil {
		return nil
	}
	checked := r.Fact
	if checked.ValidTo.Equal(checked.ValidFrom) {
		checked.ValidTo = time.Time{} // a fact that was superseded before it became valid has its ValidFrom as the end
	}
	f, err := checked.Complete(s.Scope)
	if err != nil {
		return err
	}
	f.ValidTo = input.Exact(r.ValidTo)
	f.ID, f.CreatedAt, f.UpdatedAt = s.ID, input.Exact(f.CreatedAt), input.Exact(f.UpdatedAt)
	r.Fact, r.Key, r.Terms = f, input.FactKey(f.Content), termsOf(&f)
	if len(r.Embedding) > 0 {
		return search.CheckVector(r.Embedding, len(r.Embedding))
	}
	r.Model = ""
	return nil
}
