package driver

import (
	"fmt"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// FactQuery selects facts: those of its scope that are so now, or at a time.
type FactQuery struct {
	Reach
	// IDs, Kinds and Conversation keep the facts that have one of them.
	IDs          []string
	Kinds        []Kind
	Conversation string
	// Where keeps the facts whose metadata fulfil all conditions.
	Where []Condition
	// Untrusted looks also at facts that are [Untrusted].
	Untrusted bool
	// AsOf is the time at which facts have to be so, and must not have expired, in the years
	// 1 to 9999. Zero means now. What has expired and was removed since is not found.
	AsOf time.Time
	// Without keeps the facts that have no vector by the model of this name, and, unless
	// Dimension is zero, of that length: those that [memory.Memory.Reembed] has still to do.
	Without   string
	Dimension int
	// Closed looks also at facts that are no longer so, or have expired. It is not
	// for recall.
	Closed bool
	// Limit is the most to return. Zero stands for 20, a negative number for all; in
	// [memory.Memory.Clear] and [memory.Memory.Reembed] zero is all too.
	Limit int
}

// DefaultLimit is how many facts a [FactQuery] returns at most that says nothing of it.
const DefaultLimit = 20

// Most returns the limit, and false if there is none.
func (q *FactQuery) Most() (limit int, limited bool) {
	if q.Limit == 0 {
		return DefaultLimit, true
	}
	return max(q.Limit, 0), q.Limit > 0
}

// maxIDs is how many ids, and how many conditions, a query may have.
const (
	maxIDs   = 1000
	maxWhere = 20
)

// Validate returns [ErrInvalid] for a query that cannot be asked.
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
