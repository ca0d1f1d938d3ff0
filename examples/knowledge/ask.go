package main

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/weft-go/weft/memory"
	"github.com/weft-go/weft/memory/knowledge"
)

func (c *command) ask(ctx context.Context, base *knowledge.Base) error {
	found, err := base.Search(ctx, knowledge.Question{
		Query: knowledge.Query{Scope: c.scope()}, Text: c.argument, Limit: c.limit, Diversity: 0.2,
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintln(c.out, "The documents say nothing about this.")
	}
	for i, r := range found {
		where := append([]string{r.Source.URI}, r.Chunk.Headings...)
		fmt.Fprintf(c.out, "%d. %s (bytes %d to %d)\n", i+1, quoted(strings.Join(where, " > ")), r.Chunk.Start, r.Chunk.End)
		fmt.Fprintf(c.out, "   %s\n", why(r.Score))
		for line := range strings.Lines(strings.TrimSpace(r.Chunk.Content)) {
			fmt.Fprintln(c.out, strings.TrimRight("   | "+printable(line), " "))
		}
	}
	return nil
}

// why says what a score is made of.
func why(s memory.Score) string {
	parts := []string{}
	for _, p := range []struct {
		name  string
		share float64
	}{{"words", s.Keyword}, {"meaning", s.Vector}, {"what stands beside it", s.Neighbour}, {"age", s.Recency}} {
		if p.share > 0 {
			parts = append(parts, fmt.Sprintf("%s %.2f", p.name, p.share))
		}
	}
	return fmt.Sprintf("%.2f = %s", s.Total, strings.Join(parts, " + "))
}

// printable keeps a document from doing something to a terminal.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, line)
}
