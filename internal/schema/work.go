package schema

import "github.com/google/jsonschema-go/jsonschema"

// maxWork is the maximum number of pairs of a schema and a value in a check. With
// recursive alternatives, the number doubles with every level of a value, so that the
// check of a few hundred bytes would not end.
const maxWork = 50_000

// work counts the pairs of a check.
type work struct {
	cycles cycles
	left   int
}

// bearable reports whether the check of a value stays within maxWork.
func bearable(root *jsonschema.Schema, value any) bool {
	w := work{cycles: cycles{root: root}, left: maxWork}
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
	same, err := w.cycles.beside(s)
	if err != nil {
		return // newSchema rejects such a schema
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
