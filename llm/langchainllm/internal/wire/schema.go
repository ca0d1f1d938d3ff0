package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// maxNodes is the maximum number of nodes in a schema after its references are replaced.
const maxNodes = 2000

// SimpleSchema converts a JSON Schema to the keywords that Gemini knows: it replaces
// references by their targets, null by "nullable", and omits other keywords. The result
// accepts every value that the schema accepts. A recursive reference becomes an object
// with any properties.
func SimpleSchema(schema json.RawMessage) map[string]any {
	root := read[map[string]any](schema)
	s := &simplifier{root: root, within: map[string]bool{}}
	simple := s.simplify(root)
	if _, ok := simple["properties"]; !ok && simple["type"] == "object" {
		simple["properties"] = map[string]any{}
	}
	return simple
}

type simplifier struct {
	root   map[string]any
	within map[string]bool // references that are being written out
	nodes  int
}

// plain lists the keywords that [simplifier.simplify] copies.
var plain = []string{
	"description", "title", "enum", "required", "format", "minimum", "maximum",
	"minItems", "maxItems", "minLength", "maxLength", "pattern", "nullable", "default",
}

func (s *simplifier) simplify(schema map[string]any) map[string]any {
	if s.nodes++; schema == nil || s.nodes > maxNodes {
		return map[string]any{"type": "object"}
	}
	if ref, ok := schema["$ref"].(string); ok {
		target := maps.Clone(s.resolve(ref))
		if target == nil || s.within[ref] {
			return map[string]any{"type": "object"}
		}
		s.within[ref] = true
		defer delete(s.within, ref)
		if text, ok := schema["description"]; ok {
			target["description"] = text
		}
		return s.simplify(target)
	}
	out := map[string]any{}
	for _, key := range plain {
		if value, ok := schema[key]; ok {
			out[key] = value
		}
	}
	if value, ok := schema["const"]; ok {
		out["enum"] = []any{value}
	}
	s.types(schema, out)
	s.children(schema, out)
	fixEnum(out)
	return out
}

// types converts a list of types, or alternatives, to one type or to anyOf.
func (s *simplifier) types(schema, out map[string]any) {
	switch t := schema["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		names := slices.DeleteFunc(slices.Clone(t), func(v any) bool { return v == "null" })
		if len(names) < len(t) {
			out["nullable"] = true
		}
		if len(names) == 1 {
			out["type"] = names[0]
		}
		if len(names) > 1 {
			var alternatives []any
			for _, name := range names {
				one := maps.Clone(schema)
				one["type"] = name
				delete(one, "description")
				alternatives = append(alternatives, s.simplify(one))
			}
			out["anyOf"] = alternatives
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[key].([]any); ok {
			s.alternatives(list, out)
		}
	}
}

func (s *simplifier) alternatives(list []any, out map[string]any) {
	var alternatives []map[string]any
	for _, item := range list {
		one, _ := item.(map[string]any)
		if one["type"] == "null" {
			out["nullable"] = true
			continue
		}
		alternatives = append(alternatives, s.simplify(one))
	}
	if len(alternatives) != 1 {
		if len(alternatives) > 1 {
			out["anyOf"] = alternatives
		}
		return
	}
	for key, value := range alternatives[0] {
		if _, ok := out[key]; !ok {
			out[key] = value
		}
	}
}

func (s *simplifier) children(schema, out map[string]any) {
	if properties, ok := schema["properties"].(map[string]any); ok {
		children := map[string]any{}
		for name, property := range properties {
			child, _ := property.(map[string]any)
			if child == nil {
				children[name] = map[string]any{"type": "string"}
				continue
			}
			children[name] = s.simplify(child)
		}
		out["properties"] = children
		out["type"] = "object"
	}
	if items, ok := schema["items"].(map[string]any); ok {
		out["items"] = s.simplify(items)
	} else if out["type"] == "array" {
		out["items"] = map[string]any{"type": "string"}
	}
}

// fixEnum removes an enum whose values are not strings, because Gemini supports only
// strings.
func fixEnum(out map[string]any) {
	enum, ok := out["enum"].([]any)
	if !ok {
		return
	}
	texts := slices.DeleteFunc(slices.Clone(enum), func(v any) bool { return v == nil })
	if len(texts) < len(enum) {
		out["nullable"] = true
	}
	for _, v := range texts {
		if _, ok := v.(string); !ok {
			delete(out, "enum")
			return
		}
	}
	out["enum"] = texts
	if out["type"] == nil {
		out["type"] = "string"
	}
}

// resolve returns the target of a reference within the schema.
func (s *simplifier) resolve(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, ok := at[step].(map[string]any)
		if !ok {
			return nil
		}
		at = next
	}
	return at
}
