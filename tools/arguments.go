package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// An argumentsError says what is wrong with the arguments of a call, in words
// for the model.
type argumentsError struct{ problems []string }

func (e *argumentsError) Error() string { return strings.Join(e.problems, "; ") }

// check returns arguments as they are passed on, or says what is wrong with them.
// What is passed on is exactly what was checked: a key that comes twice counts
// once, as its last value.
func (s *schema) check(arguments json.RawMessage) (json.RawMessage, error) {
	value, err := parse(arguments)
	if err != nil {
		return nil, err
	}
	if problems := s.intrusions(value); problems != nil {
		return nil, &argumentsError{problems}
	}
	if s.branches && !bearable(s.root, value) {
		return nil, &argumentsError{[]string{"the arguments are too large, or nested too deep"}}
	}
	omitNulls(s.root, s.root, value)
	if err := s.resolved.Validate(forCheck(value)); err != nil {
		problems := explain(s.root, value)
		if len(problems) == 0 {
			problems = []string{err.Error()}
		}
		if s.example != "" {
			problems = append(problems, "for example: "+s.example)
		}
		return nil, &argumentsError{problems}
	}
	return canonical(value)
}

// intrusions says which arguments are not the model's to set. Case does not
// count, as it does not to everybody who reads JSON.
func (s *schema) intrusions(value any) []string {
	object, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if slices.ContainsFunc(s.hidden, func(name string) bool { return strings.EqualFold(name, key) }) {
			problems = append(problems, key+": it is set by the program; leave it out")
		}
	}
	return problems
}

// canonical writes a value with its keys sorted.
func canonical(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, &argumentsError{[]string{err.Error()}}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// parse reads arguments. Models write nothing or null where there are none.
func parse(arguments json.RawMessage) (any, error) {
	if text := string(bytes.Trim(arguments, " \t\r\n")); text == "" || text == "null" {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(arguments))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, &argumentsError{[]string{"not valid JSON: " + err.Error()}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &argumentsError{[]string{"not valid JSON: more than one value"}}
	}
	return integers(value), nil
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

// integers writes whole numbers as Go reads integers: many models write 5.0 or
// 1e3 for them.
func integers(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, e := range v {
			v[key] = integers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = integers(e)
		}
	case json.Number:
		f, err := v.Float64()
		if err == nil && strings.ContainsAny(v.String(), ".eE") && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	}
	return value
}

// forCheck returns a copy with the numbers as the validator knows them. One
// that is too large for a float64 becomes an infinity, and then fails where it
// is read.
func forCheck(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = forCheck(e)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = forCheck(e)
		}
		return out
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return math.Inf(1)
		}
		return f
	}
	return value
}

// undecoded words what the schema could not say, such as a number that is too
// large for its Go type, or a text that is no time.
func (s *schema) undecoded(arguments json.RawMessage, err error) []string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return []string{fmt.Sprintf("%s: %s does not fit (%s)", e.Field, e.Value, e.Type)}
	}
	if value, unread := parse(arguments); unread == nil {
		if problems := explainTimes(s.root, value); len(problems) > 0 {
			return problems
		}
	}
	return []string{err.Error()}
}
