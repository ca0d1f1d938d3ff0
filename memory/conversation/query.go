package conversation

import (
	"fmt"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/internal/input"
)

// DefaultLimit is how many sessions a [Query] returns at most that says nothing of it.
const DefaultLimit = 20

const maxWhere = 20

// Most returns the limit, and false if there is none.
func (q *Query) Most() (limit int, limited bool) {
	if q.Limit == 0 {
		return DefaultLimit, true
	}
	return max(q.Limit, 0), q.Limit > 0
}

// Validate returns [memory.ErrInvalid] for a query that can not be asked.
func (q *Query) Validate() error {
	for _, err := range []error{q.Scope.Validate(), input.Name("session id", q.ID), input.Name("prefix", q.Prefix)} {
		if err != nil {
			return err
		}
	}
	if len(q.Where) > maxWhere {
		return fmt.Errorf("%d conditions, and %d are allowed: %w", len(q.Where), maxWhere, memory.ErrInvalid)
	}
	for _, c := range q.Where {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	if q.After != nil {
		if err := checkSession(q.After.Scope, q.After.ID); err != nil {
			return fmt.Errorf("after: %w", err)
		}
	}
	return nil
}
