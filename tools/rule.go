package tools

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-go/weft/internal/suggest"
	"github.com/weft-go/weft/llm"
)

// A Rule selects calls by their tool and arguments. The zero Rule selects nothing. For a
// call of invoke_tool, a rule sees the invoked tool and its arguments. [Named],
// [Destructive], [ReadOnly] and [RuleFunc] return rules. Rules are safe for concurrent use.
type Rule struct {
	pick     func(t Tool, call llm.ToolCall) bool
	patterns []string // of Named, in this rule and in the rules that it combines
}

// ErrPattern is returned when a pattern of [Named] matches no tool of the set. A
// misspelt pattern in an approval rule would protect nothing.
// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#toolserrpattern.
var ErrPattern = errors.New("the pattern matches no tool")

// RuleFunc returns a rule that selects the calls for which fn returns true. The arguments
// of these calls fit the schema of the tool. fn must be pure and safe for concurrent use.
func RuleFunc(fn func(t Tool, call llm.ToolCall) bool) Rule { return Rule{pick: fn} }

// Named returns a rule that selects the tools with these names. In a pattern, * stands for
// any text: Named("submit_order", "delete_*"). A pattern that matches no tool of the set is
// an [ErrPattern]. agent.New, mcptools.NewServer and [Options.Check] report it, and so does
// every call before a tool runs.
func Named(patterns ...string) Rule {
	patterns = slices.Clone(patterns)
	return Rule{patterns: patterns, pick: func(t Tool, _ llm.ToolCall) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, t.Name()) })
	}}
}

// Destructive returns a rule that selects the tools annotated as destructive.
func Destructive() Rule {
	return RuleFunc(func(t Tool, _ llm.ToolCall) bool { return t.annotations.Destructive })
}

// ReadOnly returns a rule that selects the tools annotated as read-only.
func ReadOnly() Rule {
	return RuleFunc(func(t Tool, _ llm.ToolCall) bool { return t.annotations.ReadOnly })
}

// Or returns a rule that selects the calls that r or other selects.
func (r Rule) Or(other Rule) Rule {
	return r.with(other, func(t Tool, call llm.ToolCall) bool { return r.Selects(t, call) || other.Selects(t, call) })
}

// And returns a rule that selects the calls that both r and other select.
func (r Rule) And(other Rule) Rule {
	return r.with(other, func(t Tool, call llm.ToolCall) bool { return r.Selects(t, call) && other.Selects(t, call) })
}

// Not returns a rule that selects the calls that r does not select.
func (r Rule) Not() Rule {
	return r.with(Rule{}, func(t Tool, call llm.ToolCall) bool { return !r.Selects(t, call) })
}

func (r Rule) with(other Rule, pick func(Tool, llm.ToolCall) bool) Rule {
	return Rule{pick: pick, patterns: slices.Concat(r.patterns, other.patterns)}
}

// Selects reports whether the rule selects a call.
func (r Rule) Selects(t Tool, call llm.ToolCall) bool { return r.pick != nil && r.pick(t, call) }

// Check returns an error that wraps [ErrPattern] for each pattern of [Named] that matches
// no tool of the set. For a set of [Set.Meta], the tools that it can invoke count as its
// tools.
func (r Rule) Check(s *Set) error {
	if len(r.patterns) == 0 {
		return nil
	}
	names := s.reachable()
	var mistakes []error
	for _, p := range r.patterns {
		if !slices.ContainsFunc(names, func(name string) bool { return matches(p, name) }) {
			mistakes = append(mistakes, fmt.Errorf("tools: Named(%q): %w%s", p, ErrPattern, nearest(p, names)))
		}
	}
	return errors.Join(mistakes...)
}

// Check returns an error for each pattern of Approval.Rule and Planning.Rule that matches
// no tool of the set; see [Rule.Check]. Call it when the program starts. Every call checks
// it too.
func (o Options) Check(s *Set) error {
	err := o.Approval.Rule.Check(s)
	if o.Planning != nil {
		err = errors.Join(err, o.Planning.Rule.Check(s))
	}
	return err
}

// reachable returns the names of the tools of a set and of the tools that they can invoke.
func (s *Set) reachable() []string {
	names := s.Names()
	if s != nil {
		for _, t := range s.tools {
			if t.behind != nil {
				names = append(names, t.behind.reachable()...)
			}
		}
	}
	return names
}

// nearest returns a hint for the error of a pattern: the most similar name, or all names.
func nearest(pattern string, names []string) string {
	if hint := suggest.For(pattern, names); hint != "" {
		return hint
	}
	for _, part := range strings.Split(pattern, "*") {
		for _, name := range names {
			// A part is usually shorter than a name, so it is compared with the beginning and the end of the name.
			n := min(len(part), len(name))
			if len(part) > 2 && suggest.For(part, []string{name[:n], name[len(name)-n:]}) != "" {
				return fmt.Sprintf("; did you mean %q?", name)
			}
		}
	}
	if len(names) == 0 {
		return "; there are no tools"
	}
	return "; the tools are " + strings.Join(names, ", ")
}

// matches reports whether a name matches a pattern. In the pattern, * stands for any text.
func matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	last := parts[len(parts)-1]
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, last)
}
