package tools

import (
	"slices"
	"strings"
)

// A Query picks tools of a set. A tool fits when it fits every field that is not
// empty; case does not count.
type Query struct {
	// Names are those of the tools, where * stands for any text.
	Names []string
	// Categories and Actions are as in [Annotations]; one of each has to fit.
	Categories, Actions []string
	// Text is words of which each is found in the name, the title, the category,
	// the action or the description.
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

// Select returns the tools of the set that fit a query, as a set. It may have
// none.
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

// Merge returns a set with the tools of this and of others, in that order. Its
// error says which names are used twice.
func (s *Set) Merge(others ...*Set) (*Set, error) {
	all := s.Tools()
	for _, other := range others {
		all = append(all, other.Tools()...)
	}
	return NewSet(all...)
}

// Tools returns the tools in the order in which they were given.
func (s *Set) Tools() []Tool {
	if s == nil {
		return nil
	}
	return slices.Clone(s.tools)
}
