package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// A table prints rows in aligned columns. It prints them in pages, so that the first rows of a long list
// appear before the command has read all rows.
type table struct {
	w    *tabwriter.Writer
	rows int
}

const tablePage = 100

func newTable(w io.Writer, titles ...string) *table {
	t := &table{w: tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(titles...)
	return t
}

// row adds a row. An empty cell is shown as "-".
func (t *table) row(cells ...string) {
	for i, c := range cells {
		if c == "" {
			c = "-"
		}
		c = cell(c)
		if i < len(cells)-1 {
			c += "\t"
		}
		_, _ = io.WriteString(t.w, c) // there is nothing left to report an error to
	}
	_, _ = io.WriteString(t.w, "\n")
	if t.rows++; t.rows%tablePage == 0 {
		t.flush()
	}
}

func (t *table) flush() { _ = t.w.Flush() }

// clean replaces the line ends, format characters and control characters except tabs of a stored text by spaces, because
// a terminal would interpret them.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return ' '
		}
		return r
	}, text)
}

// cell is like clean, and also replaces tabs.
func cell(text string) string { return strings.ReplaceAll(clean(text), "\t", " ") }

// oneLine returns at most n characters of a text in one line.
func oneLine(text string, n int) string {
	r := []rune(strings.Join(strings.Fields(cell(text)), " "))
	if len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return string(r)
}

// printLine writes a value as one line of JSON.
func printLine(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// printJSON writes a value as an indented JSON document.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// brief formats JSON for a person. A long array has one line for each element, and a long object has one line for
// each key. A message in a long array is shown as its role, text and tool calls. brief cuts long lines.
func brief(data json.RawMessage, indent string, width int) string {
	return inLines(data, indent, width, func(_, text string) string { return oneLine(text, width) })
}

// fullPrompt is like brief, but cuts only the schema of the answer, because a person must read the other fields to answer.
func fullPrompt(data json.RawMessage, indent string, width int) string {
	return inLines(data, indent, width, func(key, text string) string {
		if key == "schema" {
			return oneLine(text, width)
		}
		return cell(text)
	})
}

// inLines returns JSON as one line, or as one line for each element or key if it is longer than width. The function
// shorten returns the text of an element or value.
func inLines(data json.RawMessage, indent string, width int, shorten func(key, text string) string) string {
	var flat bytes.Buffer
	if json.Compact(&flat, data) != nil {
		return cell(fmt.Sprintf("%q", data))
	}
	if flat.Len() <= width {
		return cell(flat.String())
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil {
		return "[" + briefLines(len(list), indent, func(i int) string { return shorten("", briefElement(list[i])) }) + indent + "]"
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil {
		keys := sortedKeys(object)
		return "{" + briefLines(len(keys), indent, func(i int) string { return cell(keys[i]) + ": " + shorten(keys[i], string(object[keys[i]])) }) + indent + "}"
	}
	return shorten("", flat.String())
}

// briefElement returns a message as its role, text and tool calls, and any other element as JSON. A message has the form
// of package llm or of a server.
func briefElement(data json.RawMessage) string {
	var m struct {
		Role, Type string
		Content    json.RawMessage
		Parts      []struct{ Text string }
		Calls      []struct{ Name string } `json:"tool_calls"`
	}
	if json.Unmarshal(data, &m) != nil || m.Role == "" && (m.Type == "" || m.Content == nil) {
		return string(data)
	}
	var texts []string
	for _, p := range m.Parts {
		texts = append(texts, p.Text)
	}
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		texts = append(texts, text)
	} else if m.Content != nil {
		texts = append(texts, string(m.Content))
	}
	for _, c := range m.Calls {
		texts = append(texts, "calls "+c.Name)
	}
	return cmp.Or(m.Role, m.Type) + ": " + strings.Join(texts, " ")
}

func briefLines(n int, indent string, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("\n" + indent + "  " + line(i))
	}
	b.WriteString("\n")
	return b.String()
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
