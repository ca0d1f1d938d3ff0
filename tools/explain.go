package tools

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

// maxProblems is how many problems a model is told at once.
const maxProblems = 10

// maxVisits is how many values are looked at to find out what is wrong: with
// alternatives within alternatives it could take for ever.
const maxVisits = 20_000

// explain says what is wrong with arguments in words that a model can act on:
// the field, what was wanted and what was there, all of it and in a fixed order.
// It knows the usual keywords; for a fault of any other it returns nothing.
func explain(root *jsonschema.Schema, value any) []string {
	budget := maxVisits
	return (&explanation{root: root, budget: &budget}).all(value)
}

// explainTimes says as well which texts are no times, where Go is to read them
// as such.
func explainTimes(root *jsonschema.Schema, value any) []string {
	budget := maxVisits
	return (&explanation{root: root, budget: &budget, times: true}).all(value)
}

func (e *explanation) all(value any) []string {
	e.visit(e.root, value, "")
	if more := len(e.problems) - maxProblems; more > 0 {
		e.problems = append(e.problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return e.problems
}

type explanation struct {
	root     *jsonschema.Schema
	problems []string
	budget   *int // how many values may still be looked at
	times    bool // whether a text of the format date-time has to be one
}

func (e *explanation) add(path, format string, args ...any) {
	if path == "" {
		path = "the arguments"
	}
	e.problems = append(e.problems, path+": "+fmt.Sprintf(format, args...))
}

func (e *explanation) visit(s *jsonschema.Schema, value any, path string) {
	if *e.budget--; *e.budget < 0 {
		return
	}
	if target := definition(e.root, s.Ref); target != nil {
		s = target
	}
	if !ofType(s, value) {
		e.add(path, "want %s, got %s", wanted(s), shown(value))
		return
	}
	if allowed := allowedBy(s); allowed != nil && !slices.ContainsFunc(allowed, func(a any) bool { return equal(a, value) }) {
		e.add(path, "want %s, got %s", wanted(s), shown(value))
		return
	}
	switch v := value.(type) {
	case map[string]any:
		e.visitObject(s, v, path)
	case []any:
		e.visitArray(s, v, path)
	case string:
		e.visitText(s, v, path)
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

// visitAlternatives says what is wrong by the alternatives of which one has to
// fit: all of them in short, or the only one of the value's type in full.
func (e *explanation) visitAlternatives(alternatives []*jsonschema.Schema, value any, path string) {
	if len(alternatives) == 0 {
		return
	}
	var near []*jsonschema.Schema
	var nouns []string
	for _, a := range alternatives {
		if target := definition(e.root, a.Ref); target != nil {
			a = target
		}
		trial := explanation{root: e.root, budget: e.budget, times: e.times}
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
			e.add(join(path, name), "is missing; want %s", e.wantedOf(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		property := s.Properties[name]
		switch {
		case property != nil:
			e.visit(property, object[name], join(path, name))
		case s.AdditionalProperties == nil || len(s.PatternProperties) > 0:
		case isFalse(s.AdditionalProperties):
			e.add(join(path, name), "there is no such field; %s", fields(s))
		default:
			e.visit(s.AdditionalProperties, object[name], join(path, name))
		}
	}
}

func (e *explanation) visitText(s *jsonschema.Schema, text, path string) {
	switch {
	case !textFits(s, text):
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

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// is reports whether a value is of a JSON Schema type.
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

func textFits(s *jsonschema.Schema, text string) bool {
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
