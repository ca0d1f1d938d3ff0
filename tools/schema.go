package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A schema describes the arguments of a tool to the model, and checks them.
type schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage // what a model sees
	example  string          // arguments that fit; empty if none was found
	hidden   []string        // arguments that the program sets
	branches bool            // a check may take long
}

// newSchema makes a schema of a root which is that of an object. What the model
// sees of it is in words that every provider reads.
func newSchema(root *jsonschema.Schema) (*schema, error) {
	if root.Properties == nil {
		root.Properties = map[string]*jsonschema.Schema{}
	}
	branches, err := checkReferences(root)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plain(root))
	if err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	s := &schema{root: root, resolved: resolved, text: text, branches: branches}
	s.example = s.sample()
	return s, nil
}

// inferSchema infers the schema of a type of arguments.
func inferSchema(in reflect.Type) (*schema, error) {
	shapes := newShapes()
	shapes.visit(in, in.String())
	if err := errors.Join(shapes.mistakes...); err != nil {
		return nil, err
	}
	root, err := shapes.infer(in)
	if err := errors.Join(append(shapes.mistakes, err)...); err != nil {
		return nil, err
	}
	if root.Type != "object" {
		return nil, fmt.Errorf("arguments of type %s: want a struct or a map with string keys", in)
	}
	bound, _ := boundFields(in)
	var hidden []string
	for _, field := range bound {
		name, ok := jsonName(field)
		if !ok {
			continue
		}
		hidden = append(hidden, name)
		if err := hide(root, name); err != nil {
			return nil, err
		}
	}
	s, err := newSchema(root)
	if err != nil {
		return nil, err
	}
	s.hidden = hidden
	return s, nil
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
	if !strings.Contains(root.Schema, "draft-07") {
		root.Schema = "" // an older or unknown draft is read as the newest
	}
	return newSchema(root)
}

// without returns a schema that lacks an argument, which the program sets.
func (s *schema) without(argument string) (*schema, error) {
	if s.root.Properties[argument] == nil {
		return nil, fmt.Errorf("there is no argument %q to fix", argument)
	}
	root := s.root.CloneSchemas()
	if err := hide(root, argument); err != nil {
		return nil, err
	}
	reduced, err := newSchema(root)
	if err != nil {
		return nil, err
	}
	reduced.hidden = append(slices.Clone(s.hidden), argument)
	return reduced, nil
}

// hide takes a property out of a schema of its own. A call that sets one of the
// same letters is refused as well, so there must not be any.
func hide(root *jsonschema.Schema, name string) error {
	delete(root.Properties, name)
	for other := range root.Properties {
		if strings.EqualFold(name, other) {
			return fmt.Errorf("argument %q is set by the program, and %q differs from it in capitals only", name, other)
		}
	}
	same := func(other string) bool { return other == name }
	root.Required = slices.DeleteFunc(slices.Clone(root.Required), same)
	root.PropertyOrder = slices.DeleteFunc(slices.Clone(root.PropertyOrder), same)
	return nil
}

// fill returns arguments with one more that the program sets.
func (s *schema) fill(arguments json.RawMessage, name string, value any) (json.RawMessage, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &object); err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	object[name] = text
	if arguments, err = json.Marshal(object); err != nil {
		return nil, err
	}
	return s.check(arguments)
}

// fillBound sets the bound fields of arguments, which into points to.
func fillBound(ctx context.Context, into reflect.Value, fields []reflect.StructField) error {
	for _, field := range fields {
		at := into
		for _, i := range field.Index {
			for at.Kind() == reflect.Pointer {
				if at.IsNil() {
					at.Set(reflect.New(at.Type().Elem()))
				}
				at = at.Elem()
			}
			at = at.Field(i)
		}
		if err := at.Addr().Interface().(binder).bind(ctx); err != nil {
			return err
		}
	}
	return nil
}
