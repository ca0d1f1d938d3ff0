package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var nouns = map[string]string{
	"object": "an object", "array": "an array", "string": "a string", "boolean": "true or false",
	"number": "a number", "integer": "an integer", "null": "null",
}

// wanted describes the values that a schema accepts.
func wanted(s *jsonschema.Schema) string {
	if allowed := allowedBy(s); allowed != nil {
		return listed(allowed)
	}
	if isUnion(s) {
		return "an object with exactly one of the fields " + strings.Join(propertyNames(s), ", ")
	}
	var types []string
	for _, t := range typesOf(s) {
		types = append(types, nouns[t])
	}
	noun := cmp.Or(strings.Join(types, " or "), "a value")
	noun += amount(s.MinItems, s.MaxItems, "") + amount(s.MinLength, s.MaxLength, " characters") +
		amount(s.MinProperties, s.MaxProperties, " fields") + bounds(s)
	if s.Pattern != "" {
		noun += " that matches " + s.Pattern
	}
	return noun
}

// isUnion reports whether a schema accepts only objects with exactly one of its properties.
func isUnion(s *jsonschema.Schema) bool {
	return s.MinProperties != nil && s.MaxProperties != nil && *s.MinProperties == 1 && *s.MaxProperties == 1 && isFalse(s.AdditionalProperties)
}

func propertyNames(s *jsonschema.Schema) []string {
	if len(s.PropertyOrder) > 0 {
		return s.PropertyOrder
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

func fieldNames(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "there are no fields"
	}
	return "the fields are " + strings.Join(propertyNames(s), ", ")
}

// listed describes an enumeration. It names a limited number of values.
func listed(allowed []any) string {
	const most = 20
	var texts []string
	for _, a := range allowed[:min(len(allowed), most)] {
		text, err := canonical(a)
		if err == nil {
			texts = append(texts, string(text))
		}
	}
	if len(allowed) > most {
		texts = append(texts, "…")
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "one of " + strings.Join(texts, ", ")
}

// amount describes how many elements, characters or fields a value may have.
func amount(least, most *int, unit string) string {
	switch {
	case least != nil && most != nil && *least == *most:
		return fmt.Sprintf(" of %d%s", *least, unit)
	case least != nil && most != nil:
		return fmt.Sprintf(" of %d to %d%s", *least, *most, unit)
	case least != nil:
		return fmt.Sprintf(" of at least %d%s", *least, unit)
	case most != nil:
		return fmt.Sprintf(" of at most %d%s", *most, unit)
	}
	return ""
}

// bounds describes the range of a number.
func bounds(s *jsonschema.Schema) string {
	var text string
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		text = " from " + decimal(*s.Minimum) + " to " + decimal(*s.Maximum)
	case s.Minimum != nil:
		text = " of at least " + decimal(*s.Minimum)
	case s.Maximum != nil:
		text = " of at most " + decimal(*s.Maximum)
	}
	if s.ExclusiveMinimum != nil {
		text += " above " + decimal(*s.ExclusiveMinimum)
	}
	if s.ExclusiveMaximum != nil {
		text += " below " + decimal(*s.ExclusiveMaximum)
	}
	if s.MultipleOf != nil {
		text += " that is a multiple of " + decimal(*s.MultipleOf)
	}
	return text
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// shown describes a given value in few words.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		const most = 40
		if r := []rune(v); len(r) > most {
			v = string(r[:most]) + "…"
		}
		return "the string " + strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}
