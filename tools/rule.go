package tools

import (
	"strings"

	"github.com/weft-go/weft/llm"
)

// A Rule picks calls, by the tool and by the arguments, which fit the tool's
// schema. It must be pure and safe for concurrent use. For a call by way of
// invoke_tool it is asked about the tool that is invoked. A nil Rule picks
// nothing.
type Rule func(t Tool, call llm.ToolCall) bool

// Named picks the tools of these names, where * stands for any text: Named("submit_order",
// "delete_*").
func Named(patterns ...string) Rule {
	return func(t Tool, _ llm.ToolCall) bool {
		for _, p := range patterns {
			if matches(p, t.Name()) {
				return true
			}
		}
		return false
	}
}

// Destructive picks the tools that are annotated as destructive.
func Destructive() Rule {
	return func(t Tool, _ llm.ToolCall) bool { return t.annotations.Destructive }
}

// ReadOnly picks the tools that are annotated as read-only.
func ReadOnly() Rule {
	return func(t Tool, _ llm.ToolCall) bool { return t.annotations.ReadOnly }
}

// Or picks what either rule picks.
func (r Rule) Or(other Rule) Rule {
	return func(t Tool, call llm.ToolCall) bool { return r.picks(t, call) || other.picks(t, call) }
}

// And picks what both rules pick.
func (r Rule) And(other Rule) Rule {
	return func(t Tool, call llm.ToolCall) bool { return r.picks(t, call) && other.picks(t, call) }
}

// Not picks what the rule does not.
func (r Rule) Not() Rule {
	return func(t Tool, call llm.ToolCall) bool { return !r.picks(t, call) }
}

func (r Rule) picks(t Tool, call llm.ToolCall) bool { return r != nil && r(t, call) }

// matches reports whether a name fits a pattern with stars.
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
