package memory

import (
	"fmt"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
	"github.com/weft-go/weft/memory/internal/search"
)

// restorableValue checks a value that was read from a file. It returns [ErrInvalid] for a value that cannot
// be stored.
func restorableValue(s *driver.SavedValue) error {
	if err := completeValue(s); err != nil {
		return fmt.Errorf("key %.60q of the namespace %q in the scope %s: %w", s.Key, s.Namespace, s.Scope, err)
	}
	return nil
}

func completeValue(s *driver.SavedValue) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	value, err := input.JSON(fmt.Sprintf("value of %.60q", s.Key), s.Value, MaxValue)
	if err != nil {
		return err
	}
	s.Value = value
	s.CreatedAt, s.UpdatedAt, s.ExpiresAt = input.Exact(s.CreatedAt), input.Exact(s.UpdatedAt), input.Exact(s.ExpiresAt)
	if len(s.Embedding) > 0 {
		return search.CheckVector(s.Embedding, len(s.Embedding))
	}
	s.Model = ""
	return nil
}
