package tools

import "github.com/google/jsonschema-go/jsonschema"

// maxWork is how many pairs of a schema and a value a check may look at. With
// alternatives that hold themselves their number doubles with every level of a
// value, and a few hundred bytes would be checked for ever.
const maxWork = 50_000

// work counts what it takes to check a value.
type work struct {
	circles circles
	left    int
}

// bearable reports whether a value can be checked in a time worth waiting for.
func bearable(root *jsonschema.Schema, value any) bool {
	w := work{circles: circles{root: root}, left: maxWork}
	w.visit(root, value)
	return w.left >= 0
}

func (w *work) visit(s *jsonschema.Schema, value any) {
	if s == nil {
		return
	}
	if w.left--; w.left < 0 || !ofType(s, value) {
		return
	}
	same, err := w.circles.beside(s)
	if err != nil {
		return // it was refused when the tool was made
	}
	for _, next := range same {
		w.visit(next, value)
	}
	switch v := value.(type) {
	case map[string]any:
		for name, e := range v {
			w.visit(s.Properties[name], e)
			w.visit(s.AdditionalProperties, e)
			w.visit(s.UnevaluatedProperties, e)
			for _, next := range s.PatternProperties {
				w.visit(next, e)
			}
		}
	case []any:
		for _, e := range v {
			for _, next := range []*jsonschema.Schema{s.Items, s.Contains, s.AdditionalItems, s.UnevaluatedItems} {
				w.visit(next, e)
			}
			for _, next := range s.PrefixItems {
				w.visit(next, e)
			}
		}
	}
}

func ofType(s *jsonschema.Schema, value any) bool {
	types := typesOf(s)
	for _, t := range types {
		if is(t, value) {
			return true
		}
	}
	return types == nil
}
