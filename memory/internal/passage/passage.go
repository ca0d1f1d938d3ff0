// Package passage returns the text of a chunk for the index.
package passage

import "strings"

// Text returns a chunk, preceded by its title and headings, because they name its subject.
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
