package split_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/knowledge/split"
)

// numbered returns n sentences.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "This is sentence number %d. ", i)
	}
	return b.String()
}

func TestSplitSizes(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"prose":      strings.Repeat("The quick brown fox, e.g. this one, jumps over 12345 lazy dogs! Doesn't it? ", 60),
		"one word":   strings.Repeat("abcdefghij", 500),
		"code":       "```go\n" + strings.Repeat("\tif err := run(ctx); err != nil {\n\t\treturn err\n\t}\n", 50) + "```\n",
		"list":       strings.Repeat("- an item with some words in it\n  and a second line\n  - nested\n1. numbered\n", 40),
		"table":      "| a | b |\n|---|---|\n" + strings.Repeat("| one cell | another cell |\n", 60),
		"chinese":    strings.Repeat("他说：“今天天气很好。”我们去公园吧！", 100),
		"thai":       strings.Repeat("ภาษาไทยไม่มีช่องว่างระหว่างคำ", 60),
		"emoji":      strings.Repeat("👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽", 60),
		"marks":      strings.Repeat("e\u0301o\u0308", 300),
		"zalgo":      "x" + strings.Repeat("\u0301", 3000),
		"headings":   strings.Repeat("# A heading\n\n", 100),
		"long title": "# " + strings.Repeat("word ", 300) + "\n\ntext",
		"sections":   strings.Repeat("## Section\n\nShort text.\n\n### Sub\n\n"+strings.Repeat("More words here. ", 30)+"\n\n", 10),
		"not UTF-8":  strings.Repeat("\xff\xfe ab\xc3", 200),
	}
	for name, source := range sources {
		for _, size := range []int{16, 50, 400} {
			for _, overlap := range []int{0, size / 5, size / 2} {
				t.Run(fmt.Sprintf("%s/%d/%d", name, size, overlap), func(t *testing.T) {
					t.Parallel()
					checkSizes(t, split.Splitter{Size: size, Overlap: overlap}, source)
				})
			}
		}
	}
}

// checkSizes splits a text as plain text, and as a part of documents in other formats.
func checkSizes(t *testing.T, s split.Splitter, source string) {
	for _, format := range []split.Format{split.Plain, split.Markdown, split.Pages} {
		check(t, s, source, format, s.Split(source, format))
	}
	if !utf8.ValidString(source) {
		return
	}
	quoted, err := json.Marshal(map[string]any{"x": []string{source, "end"}})
	require.NoError(t, err)
	d := s.Split(string(quoted), split.JSON)
	check(t, s, string(quoted), split.JSON, d)
	if s.Overlap == 0 {
		assert.Equal(t, withoutSpace(source)+"end", all(d))
	}
	page := "<h1>x</h1><p>" + strings.ReplaceAll(source, "&", "&amp;")
	d = s.Split(page, split.HTML)
	check(t, s, page, split.HTML, d)
	if s.Overlap == 0 {
		assert.Equal(t, "x"+withoutSpace(source), all(d))
	}
}

// units are texts that, repeated, are hard to parse.
var units = []string{
	"a", " ", "\n", "\t", "#", "# ", "#\n", "a\n", "- ", "- \n", " -\n", "1", "1. ", "`", "```\n", "~", "---\n", "===\n", "a\n-\n", "=", "|", "|\n|-|\n", "a|b\n", "|-|\n", "[", "](", "# [",
	"> ", ">", "> - ", "> a\n", "- a\n\n", "[a]: b\n", "[a]: b 'c\n", "[a", "[\n", "{#", "# {#a}\n", "# [a][a]\n[a]: b\n\n", "***", "\\|", "\t- a\n", "  - a\n",
	"<", "<a", "<a ", "<a href=\"", "<!--", "<!--\n", "<?\n", "</a\n", "<p>", "<p hidden>", "<div>", "<div>\n", "<div hidden>", "</", "</p", "<script>", "<style>\n", "<textarea>", "<noscript>", "<plaintext>",
	"<title>", "<li>", "<ul>", "<table>", "<table><tr><th>a", "<td>", "<pre>", "<h1>", "&", "&#", "&a", "<![CDATA[", "<b =",
	"[1,", "{\"a\":", "\"", "\\u", "1\n", "{}\n", "[]\n",
	"\u0301", "\u200d", "🇩", "。", ".", "! ", "e.g. ", "\x80", "\xff", "ก", "字", "\x00", "\r", "\r\n", "\f", "a\f", "\u00a0", "    a\n", "\ta\n\n",
}

