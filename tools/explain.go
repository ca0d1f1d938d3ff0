package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxProblems is how many problems a model is told at once.
const maxProblems = 10

// explain says what is wrong with arguments in words that a model can act on:
// the field, what was wanted and what was there, all of it and in a fixed order.
// It knows the keywords that inference writes; for a fault of any other it
// returns nothing.
func explain(root *jsonschema.Schema, value any) []string {
	var e explanation
	e.visit(root, value, "")
	if more := len(e.problems) - maxProblems; more > 0 {
		e.problems = append(e.problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return e.problems
}

type explanation struct{ problems []string }

func (e *explanation) add(path, format string, args ...any) {
	if path == "" {
		path = "the arguments"
	}
	e.problems = append(e.problems, path+": "+fmt.Sprintf(format, args...))
}

func (e *explanation) visit(s *jsonschema.Schema, value any, path string) {
	if s.Type != "" && !is(s.Type, value) {
		e.add(path, "want %s, got %s", wanted(s), shown(value))
		return
	}
	switch v := value.(type) {
	case map[string]any:
		e.visitObject(s, v, path)
	case []any:
		e.visitArray(s, v, path)
	case json.Number:
		f, err := v.Float64()
		if err != nil || s.Minimum != nil && f < *s.Minimum || s.Maximum != nil && f > *s.Maximum {
			e.add(path, "want %s, got %s", wanted(s), v)
		}
	}
}

func (e *explanation) visitObject(s *jsonschema.Schema, object map[string]any, path string) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			e.add(join(path, name), "is missing; want %s", wanted(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property := s.Properties[name]
		switch {
		case property != nil:
			e.visit(property, object[name], join(path, name))
		case s.AdditionalProperties == nil:
		case s.AdditionalProperties.Not != nil:
			e.add(join(path, name), "there is no such field; %s", fields(s))
		default:
			e.visit(s.AdditionalProperties, object[name], join(path, name))
		}
	}
}

func (e *explanation) visitArray(s *jsonschema.Schema, array []any, path string) {
	if s.MinItems != nil && len(array) < *s.MinItems || s.MaxItems != nil && len(array) > *s.MaxItems {
		e.add(path, "want %s, got %d", wanted(s), len(array))
	}
	if s.Items == nil {
		return
	}
	for i, item := range array {
		e.visit(s.Items, item, path+"["+strconv.Itoa(i)+"]")
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func fields(s *jsonschema.Schema) string {
	if len(s.Properties) == 0 {
		return "there are no fields"
	}
	order := s.PropertyOrder
	if len(order) == 0 {
		order = slices.Sorted(maps.Keys(s.Properties))
	}
	return "the fields are " + strings.Join(order, ", ")
}

// is reports whether a value is of a JSON Schema type.
func is(t string, value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return t == "object"
	case []any:
		return t == "array"
	case string:
		return t == "string"
	case bool:
		return t == "boolean"
	case json.Number:
		return t == "number" || t == "integer" && !strings.ContainsAny(v.String(), ".eE")
	}
	return false
}

var nouns = map[string]string{
	"object": "an object", "array": "an array", "string": "a string", "boolean": "true or false",
	"number": "a number", "integer": "an integer",
}

// wanted says what a schema asks for.
func wanted(s *jsonschema.Schema) string {
	noun := nouns[s.Type]
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		return noun + " from " + decimal(*s.Minimum) + " to " + decimal(*s.Maximum)
	case s.Minimum != nil:
		return noun + " of at least " + decimal(*s.Minimum)
	case s.MinItems != nil:
		return fmt.Sprintf("an array of %d", *s.MinItems)
	case s.Type == "":
		return "a value"
	}
	return noun
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
func omitNulls(s *jsonschema.Schema, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, e := range v {
			property := s.Properties[name]
			switch {
			case property == nil && s.AdditionalProperties != nil:
				omitNulls(s.AdditionalProperties, e)
			case property == nil:
			case e == nil && property.Type != "" && !slices.Contains(s.Required, name):
				delete(v, name)
			default:
				omitNulls(property, e)
			}
		}
	case []any:
		for _, e := range v {
			if s.Items != nil {
				omitNulls(s.Items, e)
			}
		}
	}
}
