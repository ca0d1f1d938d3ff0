package driver

import (
	"fmt"

	"github.com/weft-go/weft/memory/internal/input"
)

// DefaultLimit is how many sessions a [SessionQuery] returns at most that says nothing of it.
const defaultSessions = 20

const maxSessionWhere = 20

// Most returns the limit, and false if there is none.
func (q *SessionQuery) Most() (limit int, limited bool) {
	if q.Limit == 0 {
		return defaultSessions, true
	}
	return max(q.Limit, 0), q.Limit > 0
}

// Validate returns [ErrInvalid] for a query that cannot be asked.
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
	// ID, if not empty, is the session's, and Prefix what its id begins with.
	ID, Prefix string
	// Where keeps the sessions whose metadata fulfil all conditions.
	Where []Condition
	// After, if not nil, keeps the sessions that come after this one. Of it, ID, Scope and
	// UpdatedAt count.
	After *Session
	// Limit is the most to return. Zero stands for 20, a negative number for all.
	Limit int
}
