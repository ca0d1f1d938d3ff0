package driver

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// A Session is a conversation without its messages.
type Session struct {
	// ID is unique in the scope.
	ID    string `json:"session_id"`
	Scope Scope  `json:"scope"`
	// Title and Metadata are any text and any JSON object of the caller. Metadata may be nil.
	Title    string          `json:"title,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Messages is the number of messages.
	Messages int64 `json:"count"`
	// CreatedAt and UpdatedAt are times of the store's clock. UpdatedAt is the time of the last change.
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	// Version grows with each change. It is zero for a session that is not stored.
	Version int64 `json:"version"`
}

// Known reports whether the session is stored.
func (s Session) Known() bool { return s.Version != 0 }

// CheckSession returns [ErrInvalid] for a scope or an ID that a session cannot have.
func CheckSession(s Scope, id string) error {
	if err := s.Validate(); err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("no session id: %w", ErrInvalid)
	}
	return input.Name("session id", id)
}
