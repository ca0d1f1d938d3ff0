package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/weft-go/weft/internal/schema"
	"github.com/weft-go/weft/llm"
)

// subject is the name of the whole arguments in error texts.
const subject = "the arguments"

// inferSchema infers the schema of the type of a tool's arguments.
func inferSchema(in reflect.Type) (*schema.Schema, error) {
	s, err := schema.Infer(in, schema.Options{Subject: subject, OneOf: reflect.TypeFor[llm.OneOf](), Hidden: isBound})
	if err == nil && !s.IsObject() {
		err = fmt.Errorf("arguments of type %s: want a struct or a map with string keys", in)
	}
	return s, err
}

// isBound reports whether a type is a [Bound].
func isBound(t reflect.Type) bool { return reflect.PointerTo(t).Implements(binderType) }

// checkArguments returns arguments in the form that a tool gets, or a [schema.Error] for
// the model. Empty arguments and null count as {}, because models write them for no
// arguments.
func checkArguments(s *schema.Schema, arguments json.RawMessage) (json.RawMessage, error) {
	if text := string(bytes.Trim(arguments, " \t\r\n")); text == "" || text == "null" {
		arguments = json.RawMessage("{}")
	}
	return s.Check(arguments)
}

// fillArgument returns arguments with one more argument that the program sets.
func fillArgument(s *schema.Schema, arguments json.RawMessage, name string, value any) (json.RawMessage, error) {
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
	return checkArguments(s, arguments)
}

// fillBound sets the bound fields of the argument struct into.
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
