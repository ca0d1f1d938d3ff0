package agentmemory

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-go/weft/memory/internal/input"
)

// maxLine is the maximum number of bytes of a line of a summary.
const maxLine = 1000

// NoContext is the summary of a user without a stored context.
const NoContext = "Nothing is known about the plan, usage or preferences of this user."

// Summary returns the context as text for a model: one line each for the plan, the usage and the
// preferences, if they are known, or [NoContext]. The fields of an object are listed, even if the object
// is encoded in a text. A line is cut off after 1000 bytes.
func (c Context) Summary() string {
	var lines []string
	for _, part := range []struct{ name, text string }{
		{"Plan", line(c.Plan)}, {"Usage", spell(c.Usage)}, {"Preferences", spell(c.Preferences)},
	} {
		if part.text != "" {
			lines = append(lines, part.name+": "+part.text)
		}
	}
	if lines == nil {
		return NoContext
	}
	return strings.Join(lines, "\n")
}

// line returns a text as one line.
func line(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	if len(text) <= maxLine {
		return text
	}
	return strings.ToValidUTF8(text[:maxLine], "") + "…"
}

func spell(value json.RawMessage) string {
	v, err := input.Decode(value)
	if err != nil {
		return ""
	}
	if text, ok := v.(string); ok {
		inner, err := input.Decode(json.RawMessage(text))
		if _, object := inner.(map[string]any); err != nil || !object {
			return line(text)
		}
		v = inner
	}
	return line(strings.Join(words(nil, "", v), "; "))
}

// words appends a value as text: "name: value" for each field of an object.
func words(list []string, name string, v any) []string {
	say := func(text string) []string {
		if name != "" {
			text = name + ": " + text
		}
		return append(list, text)
	}
	switch v := v.(type) {
	case nil:
		return list
	case string:
		if v == "" {
			return list
		}
		return say(v)
	case bool:
		if v {
			return say("yes")
		}
		return say("no")
	case json.Number:
		return say(v.String())
	case []any:
		var all []string
		for _, one := range v {
			all = words(all, "", one)
		}
		if all == nil {
			return list
		}
		return say(strings.Join(all, ", "))
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			inner := field
			if name != "" {
				inner = name + " " + field
			}
			list = words(list, inner, v[field])
		}
	}
	return list
}