// The time of Split grows linearly: quadratic time would exceed the limit by far.
func TestSplitLinear(t *testing.T) {
	t.Parallel()
	size := 48 << 10
	if testing.Short() {
		size /= 8
	}
	s := split.Splitter{Size: 64, Overlap: 32}
	for _, unit := range units {
		for _, format := range formats {
			source := strings.Repeat(unit, size/len(unit))
			begin := time.Now()
			s.Split(source, format)
			assert.Less(t, time.Since(begin), 10*time.Second, "%q as %s, %d KB", unit, format, len(source)>>10)
			text := strings.Repeat(unit, 2<<10/len(unit))
			for _, source := range []string{text, "x " + text + " y", "\"" + text + "\""} {
				check(t, s, source, format, s.Split(source, format))
			}
		}
	}
}

// Deep nesting neither overflows the stack nor takes time that grows with the square of the depth.
func TestSplitDeepNesting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format     split.Format
		unit, tail string
	}{
		{split.HTML, "<div>", ""},
		{split.HTML, "<div>", "</div>"},
		{split.HTML, "<ul><li>", "</ul>"},
		{split.HTML, "<table><tr><td>", "</table>"},
		{split.HTML, "<b>", "</b>"},
		{split.HTML, "<div hidden>", "</div>"},
		{split.Markdown, "> ", ""},
		{split.Markdown, "- ", ""},
		{split.Markdown, "1. > ", ""},
		{split.JSON, "[", "]"},
		{split.JSON, `{"a":`, "}"},
	} {
		n := (1 << 20) / len(c.unit)
		source := strings.Repeat(c.unit, n) + "1" + strings.Repeat(c.tail, n)
		begin := time.Now()
		d := split.Splitter{}.Split(source, c.format)
		assert.Less(t, time.Since(begin), 10*time.Second, "%q", c.unit)
		check(t, split.Splitter{}, source, c.format, d)
		switch {
		case c.format == split.JSON: // encoding/json rejects such a deep value, so it is plain text
		case c.unit == "<div hidden>":
			assert.Empty(t, d.Pieces)
		default:
			require.NotEmpty(t, d.Pieces, "%q", c.unit)
			assert.True(t, strings.HasSuffix(d.Pieces[len(d.Pieces)-1].Content, "1"), "%q", c.unit)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, c := range splitCases {
		for format := range formats {
			f.Add(c.source, uint8(format), uint16(16), uint16(5))
		}
	}
	for _, unit := range units {
		for format := range formats {
			f.Add(strings.Repeat(unit, 9), uint8(format), uint16(0), uint16(8))
		}
	}
	f.Add("0A0A0!0A0A0!0!0A0AA0 \x060!0A0A", uint8(0), uint16(9), uint16(48))
	f.Add("0\x18\x18<C>0<C0A0A0A0A0A<C>0<C>0<C>0  0", uint8(0), uint16(0), uint16(5))
	f.Add(strings.Repeat("# {#a}\n", 8)+"\n\r {#a}\n", uint8(0), uint16(0), uint16(51))
	f.Add("&#&#&&E#&#&#222##222\xf4d\xc3-\xf9)22#22#&", uint8(2), uint16(6), uint16(168))
	f.Add("<ul><li>one<li>a b c d e f g h i j k l m", uint8(2), uint16(0), uint16(7))
	f.Add("[a[a[a[a[a[a[a[\u0091:a[a", uint8(2), uint16(0), uint16(8))
	f.Add(">  ```\n>\t0", uint8(1), uint16(0), uint16(0))
	f.Fuzz(func(t *testing.T, source string, format uint8, size, overlap uint16) {
		s := split.Splitter{Size: 16 + int(size)%100}
		s.Overlap = int(overlap) % (s.Size/2 + 1)
		fm := formats[int(format)%len(formats)]
		d := s.Split(source, fm)
		check(t, s, source, fm, d)
		if title := d.Title; len(title) > 200 || utf8.ValidString(source) && !utf8.ValidString(title) {
			assert.Failf(t, "title", "%q", title)
		}
		var v any
		if fm == split.JSON && s.Overlap == 0 && json.Unmarshal([]byte(source), &v) == nil {
			if text, ok := v.(string); ok && !strings.ContainsAny(text, "\x00\b\f") && utf8.ValidString(source) {
				assert.Equal(t, withoutSpace(text), all(d))
			}
		}
	})
}
