package shape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schema returns the JSON Schema of the shape: types are never lists, no other
// field is allowed than those of the struct, and only what contains itself is a
// definition.
func (s *Shape) Schema() json.RawMessage {
	w := writer{names: map[*Shape]string{}}
	w.find(s, nil)
	out := w.write(s, "", true)
	if len(w.names) > 0 {
		defs := map[string]any{}
		for shape, name := range w.names {
			defs[name] = w.write(shape, "", true)
		}
		out["$defs"] = defs
	}
	text, err := json.Marshal(out)
	if err != nil {
		panic("shape: " + err.Error()) // it is made of strings
	}
	return text
}

// A writer knows the shapes that contain themselves by the names of their
// definitions.
type writer struct {
	names map[*Shape]string
	seen  []*Shape
}

func (w *writer) find(s *Shape, above []*Shape) {
	if slices.Contains(above, s) {
		if w.names[s] == "" {
			w.names[s] = w.name(s)
		}
		return
	}
	if slices.Contains(w.seen, s) {
		return
	}
	w.seen = append(w.seen, s)
	above = append(slices.Clip(above), s)
	for _, f := range s.Fields {
		w.find(f.Shape, above)
	}
	if s.Elem != nil {
		w.find(s.Elem, above)
	}
}

// name returns a name that no other definition has.
func (w *writer) name(s *Shape) string {
	base := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s.name)
	name := base
	for n := 2; name == "" || slices.Contains(slices.Collect(maps.Values(w.names)), name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	return name
}

func (w *writer) write(s *Shape, about string, whole bool) map[string]any {
	if name := w.names[s]; name != "" && !whole {
		return map[string]any{"$ref": "#/$defs/" + name}
	}
	out := map[string]any{}
	set := func(key, text string) {
		if text != "" {
			out[key] = text
		}
	}
	if about == "" {
		about = s.About
	}
	if about == "" && s.Kind == Any {
		about = "any JSON value" // else it would be written as {}, which not every provider reads
	}
	set("type", s.Kind)
	set("format", s.Format)
	set("description", about)
	if s.Unsigned {
		out["minimum"] = 0
	}
	switch {
	case s.Kind == Array:
		out["items"] = w.write(s.Elem, "", false)
		if s.Len > 0 {
			out["minItems"], out["maxItems"] = s.Len, s.Len
		}
	case s.Kind == Object && s.Elem != nil:
		out["additionalProperties"] = w.write(s.Elem, "", false)
	case s.Kind == Object:
		properties := map[string]any{}
		required := []string{}
		for _, f := range s.Fields {
			properties[f.Name] = w.write(f.Shape, f.About, false)
			if f.Required {
				required = append(required, f.Name)
			}
		}
		out["properties"], out["required"], out["additionalProperties"] = properties, required, false
	}
	return out
}
