package server

import (
	"encoding/json"
	"slices"
)

func (c *call) schemas() error {
	r, err := c.pathAssistant()
	if err != nil {
		return err
	}
	g := c.s.graphs[r.Graph]
	values := g.channels.withMessages(withType(g.graph.JSONSchema()))
	var fields any // null if Options.Context does not say which fields the nodes read
	if schema, ok := c.s.o.Context[g.name]; ok {
		fields = schema
	}
	return c.send(map[string]any{
		"graph_id": g.name, "input_schema": withType(flatInput(g)), "output_schema": outputSchema(values, g.channels), "state_schema": values,
		"config_schema": fields, "context_schema": fields,
	})
}

// outputSchema returns the schema of the values in results and streams.
func outputSchema(schema json.RawMessage, c channels) json.RawMessage {
	var fields, properties map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || json.Unmarshal(fields["properties"], &properties) != nil {
		return schema
	}
	fields["properties"] = encoded(c.shown(properties))
	delete(fields, "additionalProperties") // results may also have open questions and failures
	var required []string
	if json.Unmarshal(fields["required"], &required) == nil && required != nil {
		fields["required"] = encoded(slices.DeleteFunc(required, func(name string) bool { return c.hidden[name] }))
	}
	return encoded(fields)
}

// withType adds the type "object" to a schema that has no type.
func withType(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || fields["type"] != nil {
		return schema
	}
	fields["type"] = json.RawMessage(`"object"`)
	return encoded(fields)
}

// flatInput returns the schema of the channels that clients may write. A list has only the schema of an array, without
// the schema of a single element, because a client that makes a form of the schema needs one type.
func flatInput(g *served) json.RawMessage {
	var schema map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if json.Unmarshal(g.graph.InputJSONSchema(), &schema) != nil || json.Unmarshal(schema["properties"], &properties) != nil {
		return g.graph.InputJSONSchema()
	}
	for name, p := range properties {
		if g.channels.closed[name] {
			delete(properties, name)
			continue
		}
		var either struct {
			AnyOf []json.RawMessage `json:"anyOf"`
		}
		if json.Unmarshal(p, &either) == nil && len(either.AnyOf) > 0 {
			p = either.AnyOf[0]
		}
		properties[name] = withoutNull(p)
	}
	schema["properties"] = encoded(properties)
	return g.channels.withMessages(encoded(schema))
}

// withoutNull removes null from the types of a schema. For a list, null stands for an empty list.
func withoutNull(schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	var types []string
	if json.Unmarshal(schema, &fields) != nil || json.Unmarshal(fields["type"], &types) != nil {
		return schema
	}
	types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	if len(types) == 1 {
		fields["type"] = encoded(types[0])
	}
	return encoded(fields)
}
