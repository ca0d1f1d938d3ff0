package ics

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// A component is the content between BEGIN and END: lines and components, in order.
type component struct {
	name  string
	items []item
}

// An item is an unfolded line, otherwise unchanged, or a component.
type item struct {
	text string
	sub  *component
}

// A property is a parsed line.
type property struct {
	value  string
	params map[string]string // by upper-case name
}

// errShape says that a file is not a calendar.
var errShape = errors.New("not an iCalendar file")

// Bounds on the lines of a file and on the nesting of its components.
const (
	maxLines = 250_000
	maxDepth = 20
)

// parse reads the components of a file.
func parse(data string) (*component, error) {
	if !utf8.ValidString(data) {
		return nil, fmt.Errorf("%w: it is not UTF-8", errShape)
	}
	root := &component{}
	open := []*component{root}
	n := 0
	for text := range unfolded(data) {
		n++
		name, value, found := strings.Cut(text, ":")
		top := open[len(open)-1]
		switch name = strings.ToUpper(name); {
		case n > maxLines:
			return nil, fmt.Errorf("%w: it has more than the limit of %d lines", errShape, maxLines)
		case name == "BEGIN" && len(open) < maxDepth:
			sub := &component{name: strings.ToUpper(strings.TrimSpace(value))}
			top.items = append(top.items, item{sub: sub})
			open = append(open, sub)
		case name == "END" && top.name == strings.ToUpper(strings.TrimSpace(value)) && len(open) > 1:
			top.items = slices.Clip(top.items)
			open = open[:len(open)-1]
		case !found || name == "BEGIN" || name == "END" || len(open) == 1:
			return nil, fmt.Errorf("%w: line %d: %.60q", errShape, n, text)
		default:
			top.items = append(top.items, item{text: text})
		}
	}
	if len(open) > 1 {
		return nil, fmt.Errorf("%w: %s is not closed", errShape, open[len(open)-1].name)
	}
	if !slices.ContainsFunc(root.items, func(i item) bool { return i.sub.name == "VCALENDAR" }) {
		return nil, fmt.Errorf("%w: it has no calendar", errShape)
	}
	return root, nil
}

// unfolded returns the lines of a file. It joins folded lines, and skips empty ones.
func unfolded(data string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var line string
		var joined strings.Builder // the line, if it was folded
		end := func() bool {
			if joined.Len() > 0 {
				line = joined.String()
				joined.Reset()
			}
			return line == "" || yield(line)
		}
		for raw := range strings.SplitSeq(strings.TrimPrefix(data, "\ufeff"), "\n") {
			raw = strings.TrimSuffix(raw, "\r")
			switch {
			case raw == "":
			case (raw[0] == ' ' || raw[0] == '\t') && line != "":
				if joined.Len() == 0 {
					joined.WriteString(line)
				}
				joined.WriteString(raw[1:])
			default:
				if !end() {
					return
				}
				line = raw
			}
		}
		end()
	}
}

// write writes a component's items, with lines folded at 75 bytes.
func (c *component) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	c.writeTo(out)
	return out.Flush()
}

func (c *component) writeTo(out *bufio.Writer) {
	for _, i := range c.items {
		if i.sub == nil {
			fold(out, i.text)
			continue
		}
		fold(out, "BEGIN:"+i.sub.name)
		i.sub.writeTo(out)
		fold(out, "END:"+i.sub.name)
	}
}

// fold writes a line, folded at 75 bytes. A bufio.Writer keeps its first error for Flush.
func fold(out *bufio.Writer, text string) {
	for most := 75; len(text) > most; most = 74 {
		at := most
		for !utf8.RuneStart(text[at]) {
			at--
		}
		_, _ = out.WriteString(text[:at] + "\r\n ")
		text = text[at:]
	}
	_, _ = out.WriteString(text + "\r\n")
}

// nameOf returns the name of a line.
func nameOf(text string) string {
	if end := strings.IndexAny(text, ";:"); end >= 0 {
		text = text[:end]
	}
	return strings.ToUpper(text)
}

// split parses a line. Quotes protect colons and semicolons in parameters.
func split(text string) property {
	var p property
	quoted, from := false, len(nameOf(text))
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted || text[i] != ';' && text[i] != ':':
			continue
		default:
			if key, value, ok := strings.Cut(text[from:i], "="); ok {
				if p.params == nil {
					p.params = map[string]string{}
				}
				p.params[strings.ToUpper(key)] = strings.Trim(value, `"`)
			}
			from = i + 1
			if text[i] == ':' {
				p.value = text[from:]
				return p
			}
		}
	}
	return p
}

// all returns the properties with a name.
func (c *component) all(name string) (found []property) {
	for _, i := range c.items {
		if i.sub == nil && nameOf(i.text) == name {
			found = append(found, split(i.text))
		}
	}
	return found
}

// get returns the first property with a name.
func (c *component) get(name string) (property, bool) {
	for _, i := range c.items {
		if i.sub == nil && nameOf(i.text) == name {
			return split(i.text), true
		}
	}
	return property{}, false
}

var unescaper = strings.NewReplacer(`\n`, "\n", `\N`, "\n", `\,`, ",", `\;`, ";", `\\`, `\`)

// text returns the unescaped text of a property.
func (c *component) text(name string) string {
	p, _ := c.get(name)
	return plain(p.value)
}

// plain unescapes a text.
func plain(value string) string { return strings.TrimSpace(unescaper.Replace(value)) }

// escaped returns a text as the value of a property.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, "\r\n", `\n`, "\n", `\n`, "\r", `\n`, ",", `\,`, ";", `\;`).Replace(text)
}

// set replaces the first line with the same name, or adds the line.
func (c *component) set(text string) {
	for at, i := range c.items {
		if i.sub == nil && nameOf(i.text) == nameOf(text) {
			c.items[at].text = text
			return
		}
	}
	c.add(text)
}

// add inserts a line before the first component.
func (c *component) add(text string) {
	at := 0
	for at < len(c.items) && c.items[at].sub == nil {
		at++
	}
	c.items = slices.Insert(c.items, at, item{text: text})
}

// remove removes the lines with these names.
func (c *component) remove(names ...string) {
	kept := c.items[:0:0]
	for _, i := range c.items {
		drop := false
		for _, name := range names {
			drop = drop || i.sub == nil && nameOf(i.text) == name
		}
		if !drop {
			kept = append(kept, i)
		}
	}
	c.items = kept
}

// subs returns the components with a name, at any depth. It does not search inside the components that it returns.
func (c *component) subs(name string) (found []*component) {
	for _, i := range c.items {
		switch {
		case i.sub == nil:
		case i.sub.name == name:
			found = append(found, i.sub)
		default:
			found = append(found, i.sub.subs(name)...)
		}
	}
	return found
}
