package driver

import (
	"encoding/json"
	"fmt"
)

// Trust is the degree of trust in a fact or a document. It follows from its origin. A larger value is more
// trusted, and the zero value is the least trusted.
type Trust int8

// The levels of trust.
const (
	// Untrusted is for statements that no person confirmed: from a document, a web page or the output of a
	// tool, or extracted by a model without verification. Recall leaves them out, unless a query includes
	// them.
	Untrusted Trust = iota
	// Inferred is for conclusions that a model drew from the words of a user, and that were verified.
	Inferred
	// Stated is for statements of a user or of the program itself.
	Stated
)

var trustNames = [...]string{Untrusted: "untrusted", Inferred: "inferred", Stated: "stated"}

// Validate returns [ErrInvalid] for an unknown level.
func (t Trust) Validate() error {
	if t < Untrusted || t > Stated {
		return fmt.Errorf("trust %d: %w", int(t), ErrInvalid)
	}
	return nil
}

// String returns the name of the level: "untrusted", "inferred" or "stated".
func (t Trust) String() string {
	if t.Validate() != nil {
		return fmt.Sprintf("Trust(%d)", int(t))
	}
	return trustNames[t]
}

// MarshalJSON encodes the level by its name.
func (t Trust) MarshalJSON() ([]byte, error) {
	if err := t.Validate(); err != nil {
		return nil, err
	}
	return json.Marshal(trustNames[t])
}

// UnmarshalJSON decodes the name of a level. It also decodes the numbers that earlier versions
// wrote: 0 for [Stated], 1 for [Inferred] and 2 for [Untrusted].
func (t *Trust) UnmarshalJSON(data []byte) error {
	var number int8
	if json.Unmarshal(data, &number) == nil {
		*t = Stated - Trust(number)
		return t.Validate()
	}
	var name string
	if err := json.Unmarshal(data, &name); err != nil {
		return fmt.Errorf("trust %.40s: %w", data, ErrInvalid)
	}
	for level, known := range trustNames {
		if name == known {
			*t = Trust(level)
			return nil
		}
	}
	return fmt.Errorf("trust %.40q is none of %q: %w", name, trustNames, ErrInvalid)
}
