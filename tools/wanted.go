package tools

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

var nouns = map[string]string{
	"object": "an object", "array": "an array", "string": "a string", "boolean": "true or false",
	"number": "a number", "integer": "an integer", "null": "null",
}

// wantedOf is wanted for a schema that may refer to another, or be missing.
func (e *explanation) wantedOf(s *jsonschema.Schema) string {
	if s == nil {
		return "a value"
	}
	if target := definition(e.root, s.Ref); target != nil {
		s = target
	}
	return wanted(s)
}

// wanted says what a schema asks for.
func wanted(s *jsonschema.Schema) string {
	if allowed := allowedBy(s); allowed != nil {
		return listed(allowed)
	}
	var types []string
	for _, t := range typesOf(s) {
		types = append(types, nouns[t])
	}
	noun := firstText(strings.Join(types, " or "), "a value")
	noun += amount(s.MinItems, s.MaxItems, "") + amount(s.MinLength, s.MaxLength, " characters") + bounds(s)
	if s.Pattern != "" {
		noun += " that matches " + s.Pattern
	}
	return noun
}

// listed names the values of an enumeration, up to a number of them.
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

// amount says how many items or characters a value may have.
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

// bounds says how large a number may be.
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

// shown says what a model wrote, cut short.
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
