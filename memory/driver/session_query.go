package driver

import (
	"fmt"

	"github.com/weft-go/weft/memory/internal/input"
)

const maxSessionWhere = 20

// Most returns the limit. limited is false if there is no limit.
func (q *SessionQuery) Most() (limit int, limited bool) { return most(q.Limit) }

// Validate returns [ErrInvalid] for an invalid query.
func (q *SessionQuery) Validate() error {
	for _, err := range []error{q.Scope.Validate(), input.Name("session id", q.ID), input.Name("prefix", q.Prefix)} {
		if err != nil {
			return err
		}
	}
	if len(q.Where) > maxSessionWhere {
		return fmt.Errorf("%d conditions, and %d are allowed: %w", len(q.Where), maxSessionWhere, ErrInvalid)
	}
	for _, c := range q.Where {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	if q.After != nil {
		if err := CheckSession(q.After.Scope, q.After.ID); err != nil {
			return fmt.Errorf("after: %w", err)
		}
	}
	return nil
}

// SessionQuery selects sessions.
type SessionQuery struct {
	Reach
	// ID, if not empty, keeps the session with this ID. Prefix keeps the sessions whose ID begins with it.
	ID, Prefix string
	// Where keeps the sessions whose metadata meet all conditions.
	Where []Condition
	// After, if not nil, keeps the sessions that follow this one. Only its ID, Scope and UpdatedAt are
	// used.
	After *Session
	// Limit is the maximum number of sessions. Zero and a negative number mean all.
	Limit int
}
