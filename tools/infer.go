package tools

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// infer returns the schema of a type whose shapes are known. Types that hold
// themselves become definitions.
func (s *shapes) infer(in reflect.Type) (*jsonschema.Schema, error) {
	types := map[reflect.Type]*jsonschema.Schema{}
	for t, shape := range s.types {
		types[t] = shape
	}
	for t, name := range s.loops {
		types[t] = &jsonschema.Schema{Ref: "#/$defs/" + name}
	}
	root, err := s.inferOne(in, types)
	if err != nil || len(s.loops) == 0 {
		return root, err
	}
	root.Defs = map[string]*jsonschema.Schema{}
	for t, name := range s.loops {
		if root.Defs[name], err = s.inferOne(t, types); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (s *shapes) inferOne(t reflect.Type, types map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	from := t
	if s.loops[t] != "" {
		from = unnamed(t)
	}
	out, err := jsonschema.ForType(from, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		return nil, err
	}
	s.finish(out, t, t.String())
	straighten(out)
	return out, nil
}

// unnamed returns a type of the same fields, elements or keys, which is not the
// type itself.
func unnamed(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Slice:
		return reflect.SliceOf(t.Elem())
	case reflect.Array:
		return reflect.ArrayOf(t.Len(), t.Elem())
	case reflect.Map:
		return reflect.MapOf(t.Key(), t.Elem())
	default:
		var fields []reflect.StructField
		for _, field := range reflect.VisibleFields(t) {
			if field.IsExported() && !field.Anonymous {
				field.Index, field.Offset = nil, 0
				fields = append(fields, field)
			}
		}
		return reflect.StructOf(fields)
	}
}

// finish adds what the tags of fields say and inference does not read.
func (s *shapes) finish(out *jsonschema.Schema, t reflect.Type, path string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if out == nil || out.Ref != "" || s.types[t] != nil {
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		s.finish(out.Items, t.Elem(), path+"[]")
	case reflect.Map:
		s.finish(out.AdditionalProperties, t.Elem(), path+"[]")
	case reflect.Struct:
		for _, field := range reflect.VisibleFields(t) {
			name, ok := jsonName(field)
			property := out.Properties[name]
			if !ok || field.Anonymous || !field.IsExported() || property == nil {
				continue
			}
			at := path + "." + field.Name
			if err := enumerate(property, field.Tag.Get("enum")); err != nil {
				s.mistake(at, "enum tag: "+err.Error())
			}
			s.describe(property, field.Type)
			s.finish(property, field.Type, at)
		}
	}
}

// describe adds to what a tag says of a field what is to be known of its type,
// such as that it is in nanoseconds.
func (s *shapes) describe(property *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if shape := s.types[t]; shape != nil && shape.Description != "" && property.Description != shape.Description {
		property.Description += " (" + shape.Description + ")"
	}
}

// jsonName returns the key of a field, and whether it has one.
func jsonName(field reflect.StructField) (string, bool) {
	tag := field.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	return firstText(name, field.Name), tag != "-"
}

// enumerate limits a property, or the elements of one that is a list, to the
// values of an enum tag.
func enumerate(property *jsonschema.Schema, tag string) error {
	if tag == "" {
		return nil
	}
	if property.Items != nil {
		property = property.Items
	}
	types := withoutNull(append([]string{property.Type}, property.Types...))
	for text := range strings.SplitSeq(tag, ",") {
		value, err := enumValue(text, types)
		if err != nil {
			return err
		}
		property.Enum = append(property.Enum, value)
	}
	return nil
}

func enumValue(text string, types []string) (any, error) {
	text = strings.TrimSpace(text)
	switch {
	case slices.Contains(types, "string"):
		return text, nil
	case slices.Contains(types, "integer"):
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil && int64(float64(n)) != n {
			err = fmt.Errorf("%s: schemas hold no integers as large exactly", text)
		}
		return float64(n), err
	case slices.Contains(types, "number"):
		return strconv.ParseFloat(text, 64)
	}
	return nil, fmt.Errorf("%q: the field is neither text nor a number", text)
}

// straighten makes an inferred schema one that says what Go reads. What may be
// null in Go is optional, and a null for an optional field counts as absent. An
// array can not tell a pointer from a slice, so it stays as required as its tag
// says.
func straighten(s *jsonschema.Schema) {
	for name, property := range s.Properties {
		if slices.Contains(property.Types, "null") && !slices.Contains(property.Types, "array") {
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
		}
		straighten(property)
	}
	if s.Types = withoutNull(s.Types); len(s.Types) == 1 {
		s.Type = s.Types[0]
	}
	if len(s.Types) < 2 {
		s.Types = nil
	}
	if s.Items != nil {
		straighten(s.Items)
	}
	if s.AdditionalProperties != nil && !isFalse(s.AdditionalProperties) {
		straighten(s.AdditionalProperties)
	}
}
