package schema

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxExample is the maximum length of an example in bytes.
const maxExample = 400

// Example returns an object that the schema accepts. It has the required properties, or
// one property if none is required. Example returns "" if it finds no such object.
func (s *Schema) Example() string {
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

// sampleOf returns a value that the schema of a property probably accepts.
func sampleOf(root, s *jsonschema.Schema, name string, depth int) any {
	s = follow(root, s)
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
		return sampleString(s, name)
	case "boolean":
		return true
	default:
		return sampleNumber(s)
	}
}

func sampleObject(root, s *jsonschema.Schema, depth int) map[string]any {
	names := s.Required
	if len(names) == 0 && (depth == 0 || s.MinProperties != nil) {
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

// given returns a value that the schema names, or nil.
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

func sampleString(s *jsonschema.Schema, name string) string {
	return cmp.Or(formats[s.Format], "<"+name+">")
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
