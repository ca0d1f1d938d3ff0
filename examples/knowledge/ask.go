package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

func (c *command) ask(ctx context.Context, base *knowledge.Base) error {
	found, err := base.Search(ctx, memory.Question{Reach: c.scope().Only(), Text: c.argument, Limit: c.limit, Diversity: 0.2})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "The documents say nothing about this.")
	}
	for i, r := range found {
		where := append([]string{short(r.Item.Source.URI)}, r.Item.Chunk.Headings...)
		fmt.Fprintf(c.out, "%d. %s (bytes %d to %d)\n", i+1, quoted(strings.Join(where, " > ")), r.Item.Chunk.Start, r.Item.Chunk.End)
		fmt.Fprintf(c.out, "   %s\n", why(r.Score))
		for _, line := range excerpt(r.Item.Chunk.Content, c.argument) {
			fmt.Fprintln(c.out, strings.TrimRight("   | "+printable(line), " "))
		}
	}
	return nil
}

// short returns a path relative to the working folder if it is below it.
func short(path string) string {
	if here, err := os.Getwd(); err == nil {
		if near, err := filepath.Rel(here, filepath.FromSlash(path)); err == nil && filepath.IsLocal(near) {
			return near
		}
	}
	return path
}

// maxLines is the greatest number of lines of a chunk that are shown.
const maxLines = 10

// excerpt returns a short chunk whole. Of a longer chunk, it returns the adjacent lines that have
// most words of the question, with "…" for the other lines.
func excerpt(content, question string) []string {
	lines := strings.Split(strings.TrimSpace(content), "\n")
	if len(lines) <= maxLines {
		return lines
	}
	words := strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	best, from := -1, 0
	for i := 0; i+maxLines <= len(lines); i++ {
		text := strings.ToLower(strings.Join(lines[i:i+maxLines], " "))
		have := 0
		for _, w := range words {
			if len(w) > 3 && strings.Contains(text, w) {
				have++
			}
		}
		if have > best {
			best, from = have, i
		}
	}
	out := append([]string{}, lines[from:from+maxLines]...)
	if from > 0 {
		out = append([]string{"…"}, out...)
	}
	if from+maxLines < len(lines) {
		out = append(out, "…")
	}
	return out
}

// why returns a score and its parts as text.
func why(s memory.Score) string {
	parts := []string{}
	for _, p := range []struct {
		name  string
		share float64
	}{{"words", s.Keyword}, {"meaning", s.Vector}, {"neighbours", s.Neighbour}, {"age", s.Recency}} {
		if p.share > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.name, p.share))
		}
	}
	return fmt.Sprintf("%.2f = %s", s.Total, strings.Join(parts, " + "))
}

// printable removes the characters of a document that could change a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, line)
}
