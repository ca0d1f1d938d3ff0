package jsonform

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Draft is the URL of the JSON Schema version that a [SchemaBuilder] uses.
const Draft = "https://json-schema.org/draft/2020-12/schema"

// A Schema is a JSON Schema, or a part of a JSON Schema.
type Schema map[string]any

// A SchemaBuilder derives JSON Schemas from Go types. The schemas describe the output
// of encoding/json. They refer to the schemas in Defs, which the root of the document
// must contain as "$defs".
type SchemaBuilder struct {
	// Input selects schemas for JSON that will be decoded. Such a schema requires no
	// fields, since encoding/json accepts an object without them.
	Input bool
	// Defs maps the names of types to their schemas.
	Defs map[string]Schema

	names map[reflect.Type]string
}

// Of returns the schema of a type.
func (b *SchemaBuilder) Of(t reflect.Type) Schema {
	switch t {
	case timeType:
		return Schema{"type": "string", "format": "date-time"}
	case rawType:
		return Schema{}
	case numberType:
		return Schema{"type": "number"}
	}
	if h := hooksOf(t); h.writes || h.reads {
		if p := reflect.PointerTo(t); !p.Implements(jsonMarshaler) && !p.Implements(jsonUnmarshaler) {
			return Schema{"type": "string"}
		}
		return Schema{}
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Slice, reflect.Map, reflect.Array:
		if t.Name() != "" {
			return b.ref(t)
		}
	}
	return b.inline(t)
}

// ref returns a reference to the schema of a named type.
// It assigns the name before it builds the schema, since the type may be recursive.
func (b *SchemaBuilder) ref(t reflect.Type) Schema {
	name, known := b.names[t]
	if !known {
		name = b.newName(t)
		if b.names == nil {
			b.names, b.Defs = map[reflect.Type]string{}, map[string]Schema{}
		}
		b.names[t], b.Defs[name] = name, nil
		b.Defs[name] = b.inline(t)
	}
	return Schema{"$ref": "#/$defs/" + name}
}

// newName returns a name for a type. No other type in Defs has the name.
func (b *SchemaBuilder) newName(t reflect.Type) string {
	base := strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, t.Name())
	name := base
	for i := 2; ; i++ {
		if _, taken := b.Defs[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
}

func (b *SchemaBuilder) inline(t reflect.Type) Schema {
	switch t.Kind() {
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return Schema{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Pointer:
		return nullable(b.Of(t.Elem()))
	case reflect.Array:
		return Schema{"type": "array", "items": b.Of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 && !hooksOf(t.Elem()).writes {
			return Schema{"type": []string{"string", "null"}, "contentEncoding": "base64"}
		}
		return Schema{"type": []string{"array", "null"}, "items": b.Of(t.Elem())}
	case reflect.Map:
		return Schema{"type": []string{"object", "null"}, "additionalProperties": b.Of(t.Elem())}
	case reflect.Struct:
		return b.object(t)
	}
	return Schema{}
}

func nullable(s Schema) Schema {
	switch typ := s["type"].(type) {
	case string:
		s["type"] = []string{typ, "null"}
		return s
	case []string: // the schema accepts null already
		return s
	}
	if len(s) == 0 {
		return s
	}
	return Schema{"anyOf": []Schema{s, {"type": "null"}}}
}

func (b *SchemaBuilder) object(t reflect.Type) Schema {
	properties := map[string]Schema{}
	required := b.addFields(t, properties, nil)
	out := Schema{"type": "object", "properties": properties}
	if len(required) > 0 && !b.Input {
		out["required"] = required
	}
	return out
}

// addFields adds the fields of a struct and of its embedded structs to properties. It
// appends the names of required fields to required. A field is required if encoding/json
// always writes it.
func (b *SchemaBuilder) addFields(t reflect.Type, properties map[string]Schema, required []string) []string {
	for _, f := range fieldsOf(t) {
		typ := t.Field(f.index).Type
		switch {
		case f.skipped || f.lost:
		case f.key == "" && typ.Kind() == reflect.Pointer:
			b.addFields(typ.Elem(), properties, nil)
		case f.key == "":
			required = b.addFields(typ, properties, required)
		default:
			properties[f.key] = b.field(f, typ)
			if !f.omitEmpty && !f.omitZero {
				required = append(required, f.key)
			}
		}
	}
	return required
}

func (b *SchemaBuilder) field(f field, t reflect.Type) Schema {
	if !f.asString {
		return b.Of(t)
	}
	if t.Kind() == reflect.Pointer {
		return Schema{"type": []string{"string", "null"}}
	}
	return Schema{"type": "string"}
}

// Object returns the JSON Schema document for an object that has only these
// properties.
func (b *SchemaBuilder) Object(properties map[string]Schema) json.RawMessage {
	out := Schema{"$schema": Draft, "type": "object", "properties": properties, "additionalProperties": false}
	if len(b.Defs) > 0 {
		out["$defs"] = b.Defs
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(err) // impossible: maps, strings and numbers can be encoded
	}
	return data
}
