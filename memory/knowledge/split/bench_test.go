package split_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-go/weft/memory/knowledge/split"
)

func BenchmarkSplit(b *testing.B) {
	section := "## Section %d\n\n" + strings.Repeat("Some words that say what it is about, and then a few more. ", 20) + "\n\n- an item\n- another\n\n```go\nx := f(y)\n```\n\n"
	var markdown, page, values strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&markdown, section, i)
		fmt.Fprintf(&page, "<h2>Section %d</h2><p class=\"x\">%s</p><ul><li>an item<li>another</ul>\n", i, strings.Repeat("Some words &amp; more. ", 50))
		fmt.Fprintf(&values, `{"id": %d, "text": %q}`+"\n", i, strings.Repeat("Some words and more. ", 50))
	}
	for _, c := range []struct {
		name, source string
		format       split.Format
	}{
		{"markdown", markdown.String(), split.Markdown},
		{"text", markdown.String(), split.Plain},
		{"sentences", strings.ReplaceAll(markdown.String(), "\n", " "), split.Plain},
		{"html", page.String(), split.HTML},
		{"json", values.String(), split.JSON},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.source)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(split.Splitter{Overlap: 40}.Split(c.source, c.format).Pieces)
			}
			b.ReportMetric(float64(n), "pieces")
		})
	}
}
