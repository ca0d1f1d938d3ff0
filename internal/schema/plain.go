package schema

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	// maxDepth is the maximum number of levels of a recursive schema that are written out.
	maxDepth = 3
	// maxParts is the number of schemas above which fewer levels are written out.
	maxParts = 200
	// hardParts is the number of schemas above which no reference is written out.
	hardParts = 2000
)

// plain returns a schema in the form that every provider accepts: it has no references,
// lists of types or null alternatives, and each object has the key properties, if only
// with an empty value. It may accept more values than the schema itself.
func plain(root *jsonschema.Schema) *jsonschema.Schema {
	var out *jsonschema.Schema
	for depth := maxDepth; depth > 0; depth-- {
		e := expansion{root: root, depth: depth, within: map[string]int{}}
		out = e.expand(root)
		if e.parts <= maxParts {
			break
		}
	}
	out.Schema, out.ID, out.Anchor = "", "", ""
	return out
}

type expansion struct {
	root   *jsonschema.Schema
	depth  int
	within map[string]int // how many levels of a reference surround the current place
	parts  int
}

func (e *expansion) expand(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	e.parts++
	out := *s
	if target := definition(e.root, s.Ref); target != nil {
		if e.within[s.Ref] >= e.depth || e.parts > hardParts {
			out = jsonschema.Schema{Type: target.Type, Description: "the same kind of value again"}
		} else {
			e.within[s.Ref]++
			defer func() { e.within[s.Ref]-- }()
			out = *target
			out.Description = cmp.Or(s.Description, target.Description)
		}
	}
	e.children(&out)
	out.Defs, out.Definitions = nil, nil
	simplify(&out)
	return &out
}

// children expands the schemas inside s, which is a copy.
func (e *expansion) children(s *jsonschema.Schema) {
	s.Properties = maps.Clone(s.Properties)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		s.Properties[name] = e.expand(s.Properties[name])
	}
	s.Items = e.expand(s.Items)
	if !isFalse(s.AdditionalProperties) {
		s.AdditionalProperties = e.expand(s.AdditionalProperties)
	}
	for _, list := range []*[]*jsonschema.Schema{&s.PrefixItems, &s.ItemsArray, &s.AnyOf, &s.OneOf, &s.AllOf} {
		*list = slices.Clone(*list)
		for i, alternative := range *list {
			(*list)[i] = e.expand(alternative)
		}
	}
}

// simplify rewrites one schema, without the schemas inside it.
func simplify(s *jsonschema.Schema) {
	s.Types = withoutNull(s.Types)
	switch {
	case len(s.Types) == 1:
		s.Type, s.Types = s.Types[0], nil
	case len(s.Types) > 1 && s.AnyOf == nil:
		for _, t := range s.Types {
			s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: t})
		}
		s.Types = nil
	}
	s.AnyOf = dropNull(s.AnyOf)
	s.OneOf = dropNull(s.OneOf)
	for _, list := range []*[]*jsonschema.Schema{&s.AnyOf, &s.OneOf, &s.AllOf} {
		if len(*list) == 1 && s.Type == "" {
			only := (*list)[0]
			*list = nil
			merge(s, only)
		}
	}
	if s.Const != nil && s.Enum == nil {
		s.Enum, s.Const = []any{*s.Const}, nil
	}
	if s.Type == "object" && s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	if reflect.ValueOf(*s).IsZero() {
		// It would be encoded as true, which some providers reject.
		s.Description = "any JSON value"
	}
}

// merge turns s into the schema other, and keeps the title, description and default of s. If s
// has further keywords, merge adds other to s.AllOf instead.
func merge(s, other *jsonschema.Schema) {
	title, description, value := s.Title, s.Description, s.Default
	empty := *s
	empty.Title, empty.Description, empty.Default = "", "", nil
	if !reflect.ValueOf(empty).IsZero() {
		s.AllOf = append(s.AllOf, other) // both apply
		return
	}
	*s = *other
	s.Title, s.Description = cmp.Or(title, s.Title), cmp.Or(description, s.Description)
	if value != nil && string(value) != "null" {
		s.Default = value
	}
}

func withoutNull(types []string) []string {
	if !slices.Contains(types, "null") {
		return types
	}
	return slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
}

func dropNull(alternatives []*jsonschema.Schema) []*jsonschema.Schema {
	isNull := func(s *jsonschema.Schema) bool { return s.Type == "null" }
	if !slices.ContainsFunc(alternatives, isNull) {
		return alternatives
	}
	return slices.DeleteFunc(slices.Clone(alternatives), isNull)
}

// isFalse reports whether a schema is the schema that accepts no value.
func isFalse(s *jsonschema.Schema) bool {
	return s != nil && s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}
