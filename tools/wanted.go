package tools

import (
	"encoding/json"
	"fmt"
	"slices"
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

// omitNulls takes the nulls out of optional fields, where models write them for
// "nothing".
func omitNulls(root, s *jsonschema.Schema, value any) {
	if target := definition(root, s.Ref); target != nil {
		s = target
	}
	switch v := value.(type) {
	case map[string]any:
		for name, e := range v {
			property := s.Properties[name]
			switch {
			case property == nil && s.AdditionalProperties != nil:
				omitNulls(root, s.AdditionalProperties, e)
			case property == nil:
			case e == nil && !takesNull(root, property) && !slices.Contains(s.Required, name):
				delete(v, name)
			default:
				omitNulls(root, property, e)
			}
		}
	case []any:
		for _, e := range v {
			if s.Items != nil {
				omitNulls(root, s.Items, e)
			}
		}
	}
}

// takesNull reports whether a property can be null, as far as its type says.
func takesNull(root, s *jsonschema.Schema) bool {
	if target := definition(root, s.Ref); target != nil {
		s = target
	}
	types := typesOf(s)
	return types == nil || slices.Contains(types, "null")
}

// maxExample is how long an example may be that a model is shown.
const maxExample = 400

// sample returns arguments that fit the schema: the required ones only, or more
// where there is nothing required. It is empty if none were found.
func (s *schema) sample() string {
	value := sampleOf(s.root, s.root, "", 0)
	object, ok := value.(map[string]any)
	if !ok || len(object) == 0 {
		return ""
	}
	text, err := canonical(object)
	if err != nil || len(text) > maxExample {
		return ""
	}
	parsed, err := parse(text)
	if err != nil || s.resolved.Validate(forCheck(parsed)) != nil {
		return ""
	}
	return string(text)
}

// sampleOf returns a value that may fit a schema, for a property of that name.
func sampleOf(root, s *jsonschema.Schema, name string, depth int) any {
	if target := definition(root, s.Ref); target != nil {
		s = target
	}
	if value := given(s); value != nil {
		return value
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, s.AllOf} {
		if len(alternatives) > 0 && depth < maxDepth {
			return sampleOf(root, alternatives[0], name, depth+1)
		}
	}
	types := withoutNull(typesOf(s))
	if len(types) == 0 {
		return "<" + name + ">"
	}
	switch types[0] {
	case "object":
		return sampleObject(root, s, depth)
	case "array":
		if s.Items == nil || depth >= maxDepth {
			return []any{}
		}
		n := 1
		if s.MinItems != nil {
			n = min(max(*s.MinItems, 1), maxProblems)
		}
		return slices.Repeat([]any{sampleOf(root, s.Items, name, depth+1)}, n)
	case "string":
		return sampleText(s, name)
	case "boolean":
		return true
	default:
		return sampleNumber(s)
	}
}

func sampleObject(root, s *jsonschema.Schema, depth int) map[string]any {
	names := s.Required
	if len(names) == 0 && depth == 0 {
		names = s.PropertyOrder[:min(len(s.PropertyOrder), 1)]
	}
	object := map[string]any{}
	for _, name := range names {
		if property := s.Properties[name]; property != nil && depth < maxDepth {
			object[name] = sampleOf(root, property, name, depth+1)
		}
	}
	return object
}

// given returns a value that the schema itself names.
func given(s *jsonschema.Schema) any {
	var value any
	switch {
	case s.Const != nil:
		return *s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Default != nil && json.Unmarshal(s.Default, &value) == nil:
		return value
	}
	return nil
}

var formats = map[string]string{
	"date-time": "2026-01-31T15:04:05Z", "date": "2026-01-31", "time": "15:04:05Z",
	"email": "name@example.com", "uri": "https://example.com/", "uuid": "00000000-0000-4000-8000-000000000000",
}

func sampleText(s *jsonschema.Schema, name string) string {
	return firstText(formats[s.Format], "<"+name+">")
}

func sampleNumber(s *jsonschema.Schema) float64 {
	switch {
	case s.Minimum != nil:
		return *s.Minimum
	case s.ExclusiveMinimum != nil:
		return *s.ExclusiveMinimum + 1
	case s.Maximum != nil && *s.Maximum < 1:
		return *s.Maximum
	case s.MultipleOf != nil:
		return *s.MultipleOf
	}
	return 1
}
