package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxProblems is the number of problems that explain names. It only counts further ones.
	maxProblems = 10
	// maxVisits is the maximum number of calls of visit for one explanation, since nested
	// alternatives can need exponentially many.
	maxVisits = 20_000
)

// explain returns the problems of a value: the path, the wanted and the given value, in a
// fixed order. It covers the usual keywords, so it may find no problem in a value that the
// validator rejects. With times, it also reports strings that should be times.
func (s *Schema) explain(value any, times bool) []string {
	budget := maxVisits
	e := explanation{subject: s.subject, root: s.root, budget: &budget, times: times}
	e.visit(s.root, value, "")
	if more := len(e.problems) - maxProblems; more > 0 {
		e.problems = append(e.problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return e.problems
}

type explanation struct {
	subject  string
	root     *jsonschema.Schema
	problems []string
	budget   *int // visits that are left
	times    bool // strings of the format date-time are checked
}

func (e *explanation) add(path, format string, args ...any) {
	if path == "" {
		path = e.subject
	}
	e.problems = append(e.problems, path+": "+fmt.Sprintf(format, args...))
}

func (e *explanation) visit(s *jsonschema.Schema, value any, path string) {
	if *e.budget--; *e.budget < 0 {
		return
	}
	s = follow(e.root, s)
	allowed := allowedBy(s)
	if !ofType(s, value) || allowed != nil && !slices.ContainsFunc(allowed, func(a any) bool { return equal(a, value) }) {
		e.add(path, "want %s, got %s", wanted(s), shown(value))
		return
	}
	switch v := value.(type) {
	case map[string]any:
		e.visitObject(s, v, path)
	case []any:
		e.visitArray(s, v, path)
	case string:
		e.visitString(s, v, path)
	case json.Number:
		if !numberFits(s, v) {
			e.add(path, "want %s, got %s", wanted(s), v)
		}
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		e.visitAlternatives(alternatives, value, path)
	}
	for _, part := range s.AllOf {
		e.visit(part, value, path)
	}
}

// visitAlternatives does nothing if the value fits an alternative. If exactly one alternative
// has the type of the value, it adds the problems with that one. Otherwise it adds one problem
// that lists the alternatives.
func (e *explanation) visitAlternatives(alternatives []*jsonschema.Schema, value any, path string) {
	if len(alternatives) == 0 {
		return
	}
	var near []*jsonschema.Schema
	var nouns []string
	for _, a := range alternatives {
		a = follow(e.root, a)
		trial := explanation{subject: e.subject, root: e.root, budget: e.budget, times: e.times}
		if trial.visit(a, value, path); len(trial.problems) == 0 {
			return
		}
		if slices.ContainsFunc(typesOf(a), func(t string) bool { return is(t, value) }) {
			near = append(near, a)
		}
		nouns = append(nouns, wanted(a))
	}
	if len(near) == 1 {
		e.visit(near[0], value, path)
		return
	}
	e.add(path, "want %s, got %s", strings.Join(nouns, " or "), shown(value))
}

func (e *explanation) visitObject(s *jsonschema.Schema, object map[string]any, path string) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			e.add(join(path, name), "is missing; want %s", e.wantedProperty(s, name))
		}
	}
	unknown := false
	keys := slices.Sorted(maps.Keys(object))
	for _, name := range keys {
		property := s.Properties[name]
		switch {
		case property != nil:
			e.visit(property, object[name], join(path, name))
		case s.AdditionalProperties == nil || len(s.PatternProperties) > 0:
		case isFalse(s.AdditionalProperties):
			unknown = true
			e.add(join(path, name), "there is no such field; %s", fieldNames(s))
		default:
			e.visit(s.AdditionalProperties, object[name], join(path, name))
		}
	}
	// An unknown field of a union is already explained by the names of its fields.
	tooFew, tooMany := s.MinProperties != nil && len(keys) < *s.MinProperties, s.MaxProperties != nil && len(keys) > *s.MaxProperties
	if (tooFew || tooMany) && !unknown {
		got := "no field"
		if len(keys) > 0 {
			got = "the fields " + strings.Join(keys, ", ")
		}
		e.add(path, "want %s, got %s", wanted(s), got)
	}
}

func (e *explanation) wantedProperty(s *jsonschema.Schema, name string) string {
	if property := s.Properties[name]; property != nil {
		return wanted(follow(e.root, property))
	}
	return "a value"
}

func (e *explanation) visitString(s *jsonschema.Schema, text, path string) {
	switch {
	case !stringFits(s, text):
		e.add(path, "want %s, got %s", wanted(s), shown(text))
	case e.times && s.Format == "date-time" && !isTime(text):
		e.add(path, "want a time such as %s, got %s", formats[s.Format], shown(text))
	}
}

func (e *explanation) visitArray(s *jsonschema.Schema, array []any, path string) {
	if s.MinItems != nil && len(array) < *s.MinItems || s.MaxItems != nil && len(array) > *s.MaxItems {
		e.add(path, "want %s, got %d", wanted(s), len(array))
	}
	if s.Items == nil || s.PrefixItems != nil {
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

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// is reports whether a value has a JSON Schema type.
func is(t string, value any) bool {
	switch v := value.(type) {
	case nil:
		return t == "null"
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

// ofType reports whether a value has one of the types of a schema.
func ofType(s *jsonschema.Schema, value any) bool {
	types := typesOf(s)
	return types == nil || slices.ContainsFunc(types, func(t string) bool { return is(t, value) })
}

// allowedBy returns the values that a schema lists, or nil if it lists none.
func allowedBy(s *jsonschema.Schema) []any {
	if s.Const != nil {
		return []any{*s.Const}
	}
	return s.Enum
}

func equal(allowed, value any) bool {
	number, ok := value.(json.Number)
	if !ok {
		a, errA := canonical(allowed)
		b, errB := canonical(value)
		return errA == nil && errB == nil && string(a) == string(b)
	}
	a, okA := allowed.(float64)
	b, err := number.Float64()
	return okA && err == nil && a == b
}

func stringFits(s *jsonschema.Schema, text string) bool {
	n := utf8.RuneCountInString(text)
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return false
	}
	if s.Pattern == "" {
		return true
	}
	pattern, err := regexp.Compile(s.Pattern)
	return err != nil || pattern.MatchString(text)
}

func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}

func numberFits(s *jsonschema.Schema, number json.Number) bool {
	f, err := number.Float64()
	switch {
	case err != nil,
		s.Minimum != nil && f < *s.Minimum, s.Maximum != nil && f > *s.Maximum,
		s.ExclusiveMinimum != nil && f <= *s.ExclusiveMinimum, s.ExclusiveMaximum != nil && f >= *s.ExclusiveMaximum:
		return false
	case s.MultipleOf != nil:
		_, rest := math.Modf(f / *s.MultipleOf)
		return rest == 0
	}
	return true
}
