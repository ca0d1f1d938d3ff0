package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-go/weft/llm"
)

// The names of the tools of [Set.Meta].
const (
	DiscoverTools = "discover_tools"
	GetToolSchema = "get_tool_schema"
	InvokeTool    = "invoke_tool"
)

// maxFound is the maximum number of tools in a result of discover_tools.
const maxFound = 50

// An invocation is the call of another tool that a call of invoke_tool requests.
type invocation struct {
	tool Tool
	call llm.ToolCall
}

// Meta returns a set of three tools that replace all tools of this set in a prompt. Use it
// if the schemas of the set would fill the prompt. discover_tools finds tools by category,
// action and words. get_tool_schema returns the schema of a tool. invoke_tool calls a tool.
//
// A call of invoke_tool is a call of the tool that it names, with the same call id:
// approval, planning, bound values, limits and error policies apply to that tool and its
// arguments, and never to invoke_tool. Use [Set.Merge] to add tools that the model sees
// beside the three.
func (s *Set) Meta() *Set {
	discover := New(DiscoverTools, s.discoverText(), s.discover).Annotate(Annotations{ReadOnly: true})
	describe := New(GetToolSchema, "Returns a tool's description and the JSON schema of its params.", s.describe).
		Annotate(Annotations{ReadOnly: true})
	invoke := Raw(llm.ToolSpec{
		Name: InvokeTool, Description: "Calls a tool. Get its schema first.",
		Schema: json.RawMessage(`{"type":"object","properties":{"tool_name":{"type":"string"},"params":{"type":"object"}},"required":["tool_name"],"additionalProperties":false}`),
	}, func(context.Context, json.RawMessage) (Result, error) { return Result{}, errNotInvoked })
	invoke.invokes, invoke.behind = s.invocation, s
	meta, err := NewSet(discover, describe, invoke)
	if err != nil {
		panic(err) // the three tools are valid
	}
	return meta
}

// discoverText returns the description of discover_tools, with the number, categories and
// actions of the tools.
func (s *Set) discoverText() string {
	categories, actions := map[string]bool{}, map[string]bool{}
	for _, t := range s.Tools() {
		categories[t.annotations.Category] = true
		actions[t.annotations.Action] = true
	}
	text := fmt.Sprintf("Finds tools by category, action or words; with nothing given, lists them. There are %d.", len(s.Names()))
	return text + some(" Categories: ", categories) + some(" Actions: ", actions)
}

// some lists at most 20 names after a title. Without names it returns "".
func some(title string, names map[string]bool) string {
	const most = 20
	delete(names, "")
	list := slices.Sorted(maps.Keys(names))
	if len(list) == 0 {
		return ""
	}
	if len(list) > most {
		list = append(list[:most], "…")
	}
	return title + strings.Join(list, ", ") + "."
}

type discovery struct {
	Categories []string `json:"categories,omitempty"`
	Actions    []string `json:"actions,omitempty"`
	Words      string   `json:"words,omitempty"`
}

func (s *Set) discover(_ context.Context, in discovery) (string, error) {
	found := s.Select(Query{Categories: in.Categories, Actions: in.Actions, Text: in.Words}).Tools()
	if len(found) == 0 {
		return "no tool fits. " + s.discoverText(), nil
	}
	var b strings.Builder
	for _, t := range found[:min(len(found), maxFound)] {
		fmt.Fprintf(&b, "%s%s: %s\n", t.Name(), traits(t.annotations), brief(t.spec.Description))
	}
	if more := len(found) - maxFound; more > 0 {
		fmt.Fprintf(&b, "and %d more; narrow the search\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// traits returns the category and action of a tool, and whether it is destructive, in
// brackets.
func traits(a Annotations) string {
	var all []string
	for _, text := range []string{a.Category, a.Action} {
		if text != "" {
			all = append(all, text)
		}
	}
	if a.Destructive {
		all = append(all, "destructive")
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + strings.Join(all, ", ") + ")"
}

// brief returns the first sentence of a description, cut off after 160 characters.
func brief(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if sentence, _, more := strings.Cut(text, ". "); more {
		text = sentence + "."
	}
	const most = 160
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "…"
	}
	return text
}

type description struct {
	Name string `json:"name"`
}

func (s *Set) describe(_ context.Context, in description) (Result, error) {
	t, ok := s.Lookup(in.Name)
	if !ok {
		return Result{Text: s.missing(in.Name), Failed: true}, nil
	}
	return resultOf(t.spec)
}

// invocation returns the call that a call of invoke_tool requests. It also accepts params
// as a string of JSON, because weaker models write them that way.
func (s *Set) invocation(call llm.ToolCall) (invocation, error) {
	var in struct {
		ToolName string          `json:"tool_name"`
		Params   json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return invocation{}, fmt.Errorf("invalid arguments for %s: want an object with tool_name, a string, and params, an object", InvokeTool)
	}
	t, ok := s.Lookup(in.ToolName)
	if !ok {
		return invocation{}, fmt.Errorf("%s", s.missing(in.ToolName))
	}
	var text string
	if json.Unmarshal(in.Params, &text) == nil && strings.HasPrefix(strings.TrimSpace(text), "{") {
		in.Params = json.RawMessage(text)
	}
	call.Name, call.Arguments = t.Name(), bytes.Clone(in.Params)
	return invocation{t, call}, nil
}

// missing returns the error text for a tool that does not exist.
func (s *Set) missing(name string) string {
	return fmt.Sprintf("there is no tool %q; find one with %s", name, DiscoverTools)
}

// Invoked returns the name of the tool that runs for a call of a model. For a call of invoke_tool, it is the tool that
// the call names; see [Set.Meta]. For any other call, it is the name of the call.
func Invoked(call llm.ToolCall) string {
	var in struct {
		ToolName string `json:"tool_name"`
	}
	if call.Name == InvokeTool && json.Unmarshal(call.Arguments, &in) == nil && in.ToolName != "" {
		return in.ToolName
	}
	return call.Name
}
