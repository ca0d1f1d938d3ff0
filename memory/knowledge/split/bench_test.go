package split_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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

// Anything that takes time which grows with the square of a text takes far more than is
// allowed here.
func TestSplitLinear(t *testing.T) {
	t.Parallel()
	size := 128 << 10
	if testing.Short() {
		size /= 8
	}
	for _, unit := range []string{
		"a", " ", "\n", "\t", "#", "# ", "#\n", "a\n", "- ", "- \n", " -\n", "1", "`", "```\n", "~", "---\n", "===\n", "=", "|", "|\n|-|\n", "a|b\n", "|-|\n", "[", "](", "# [",
		"<", "<a", "<a ", "<a href=\"", "<!--", "<p>", "<p hidden>", "<div hidden>", "</", "</p", "<script>", "<title>", "<li>", "<ul>", "<table>", "<td>", "<pre>", "<h1>", "&", "&#", "&a", "<![CDATA[", "<b =",
		"[", "[1,", "{\"a\":", "\"", "\\u", "1\n", "{}\n", "[]\n",
		"\u0301", "\u200d", "🇩", "。", ".", "! ", "e.g. ", "\x80", "\xff", "ก", "字", "\x00", "\r", "\u00a0", "    a\n", "\ta\n\n",
	} {
		text := strings.Repeat(unit, size/len(unit))
		for _, format := range []split.Format{split.Plain, split.Markdown, split.HTML, split.JSON} {
			for _, source := range []string{"x " + text + " y", "\"" + text + "\""} {
				begin := time.Now()
				d := split.Splitter{Size: 64, Overlap: 32}.Split(source, format)
				if took := time.Since(begin); took > 10*time.Second {
					t.Errorf("%q as %s takes %v for %d KB", unit, format, took, len(source)>>10)
				}
				check(t, split.Splitter{Size: 64, Overlap: 32}, source, format, d)
			}
		}
	}
}
