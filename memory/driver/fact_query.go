package driver

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// FactQuery selects the facts of its scopes that are valid now, or at the time AsOf.
type FactQuery struct {
	Reach
	// IDs keeps the facts with one of these IDs, Kinds the facts of one of these kinds, and Conversation the
	// facts of this conversation. Empty means all.
	IDs          []string
	Kinds        []Kind
	Conversation string
	// Where keeps the facts whose metadata meet all conditions.
	Where []Condition
	// Untrusted includes facts that are [Untrusted].
	Untrusted bool
	// AsOf is the time at which facts must be valid and not expired, in the years 1 to 9999. Zero means
	// now. Expired facts that were removed are not found.
	AsOf time.Time
	// Without keeps the facts without a vector of the model with this name and, if Dimension is not zero,
	// of this length. [memory.Memory.Reembed] uses it.
	Without   string
	Dimension int
	// Closed also selects facts that are not valid or have expired; AsOf then has no effect. Recall does not
	// allow it.
	Closed bool
	// Limit is the maximum number of facts. Zero and a negative number mean all.
	Limit int
}

// Most returns the limit. limited is false if there is no limit.
func (q *FactQuery) Most() (limit int, limited bool) { return most(q.Limit) }

func most(limit int) (int, bool) { return max(limit, 0), limit > 0 }

// maxIDs is the maximum number of IDs, and of conditions, in a query.
const (
	maxIDs   = 1000
	maxWhere = 20
)

// Validate returns [ErrInvalid] for an invalid query.
func (q *FactQuery) Validate() error {
	if err := q.Scope.Validate(); err != nil {
		return err
	}
	if err := input.Name("conversation", q.Conversation); err != nil {
		return err
	}
	for _, k := range q.Kinds {
		if err := k.Validate(); err != nil {
			return err
		}
	}
	if year := q.AsOf.Year(); year < 1 || year > 9999 {
		return fmt.Errorf("as of the year %d: %w", year, ErrInvalid)
	}
	for _, id := range q.IDs {
		if !input.ValidID(id) {
			return fmt.Errorf("id %.60q is no UUID: %w", id, ErrInvalid)
		}
	}
	if len(q.IDs) > maxIDs || len(q.Where) > maxWhere {
		return fmt.Errorf("%d ids and %d conditions, and %d and %d are allowed: %w", len(q.IDs), len(q.Where), maxIDs, maxWhere, ErrInvalid)
	}
	for _, c := range q.Where {
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return nil
}
