package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// A schema describes the arguments of a tool to the model, and checks them.
type schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage
}

// inferSchema infers the schema of a type of arguments.
func inferSchema(in reflect.Type) (*schema, error) {
	shapes := shapes{types: map[reflect.Type]*jsonschema.Schema{}, seen: map[reflect.Type]bool{}}
	shapes.visit(in, in.String())
	if err := errors.Join(shapes.mistakes...); err != nil {
		return nil, err
	}
	root, err := jsonschema.ForType(in, &jsonschema.ForOptions{TypeSchemas: shapes.types})
	if err != nil {
		return nil, err
	}
	straighten(root)
	if root.Type != "object" {
		return nil, fmt.Errorf("arguments of type %s: want a struct or a map with string keys", in)
	}
	return newSchema(root)
}

// readSchema reads the schema of a tool that is not made of a type.
func readSchema(text json.RawMessage) (*schema, error) {
	var root *jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("its schema can not be read: %w", err)
	}
	if root == nil || root.Type != "" && root.Type != "object" || root.Types != nil {
		return nil, errors.New("its schema is not that of an object")
	}
	root.Type = "object"
	return newSchema(root)
}

func newSchema(root *jsonschema.Schema) (*schema, error) {
	if root.Properties == nil {
		// Some providers refuse an object without the keyword.
		root.Properties = map[string]*jsonschema.Schema{}
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &schema{root: root, resolved: resolved, text: text}, nil
}

// straighten makes an inferred schema one that every provider takes. Types are
// never lists with "null": what may be null in Go is optional here, and a null
// for an optional field counts as absent. An array can not tell a pointer from a
// slice, so it stays as required as its tag says.
func straighten(s *jsonschema.Schema) {
	for name, property := range s.Properties {
		if slices.Contains(property.Types, "null") && !slices.Contains(property.Types, "array") {
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
		}
		straighten(property)
	}
	if slices.Contains(s.Types, "null") {
		types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
		s.Types = nil
		if len(types) == 1 {
			s.Type = types[0]
		}
	}
	if s.Items != nil {
		straighten(s.Items)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		straighten(s.AdditionalProperties)
	}
	if reflect.ValueOf(*s).IsZero() {
		// It would be written as true, which not every provider reads.
		s.Description = "any JSON value"
	}
}
