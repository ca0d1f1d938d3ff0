package memory

import (
	"fmt"

	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// restorableTurn normalizes a turn that was read from a file. It returns [ErrInvalid] if
// the turn cannot be stored.
func restorableTurn(s *driver.SavedTurn) error {
	if err := completeTurn(s); err != nil {
		return fmt.Errorf("turn %.60q in the scope %s: %w", s.Key, s.Scope, err)
	}
	return nil
}

func completeTurn(s *driver.SavedTurn) error {
	if err := s.Scope.Validate(); err != nil {
		return err
	}
	switch s.State {
	case driver.TurnWaiting, driver.TurnParked, driver.TurnDone:
	default:
		return fmt.Errorf("state %.20q is none of %q, %q and %q: %w", s.State, driver.TurnWaiting, driver.TurnParked, driver.TurnDone, ErrInvalid)
	}
	s.Said = input.Exact(s.Said)
	return input.Name("key of a turn", s.Key)
}
