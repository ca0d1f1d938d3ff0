package tools

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// definition returns what a reference within a schema stands for, or nil when
// there is none or it is not a path. A reference to a reference is followed.
func definition(root *jsonschema.Schema, ref string) *jsonschema.Schema {
	const most = 16 // longer chains are taken for circles
	for range most {
		s := pointed(root, ref)
		if s == nil || s.Ref == "" {
			return s
		}
		ref = s.Ref
	}
	return nil
}

// pointed follows a reference that is a path from the root: "#/$defs/node".
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

// step takes the first one or two tokens of a path.
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

// checkReferences reports references that lead out of the schema, and those that
// come back to where they began without going deeper into a value: to check a
// value by such a schema would never end.
func checkReferences(root *jsonschema.Schema) error {
	c := circles{root: root, state: map[*jsonschema.Schema]int{}}
	return c.visit(root)
}

const (
	open = iota + 1
	closed
)

type circles struct {
	root  *jsonschema.Schema
	state map[*jsonschema.Schema]int
	inner []*jsonschema.Schema // schemas of values inside, still to be visited
}

func (c *circles) visit(s *jsonschema.Schema) error {
	if err := c.here(s); err != nil {
		return err
	}
	for len(c.inner) > 0 {
		next := c.inner[len(c.inner)-1]
		c.inner = c.inner[:len(c.inner)-1]
		if c.state[next] == 0 {
			if err := c.here(next); err != nil {
				return err
			}
		}
	}
	return nil
}

// here follows what applies to the very value that s applies to.
func (c *circles) here(s *jsonschema.Schema) error {
	switch {
	case s == nil || c.state[s] == closed:
		return nil
	case c.state[s] == open:
		return errors.New("its schema refers to itself without end")
	case s != c.root && s.ID != "":
		return fmt.Errorf("a part of its schema has an id, %q, which is not supported", s.ID)
	case s.DynamicRef != "":
		return errors.New("its schema has a dynamic reference, which is not supported")
	}
	c.state[s] = open
	same := append([]*jsonschema.Schema{s.Not, s.If, s.Then, s.Else}, s.AnyOf...)
	same = append(append(same, s.OneOf...), s.AllOf...)
	for _, dependent := range s.DependentSchemas {
		same = append(same, dependent)
	}
	for _, dependent := range s.DependencySchemas {
		same = append(same, dependent)
	}
	if s.Ref != "" {
		target := pointed(c.root, s.Ref)
		if target == nil {
			return fmt.Errorf("its schema refers to %q, which is not a path within it", s.Ref)
		}
		same = append(same, target)
	}
	for _, next := range same {
		if err := c.here(next); err != nil {
			return err
		}
	}
	c.state[s] = closed
	c.below(s)
	return nil
}

func (c *circles) below(s *jsonschema.Schema) {
	for _, one := range []*jsonschema.Schema{s.Items, s.AdditionalItems, s.AdditionalProperties, s.Contains, s.PropertyNames, s.UnevaluatedItems, s.UnevaluatedProperties, s.ContentSchema} {
		if one != nil {
			c.inner = append(c.inner, one)
		}
	}
	c.inner = append(append(c.inner, s.PrefixItems...), s.ItemsArray...)
	for _, group := range []map[string]*jsonschema.Schema{s.Properties, s.PatternProperties, s.Defs, s.Definitions} {
		for _, one := range group {
			c.inner = append(c.inner, one)
		}
	}
}
