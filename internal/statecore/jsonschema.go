package statecore

import (
	"encoding/json"

	"github.com/weft-go/weft/internal/jsonform"
)

// JSONSchema returns a JSON Schema (draft 2020-12) for the results of ValuesOf.
func (s *Schema) JSONSchema() json.RawMessage {
	b, properties := &jsonform.SchemaBuilder{}, map[string]jsonform.Schema{}
	for _, t := range s.channels {
		if !t.Untracked {
			properties[t.Name] = b.Of(t.Value)
		}
	}
	return b.Object(properties)
}

// InputJSONSchema returns a JSON Schema (draft 2020-12) for the arguments of
// InputFromJSON.
func (s *Schema) InputJSONSchema() json.RawMessage {
	b, properties := &jsonform.SchemaBuilder{Input: true}, map[string]jsonform.Schema{}
	for _, t := range s.channels {
		switch {
		case t.Internal, jsonform.Storable(t.Update) != nil:
		case t.List:
			element := b.Of(t.Update)
			array := jsonform.Schema{"type": "array", "items": element}
			properties[t.Name] = jsonform.Schema{"anyOf": []jsonform.Schema{array, element}}
		default:
			properties[t.Name] = b.Of(t.Update)
		}
	}
	return b.Object(properties)
}
