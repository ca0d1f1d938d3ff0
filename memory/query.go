package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/weft-go/weft/memory/internal/input"
)

// A Query selects facts: those of its scope that are so now, or at a time.
type Query struct {
	// Scope is where to look.
	Scope Scope
	// AnyWorkspace, AnyUser and AnyAgent look in all of them, whatever the scope says
	// there; tenants never mix. AnyUser is not for what a user asks.
	AnyWorkspace, AnyUser, AnyAgent bool
	// Inherit looks also at what is known more widely: to a scope with an agent, also
	// the facts of no agent; to one with a user, also those of no user; to one with a
	// workspace, also those of none.
	Inherit bool
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
	// Dimension is zero, of that length: those that [Memory.Reembed] has still to do.
	Without   string
	Dimension int
	// Closed looks also at facts that are no longer so, or have expired. It is not
	// for recall.
	Closed bool
	// Limit is the most to return. Zero stands for 20, a negative number for all; in
	// [Memory.Clear] and [Memory.Reembed] zero is all too.
	Limit int
}

// DefaultLimit is how many facts a [Query] returns at most that says nothing of it.
const DefaultLimit = 20

// Most returns the limit, and false if there is none.
func (q *Query) Most() (limit int, limited bool) {
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

// Validate returns [ErrInvalid] for a query that can not be asked.
func (q *Query) Validate() error {
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
		if !validID(id) {
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

// Op is how a [Condition] compares.
type Op string

// The comparisons. Those of order hold between two numbers and between two texts only.
const (
	Equal        Op = "="
	NotEqual     Op = "!=" // also what is not there
	Less         Op = "<"
	LessEqual    Op = "<="
	Greater      Op = ">"
	GreaterEqual Op = ">="
	In           Op = "in"     // the value is a list, and what is there is one of it
	Has          Op = "has"    // what is there is a list, and has the value
	Exists       Op = "exists" // there is something, also null; the value is left out
)

var ops = []Op{Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, Has, Exists}

// A Condition says what metadata, or a value of a key-value store, have to hold.
// Numbers are compared as numbers, texts by their bytes.
type Condition struct {
	// Path leads to the value: names of fields, one within the other.
	Path []string `json:"path"`
	Op   Op       `json:"op"`
	// Value is JSON. [Where] makes it of a Go value.
	Value json.RawMessage `json:"value,omitempty"`

	cause error // why there is no value
}

// Where returns a condition on one field. A value that is no JSON shows when the query
// is asked.
func Where(field string, op Op, value any) Condition {
	data, err := json.Marshal(value)
	return Condition{Path: []string{field}, Op: op, Value: data, cause: err}
}

// Validate returns [ErrInvalid] for a condition that can not be asked.
func (c Condition) Validate() error {
	if len(c.Path) == 0 || len(c.Path) > 8 {
		return fmt.Errorf("condition with a path of %d names: %w", len(c.Path), ErrInvalid)
	}
	for _, name := range c.Path {
		if err := input.Name("field", name); err != nil {
			return err
		}
	}
	if !slices.Contains(ops, c.Op) {
		return fmt.Errorf("condition on %q: comparison %.20q is none of %q: %w", c.Path, string(c.Op), ops, ErrInvalid)
	}
	if c.Op == Exists {
		return nil
	}
	return c.checkValue()
}

func (c Condition) checkValue() error {
	var v any
	if c.cause != nil {
		return fmt.Errorf("condition on %q: value: %w: %w", c.Path, ErrInvalid, c.cause)
	}
	if len(c.Value) == 0 {
		return fmt.Errorf("condition on %q: no value: %w", c.Path, ErrInvalid)
	}
	if len(c.Value) > maxMetadata {
		return fmt.Errorf("condition on %q: a value of %d bytes: %w", c.Path, len(c.Value), ErrInvalid)
	}
	if err := json.Unmarshal(c.Value, &v); err != nil {
		return fmt.Errorf("condition on %q: value: %w: %w", c.Path, ErrInvalid, err)
	}
	fits := true
	switch c.Op {
	case In:
		_, fits = v.([]any)
	case Less, LessEqual, Greater, GreaterEqual:
		switch v.(type) {
		case string, float64:
		default:
			fits = false
		}
	}
	if !fits {
		return fmt.Errorf("condition on %q: %q does not go with %.40s: %w", c.Path, c.Op, c.Value, ErrInvalid)
	}
	return nil
}
