// Package schema infers JSON Schemas from Go types, and checks JSON values against them.
// Packages llm and tools use it for answers and for arguments, so that a type means the
// same in both.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema describes and checks JSON values. It is immutable.
type Schema struct {
	subject  string // the name of the whole value in problems
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	text     json.RawMessage
	hidden   []string // properties that the program sets
	branches bool     // more than one schema can apply to one value
}

// Options configures [Infer].
type Options struct {
	// Subject names the whole value in problems, for example "the arguments".
	Subject string
	// OneOf is the type of the blank field that makes a struct a union: a value has
	// exactly one of the struct's other fields. Nil means that there are no unions.
	OneOf reflect.Type
	// Hidden reports whether a type is for fields that the program sets. Such a field is
	// not in the schema. It must be a field of the inferred struct itself.
	Hidden func(reflect.Type) bool
}

// Infer returns the schema of a Go type. The error names the mistakes in the type,
// such as a part that cannot be read from JSON.
func Infer(t reflect.Type, o Options) (*Schema, error) {
	b := builder{
		options: o, root: t, active: map[reflect.Type]bool{},
		names: map[reflect.Type]string{}, defs: map[string]*jsonschema.Schema{},
	}
	for b.root.Kind() == reflect.Pointer && b.root.Name() == "" {
		b.root = b.root.Elem()
	}
	root := b.of(t, t.String())
	if len(b.hidden) > 0 && b.names[b.root] != "" {
		b.mistake(t.String(), "a type that contains itself cannot have a Bound")
	}
	if err := errors.Join(b.mistakes...); err != nil {
		return nil, err
	}
	if def := b.defs[b.names[b.root]]; def != nil {
		root = def.CloneSchemas()
	}
	if len(b.defs) > 0 {
		root.Defs = b.defs
	}
	for _, name := range b.hidden {
		if err := hide(root, name); err != nil {
			return nil, err
		}
	}
	return newSchema(root, o.Subject, b.hidden)
}

// Parse reads the JSON Schema of an object.
func Parse(text json.RawMessage, subject string) (*Schema, error) {
	return parseSchema(text, subject, func(root *jsonschema.Schema) error {
		if root == nil || root.Type != "" && root.Type != "object" || root.Types != nil {
			return errors.New("its schema is not the schema of an object")
		}
		root.Type = "object"
		return nil
	})
}

// ParseAny reads the JSON Schema of any value.
func ParseAny(text json.RawMessage, subject string) (*Schema, error) {
	return parseSchema(text, subject, func(root *jsonschema.Schema) error {
		if root == nil {
			return errors.New("its schema is null")
		}
		return nil
	})
}

func parseSchema(text json.RawMessage, subject string, accept func(root *jsonschema.Schema) error) (*Schema, error) {
	var root *jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %w", err)
	}
	if err := accept(root); err != nil {
		return nil, err
	}
	if !strings.Contains(root.Schema, "draft-07") {
		root.Schema = "" // read older and unknown drafts as the newest
	}
	return newSchema(root, subject, nil)
}

func newSchema(root *jsonschema.Schema, subject string, hidden []string) (*Schema, error) {
	if root.Type == "object" && root.Properties == nil {
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
	return &Schema{subject: subject, root: root, resolved: resolved, text: text, hidden: hidden, branches: branches}, nil
}

// Text returns the schema for a model, in the keywords that every provider accepts. It
// may allow more than [Schema.Check]. The caller must not change it.
func (s *Schema) Text() json.RawMessage { return s.text }

// IsObject reports whether every value is an object.
func (s *Schema) IsObject() bool { return s.root.Type == "object" }

// Has reports whether the schema declares a property.
func (s *Schema) Has(property string) bool { return s.root.Properties[property] != nil }

// Wrap returns the schema of an object with one required property, whose schema is s.
func (s *Schema) Wrap(property string) (*Schema, error) {
	inner := s.root.CloneSchemas()
	root := object()
	root.Properties[property] = inner
	root.Required = []string{property}
	root.Defs, inner.Defs = inner.Defs, nil
	return newSchema(root, s.subject, nil)
}

// Without returns the schema without a property that the program sets.
func (s *Schema) Without(property string) (*Schema, error) {
	if !s.Has(property) {
		return nil, fmt.Errorf("there is no argument %q to fix", property)
	}
	root := s.root.CloneSchemas()
	if err := hide(root, property); err != nil {
		return nil, err
	}
	return newSchema(root, s.subject, append(slices.Clone(s.hidden), property))
}

// hide removes a property from a schema. A value that sets a property whose name differs
// only in case is rejected too, so the schema must not have such a property.
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
