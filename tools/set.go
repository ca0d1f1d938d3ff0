package tools

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-go/weft/llm"
)

// A Set is a list of tools with different names. A nil *Set has no tools.
type Set struct {
	tools  []Tool
	byName map[string]Tool
}

// NewSet returns a set of tools. The error joins all mistakes: the mistakes that [New] or
// [Raw] found in each tool, and names that are used twice.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{tools: slices.Clone(tools), byName: make(map[string]Tool, len(tools))}
	var mistakes []error
	for i, t := range tools {
		switch {
		case t.err != nil:
			mistakes = append(mistakes, t.err)
		case t.load == nil:
			mistakes = append(mistakes, fmt.Errorf("tools: tool %d of the set was not made by New or Raw", i))
			continue // it has no name
		}
		if _, taken := s.byName[t.Name()]; taken {
			mistakes = append(mistakes, fmt.Errorf("tools: two tools named %q", t.Name()))
		}
		s.byName[t.Name()] = t
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return s, nil
}

// Specs returns the specifications of the tools for a model, in the order of NewSet. The
// result is the caller's own.
func (s *Set) Specs() []llm.ToolSpec {
	if s == nil {
		return nil
	}
	specs := make([]llm.ToolSpec, len(s.tools))
	for i, t := range s.tools {
		specs[i] = t.Spec()
	}
	return specs
}

// Names returns the names of the tools in the order of NewSet. The slice is the caller's
// own.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	names := make([]string, len(s.tools))
	for i, t := range s.tools {
		names[i] = t.Name()
	}
	return names
}

// Lookup returns the tool with a name. The second result is false if there is none.
func (s *Set) Lookup(name string) (Tool, bool) {
	if s == nil {
		return Tool{}, false
	}
	t, ok := s.byName[name]
	return t, ok
}
