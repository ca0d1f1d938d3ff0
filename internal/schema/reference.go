package schema

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// follow returns the schema to which s refers, or s if it does not refer to one.
func follow(root, s *jsonschema.Schema) *jsonschema.Schema {
	if target := definition(root, s.Ref); target != nil {
		return target
	}
	return s
}

// definition returns the schema to which a reference leads, through other references. It
// returns nil if the reference is empty or not a path within the root.
func definition(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	const most = 16 // a longer chain is considered a cycle
	for range most {
		s := pointed(root, ref)
		if s == nil || s.Ref == "" {
			return s
		}
		ref = s.Ref
	}
	return nil
}

// pointed follows one reference, such as "#/$defs/node". It returns nil if the reference is
// not a path within the root.
func pointed(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return nil
	}
	s := root
	tokens := strings.Split(path, "/")
	if tokens[0] != "" {
		return nil
	}
	for tokens = tokens[1:]; len(tokens) > 0 && s != nil; {
		s, tokens = step(s, tokens)
	}
	return s
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// step follows the first one or two tokens of a path.
func step(s *jsonschema.Schema, tokens []string) (*jsonschema.Schema, []string) {
	switch tokens[0] {
	case "items":
		return s.Items, tokens[1:]
	case "additionalProperties":
		return s.AdditionalProperties, tokens[1:]
	case "not":
		return s.Not, tokens[1:]
	}
	if len(tokens) == 1 {
		return nil, nil
	}
	name := unescape.Replace(tokens[1])
	named := map[string]map[string]*jsonschema.Schema{"$defs": s.Defs, "definitions": s.Definitions, "properties": s.Properties}
	if group, ok := named[tokens[0]]; ok {
		return group[name], tokens[2:]
	}
	numbered := map[string][]*jsonschema.Schema{"anyOf": s.AnyOf, "oneOf": s.OneOf, "allOf": s.AllOf, "prefixItems": s.PrefixItems}
	i, err := strconv.Atoi(name)
	if group := numbered[tokens[0]]; err == nil && i >= 0 && i < len(group) {
		return group[i], tokens[2:]
	}
	return nil, nil
}

// maxSame is the maximum number of schemas that apply to one value.
const maxSame = 5000

// checkReferences returns an error for a reference that leads out of the schema. It also
// returns an error for references with which a check would not end, or take very long:
// references that lead back to their start without going deeper into the value, and
// references that multiply. It reports whether several schemas can apply to one value.
func checkReferences(root *jsonschema.Schema) (branches bool, err error) {
	c := cycles{root: root, same: map[*jsonschema.Schema]int{}, inner: []*jsonschema.Schema{root}}
	for len(c.inner) > 0 {
		next := c.inner[len(c.inner)-1]
		c.inner = c.inner[:len(c.inner)-1]
		if _, err := c.visit(next); err != nil {
			return false, err
		}
	}
	return c.branches, nil
}

type cycles struct {
	root     *jsonschema.Schema
	same     map[*jsonschema.Schema]int // how many schemas apply to a value because a schema does, with that schema; 0 while they are being counted
	inner    []*jsonschema.Schema       // schemas of inner values that are not visited yet
	branches bool
}

// visit visits the schemas that apply to the same value as s, and returns their number.
func (c *cycles) visit(s *jsonschema.Schema) (int, error) {
	n, seen := c.same[s]
	switch {
	case seen && n == 0:
		return 0, errors.New("its schema refers to itself without end")
	case seen:
		return n, nil
	case s != c.root && s.ID != "":
		return 0, fmt.Errorf("a part of its schema has an id, %q, which is not supported", s.ID)
	case s.DynamicRef != "":
		return 0, errors.New("its schema has a dynamic reference, which is not supported")
	}
	c.same[s] = 0
	same, err := c.beside(s)
	if err != nil {
		return 0, err
	}
	c.branches = c.branches || len(same) > 1
	n = 1
	for _, next := range same {
		more, err := c.visit(next)
		if err != nil {
			return 0, err
		}
		if n += more; n > maxSame {
			return 0, errors.New("its schema has too many parts for one value")
		}
	}
	c.same[s] = n
	c.below(s)
	return n, nil
}

// beside returns the schemas that apply to the same value as s because s contains or references them.
func (c *cycles) beside(s *jsonschema.Schema) ([]*jsonschema.Schema, error) {
	var same []*jsonschema.Schema
	for _, one := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			same = append(same, one)
		}
	}
	same = slices.Concat(same, s.AnyOf, s.OneOf, s.AllOf,
		slices.Collect(maps.Values(s.DependentSchemas)), slices.Collect(maps.Values(s.DependencySchemas)))
	if s.Ref != "" {
		target := pointed(c.root, s.Ref)
		if target == nil {
			return nil, fmt.Errorf("its schema refers to %q, which is not a path within it", s.Ref)
		}
		same = append(same, target)
	}
	return same, nil
}

// below queues the schemas that s applies to inner values.
func (c *cycles) below(s *jsonschema.Schema) {
	for _, one := range []*jsonschema.Schema{
		s.Items, s.AdditionalItems, s.AdditionalProperties, s.Contains, s.PropertyNames,
		s.UnevaluatedItems, s.UnevaluatedProperties, s.ContentSchema,
	} {
		if one != nil {
			c.inner = append(c.inner, one)
		}
	}
	c.inner = slices.Concat(c.inner, s.PrefixItems, s.ItemsArray)
	for _, group := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		c.inner = slices.AppendSeq(c.inner, maps.Values(group))
	}
}
