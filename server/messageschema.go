package server

import (
	"encoding/json"
	"maps"
	"strings"
)

// messageRef is the name of the schema of a message in "$defs". The names of Go types there have no period.
const messageRef = "chat.Message"

// messageSchema is the JSON schema of a message in the form of clients.
const messageSchema = `{"type":"object","required":["content"],"anyOf":[{"required":["type"]},{"required":["role"]}],"properties":{
"type":{"type":"string","enum":["human","ai","system","tool","remove"]},
"role":{"type":"string","enum":["user","assistant","system","developer","tool"]},
"content":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"text":{"type":"string"}}}}]},
"id":{"type":["string","null"]},"name":{"type":["string","null"]},
"tool_calls":{"type":"array","items":{"type":"object","required":["name","args"],"properties":{"name":{"type":"string"},"args":{"type":"object"},"id":{"type":["string","null"]}}}},
"tool_call_id":{"type":"string"}}}`

// withMessages replaces the schemas of messages in the schema of an object of values by channel. The new schemas have the
// form of clients.
func (c channels) withMessages(schema json.RawMessage) json.RawMessage {
	var fields, properties, defs map[string]json.RawMessage
	if json.Unmarshal(schema, &fields) != nil || json.Unmarshal(fields["properties"], &properties) != nil {
		return schema
	}
	_ = json.Unmarshal(orNull(fields["$defs"]), &defs)
	one := map[string]any{"$ref": "#/$defs/" + messageRef}
	found := false
	for name, list := range c.messages {
		if _, ok := properties[name]; !ok {
			continue
		}
		found = true
		properties[name] = encoded(one)
		if list {
			properties[name] = encoded(map[string]any{"type": "array", "items": one})
		}
	}
	if !found {
		return schema
	}
	fields["properties"] = encoded(properties)
	if defs == nil {
		defs = map[string]json.RawMessage{}
	}
	defs[messageRef] = encoded(json.RawMessage(messageSchema))
	fields["$defs"] = encoded(usedDefs(string(fields["properties"]), defs))
	return encoded(fields)
}

// usedDefs returns the definitions that a schema refers to, directly or through other definitions.
func usedDefs(schema string, defs map[string]json.RawMessage) map[string]json.RawMessage {
	used, rest := map[string]json.RawMessage{}, maps.Clone(defs)
	for texts := []string{schema}; len(texts) > 0; texts = texts[1:] {
		for name, def := range rest {
			if strings.Contains(texts[0], `"#/$defs/`+name+`"`) {
				used[name] = def
				delete(rest, name)
				texts = append(texts, string(def))
			}
		}
	}
	return used
}
