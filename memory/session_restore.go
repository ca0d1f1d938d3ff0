package memory

import (
	"fmt"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/driver"
	"github.com/weft-go/weft/memory/internal/input"
)

// restorableSession checks a session that was read from a file, and sets the roles, texts, keys and terms
// of its messages. It returns [ErrInvalid] for a session that cannot be stored.
func restorableSession(s *driver.SavedSession) error {
	if err := completeSession(s); err != nil {
		return fmt.Errorf("session %.60q in the scope %s: %w", s.ID, s.Scope, err)
	}
	return nil
}

func completeSession(s *driver.SavedSession) error {
	if err := driver.CheckSession(s.Scope, s.ID); err != nil {
		return err
	}
	d, err := checkDescription(s.Session)
	if err != nil {
		return err
	}
	s.Metadata, s.CreatedAt, s.UpdatedAt = d.Metadata, input.Exact(s.CreatedAt), input.Exact(s.UpdatedAt)
	s.Messages = int64(len(s.Rows))
	known := types{}
	for i := range s.Rows {
		row, err := completeMessage(&s.Rows[i], known)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		row.Scope, row.Session, row.Position, row.At = s.Scope, s.ID, int64(i)+1, input.Exact(s.Rows[i].At)
		s.Rows[i] = row
	}
	return nil
}

// completeMessage returns the row of a message from its ID and its data.
func completeMessage(r *driver.MessageRow, known types) (driver.MessageRow, error) {
	if known.foreign(r.Data) {
		if err := input.Name("id", r.ID); err != nil {
			return driver.MessageRow{}, err
		}
		return keep(r.Data, r.ID), nil
	}
	read, err := llm.FromLangChain(joined([]driver.MessageRow{*r}))
	if err == nil && len(read) != 1 {
		err = fmt.Errorf("the entry is %d messages", len(read))
	}
	if err != nil {
		return driver.MessageRow{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	read[0].ID = r.ID
	return rowOf(read[0], r.Data, input.Exact(r.At))
}
