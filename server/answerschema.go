package server

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/weft-go/weft/internal/engine"
	"github.com/weft-go/weft/internal/jsonform"
)

// answerSchema returns the JSON schema of the answers to a question: the field "schema" of its prompt, or else the schema
// of the type of its answers. It returns nil if the type is unknown or accepts every JSON value.
func answerSchema(interrupt string, prompt json.RawMessage) json.RawMessage {
	var own struct {
		Schema json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(prompt, &own) == nil && isObject(own.Schema) {
		return own.Schema
	}
	t := engine.AnswerType(interrupt)
	if t == nil {
		return nil
	}
	if schema := typeSchema(t); string(schema) != "{}" {
		return schema
	}
	return nil
}

// typeSchema returns the JSON schema of a type as JSON is decoded into it: no field is required.
func typeSchema(t reflect.Type) json.RawMessage {
	b := &jsonform.SchemaBuilder{Input: true}
	schema := b.Of(t)
	defs := map[string]json.RawMessage{}
	for name, def := range b.Defs {
		defs[name] = encoded(def)
		if schema["$ref"] == "#/$defs/"+name { // forms need the properties at the top
			schema = maps.Clone(def)
		}
	}
	if used := usedDefs(string(encoded(schema)), defs); len(used) > 0 {
		schema["$defs"] = used
	}
	return encoded(schema)
}
