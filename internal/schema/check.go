package schema

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

// An Error lists the problems of a value, in words with which a model can repair it.
type Error struct {
	Problems []string
	// Example is an object that the schema accepts, or empty. Only [Schema.Check] sets it,
	// for a value that does not match the schema.
	Example string
}

func (e *Error) Error() string {
	text := strings.Join(e.Problems, "; ")
	if e.Example != "" {
		text += "; for example: " + e.Example
	}
	return text
}

func problem(format string, args ...any) error {
	return &Error{Problems: []string{fmt.Sprintf(format, args...)}}
}

// Check returns a value in the form in which it is decoded, or an [*Error]. That form has
// each key once, with the last of several values, and sorted. Whole numbers are written
// as integers. A null is omitted if its property is optional and does not accept null.
func (s *Schema) Check(text json.RawMessage) (json.RawMessage, error) {
	value, err := parse(text)
	if err != nil {
		return nil, err
	}
	if problems := s.intrusions(value); problems != nil {
		return nil, &Error{Problems: problems}
	}
	if s.branches && !bearable(s.root, value) {
		return nil, problem("%s: too large, or nested too deep", s.subject)
	}
	omitNulls(s.root, s.root, value)
	if err := s.resolved.Validate(forCheck(value)); err != nil {
		problems := s.explain(value, false)
		if len(problems) == 0 {
			problems = []string{err.Error()}
		}
		return nil, &Error{problems, s.Example()}
	}
	return canonical(value)
}

// Decode decodes a value that Check returned. The error is an [*Error]: some problems,
// such as an integer that is too large for its Go type, are not found by Check.
func (s *Schema) Decode(checked json.RawMessage, into any) error {
	err := json.Unmarshal(checked, into)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && e.Field != "" {
		return problem("%s: %s does not fit (%s)", e.Field, e.Value, e.Type)
	}
	if value, unread := parse(checked); unread == nil {
		if problems := s.explain(value, true); len(problems) > 0 {
			return &Error{Problems: problems}
		}
	}
	return problem("%s", strings.TrimPrefix(err.Error(), "json: "))
}

// intrusions returns a problem for each property that only the program may set. Case is
// ignored, because package encoding/json ignores it.
func (s *Schema) intrusions(value any) []string {
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

// canonical encodes a value with its keys sorted.
func canonical(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, problem("%s", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func parse(text json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, problem("not valid JSON: %s; want JSON, got %s", err, shown(string(text)))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, problem("not valid JSON: more than one value")
	}
	return integers(value), nil
}

// omitNulls removes each null of an optional property that does not accept null. Models write
// null for a missing value.
func omitNulls(root, s *jsonschema.Schema, value any) {
	s = follow(root, s)
	switch v := value.(type) {
	case map[string]any:
		for name, e := range v {
			property := s.Properties[name]
			switch {
			case property == nil && s.AdditionalProperties != nil:
				omitNulls(root, s.AdditionalProperties, e)
			case property == nil:
			case e == nil && !acceptsNull(follow(root, property)) && !slices.Contains(s.Required, name):
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

// acceptsNull reports whether the type of a schema permits null.
func acceptsNull(s *jsonschema.Schema) bool {
	types := typesOf(s)
	return types == nil || slices.Contains(types, "null")
}

// integers writes whole numbers in the form that Go reads into an integer. Models also
// write 5.0 and 1e3.
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

// forCheck returns a copy with numbers of the types that the validator accepts. A number
// that is too large for a float64 becomes infinite, and is rejected when it is decoded.
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
