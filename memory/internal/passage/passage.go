// Package passage makes the text of a chunk that is indexed.
package passage

import "strings"

// Text returns a chunk with its title and headings before it, because they name its subject.
func Text(title string, headings []string, content string) string {
	var b strings.Builder
	if title != "" && (len(headings) == 0 || headings[0] != title) {
		b.WriteString(title + "\n")
	}
	if len(headings) > 0 {
		b.WriteString(strings.Join(headings, " > ") + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	b.WriteString(content)
	return b.String()
}
