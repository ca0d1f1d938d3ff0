package memory

import (
	"fmt"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/passage"
	"github.com/weft-go/weft/memory/internal/rank"
	"github.com/weft-go/weft/memory/internal/search"
)

// restorableSource checks a source that was read from a file, and sets the terms of its chunks. It returns
// [ErrInvalid] for a source that cannot be stored.
func restorableSource(s *driver.SavedSource) error {
	if err := completeSource(s); err != nil {
		return fmt.Errorf("source %.60q in the scope %s: %w", s.URI, s.Scope, err)
	}
	return nil
}

func completeSource(s *driver.SavedSource) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	source, err := s.Source.Complete()
	if err != nil {
		return err
	}
	source.CreatedAt, source.UpdatedAt = input.Exact(source.CreatedAt), input.Exact(source.UpdatedAt)
	s.Source = source
	s.Chunks = len(s.Records)
	for i := range s.Records {
		r := &s.Records[i]
		if r.Ordinal != i || !input.Storable(r.Content) {
			return fmt.Errorf("chunk %d has the ordinal %d, or is no text: %w", i, r.Ordinal, ErrInvalid)
		}
		r.Source, r.Terms = s.ID, rank.Terms(passage.Text(s.Title, r.Headings, r.Content))
		if len(r.Embedding) > 0 {
			if err := search.CheckVector(r.Embedding, len(r.Embedding)); err != nil {
				return fmt.Errorf("chunk %d: %w", i, err)
			}
		}
	}
	return nil
}
