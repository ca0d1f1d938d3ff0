package driver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/memory/internal/input"
)

// Match reports whether a JSON value meets the condition, for stores without a query language. Invalid JSON
// has no fields.
func (c Condition) Match(data json.RawMessage) bool {
	at, there := parse(data)
	for _, name := range c.Path {
		object, ok := at.(map[string]any)
		if !ok || !there {
			there = false
			break
		}
		at, there = object[name]
	}
	if c.Op == Exists {
		return there
	}
	want, ok := parse(c.Value)
	switch {
	case !ok:
		return false
	case !there:
		return c.Op == NotEqual
	}
	return c.compare(at, want)
}

func (c Condition) compare(at, want any) bool {
	switch c.Op {
	case Equal:
		return same(at, want)
	case NotEqual:
		return !same(at, want)
	case In:
		list, _ := want.([]any)
		return slices.ContainsFunc(list, func(v any) bool { return same(at, v) })
	case Has:
		list, _ := at.([]any)
		return slices.ContainsFunc(list, func(v any) bool { return same(v, want) })
	}
	order, ok := compare(at, want)
	switch c.Op {
	case Less:
		return ok && order < 0
	case LessEqual:
		return ok && order <= 0
	case Greater:
		return ok && order > 0
	default:
		return ok && order >= 0
	}
}

// Op is the operator of a [Condition].
type Op string

// The operators. Less, LessEqual, Greater and GreaterEqual compare two numbers or two texts.
const (
	Equal        Op = "="
	NotEqual     Op = "!=" // also true if the field does not exist
	Less         Op = "<"
	LessEqual    Op = "<="
	Greater      Op = ">"
	GreaterEqual Op = ">="
	In           Op = "in"     // the value is a list that contains the field
	Has          Op = "has"    // the field is a list that contains the value
	Exists       Op = "exists" // the field exists, even if it is null; the condition has no value
)

// maxPath is the maximum number of names of a path.
const maxPath = 8

var ops = []Op{Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, In, Has, Exists}

// A Condition compares a field of metadata or of a JSON value with a value. Numbers are compared as
// numbers, texts by their bytes.
type Condition struct {
	// Path is the path to the field: names of nested fields. Each name is compared exactly, even if it has a dot.
	Path []string `json:"path"`
	Op   Op       `json:"op"`
	// Value is JSON. [Where] encodes a Go value.
	Value json.RawMessage `json:"value,omitempty"`

	cause error // the error of [Where] if it could not encode the value
}

// Where returns a condition on one field: "price", or "seller.country" for a field of the object "seller". For a
// name that has a dot itself, write a [Condition] with its Path. If the value cannot be encoded as JSON, the query
// fails with [ErrInvalid].
func Where(field string, op Op, value any) Condition {
	data, err := json.Marshal(value)
	return Condition{Path: strings.Split(field, "."), Op: op, Value: data, cause: err}
}

// Validate returns [ErrInvalid] for an invalid condition.
func (c Condition) Validate() error {
	if len(c.Path) == 0 || len(c.Path) > maxPath {
		return fmt.Errorf("condition with a path of %d names, and 1 to %d are allowed: %w", len(c.Path), maxPath, ErrInvalid)
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
