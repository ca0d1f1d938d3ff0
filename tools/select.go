package tools

import (
	"slices"
	"strings"
)

// A Query selects tools of a set. A tool must match every field that is not empty. Case is
// ignored.
type Query struct {
	// Names are patterns of tool names, in which * stands for any text. One of them must
	// match.
	Names []string
	// Categories and Actions are as in [Annotations]. One element of each must match.
	Categories, Actions []string
	// Text is a list of words. Each must occur in the name, title, category, action or
	// description.
	Text string
}

func (q Query) fits(t Tool) bool {
	a := t.annotations
	named := func(pattern string) bool { return matches(strings.ToLower(pattern), strings.ToLower(t.Name())) }
	switch {
	case len(q.Names) > 0 && !slices.ContainsFunc(q.Names, named),
		len(q.Categories) > 0 && !contains(q.Categories, a.Category),
		len(q.Actions) > 0 && !contains(q.Actions, a.Action):
		return false
	}
	about := strings.ToLower(strings.Join([]string{t.Name(), a.Title, a.Category, a.Action, t.spec.Description}, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(about, word) {
			return false
		}
	}
	return true
}

func contains(list []string, text string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, text) })
}

// Select returns a set with the tools that match a query. It may be empty.
func (s *Set) Select(q Query) *Set {
	out := &Set{byName: map[string]Tool{}}
	for _, t := range s.Tools() {
		if q.fits(t) {
			out.tools = append(out.tools, t)
			out.byName[t.Name()] = t
		}
	}
	return out
}

// Merge returns a set with the tools of this set and of the others, in that order. The
// error lists names that are used twice.
func (s *Set) Merge(others ...*Set) (*Set, error) {
	all := s.Tools()
	for _, other := range others {
		all = append(all, other.Tools()...)
	}
	return NewSet(all...)
}

// Tools returns the tools in the order of NewSet. The slice is the caller's own.
func (s *Set) Tools() []Tool {
	if s == nil {
		return nil
	}
	return slices.Clone(s.tools)
}
