package tools

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// OutputSchema returns the JSON schema of the tool's results, or nil. A tool of [New] has
// a schema if its result type is a struct or a map with string keys, and does not
// implement its own JSON encoding. The result is the caller's own. Models do not get it;
// servers of other protocols may publish it.
func (t Tool) OutputSchema() json.RawMessage { return bytes.Clone(t.output) }

// outputSchema returns the schema of a result type, or nil.
func outputSchema(out reflect.Type) json.RawMessage {
	if out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	isObject := out.Kind() == reflect.Struct || out.Kind() == reflect.Map && out.Key().Kind() == reflect.String
	if !isObject || out == reflect.TypeFor[Result]() || encodesItself(reflect.PointerTo(out)) {
		return nil
	}
	schema, err := jsonschema.ForType(out, &jsonschema.ForOptions{})
	if err != nil {
		return nil // the type has no schema, so its results are only texts
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	return text
}

func encodesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}
