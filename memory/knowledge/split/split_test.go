package split_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/weft-go/weft/memory/knowledge/split"
)

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]split.Format{
		"README.md": split.Markdown, "a/b.MARKDOWN": split.Markdown, "x.html": split.HTML, "x.json": split.JSON, "x.jsonl": split.JSON,
		"x.txt": split.Plain, "x": split.Plain, "": split.Plain, "main.go": split.Plain,
		"https://example.com/a.html?q=1.md#x": split.HTML, "what?.md": split.Markdown,
	} {
		if got := split.FormatOf(name); got != want {
			t.Errorf("FormatOf(%q) = %q, want %q", name, got, want)
		}
		if err := want.Validate(); err != nil {
			t.Errorf("%q: %v", want, err)
		}
	}
	if err := split.Format("pdf").Validate(); !errors.Is(err, split.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func TestSplitterValidate(t *testing.T) {
	t.Parallel()
	for _, s := range []split.Splitter{{}, {Size: 16}, {Size: 8192, Overlap: 4096}, {Overlap: 200}, {Small: -1}, {Small: 400}} {
		if err := s.Validate(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []split.Splitter{{Size: 15}, {Size: -1}, {Size: 8193}, {Size: 100, Overlap: 51}, {Overlap: -1}, {Small: 401}} {
		if err := s.Validate(); !errors.Is(err, split.ErrInvalid) {
			t.Errorf("%+v: got %v, want ErrInvalid", s, err)
		}
		if d := s.Split("some text", split.Plain); len(d.Pieces) != 1 {
			t.Errorf("%+v: split into %d pieces, want 1", s, len(d.Pieces))
		}
	}
}

// pieces are written as "headings: content", for tables of tests.
func pieces(d split.Document) []string {
	var got []string
	for _, p := range d.Pieces {
		got = append(got, strings.Join(p.Headings, ">")+": "+p.Content)
	}
	return got
}

type splitCase struct {
	name   string
	format split.Format
	source string
	title  string
	want   []string
}

const separate = -1 // Small: sections stay apart

var splitCases = []splitCase{
	{"markdown headings", split.Markdown, "intro\n\n# A\n\none\n\n## B\n\ntwo\n\n# C\nthree\n", "A", []string{": intro", "A: # A\n\none", "A>B: ## B\n\ntwo", "C: # C\nthree"}},
	{"markdown headings that follow each other", split.Markdown, "# A\n## B\n### C\ntext", "A", []string{"A>B>C: # A\n## B\n### C\ntext"}},
	{"markdown headings alone", split.Markdown, "# A\n\n## B\n", "A", []string{"A>B: # A\n\n## B"}},
	{"markdown levels skipped", split.Markdown, "### A\na\n# B\nb\n### C\nc\n## D\nd", "A", []string{"A: ### A\na", "B: # B\nb", "B>C: ### C\nc", "B>D: ## D\nd"}},
	{"markdown underlined", split.Markdown, "Title *x*\n===\na\n\nSub\nline\n---\nb\n", "Title x", []string{"Title x: Title *x*\n===\na", "Title x>Sub line: Sub\nline\n---\nb"}},
	{"markdown marks in headings", split.Markdown, "# The `go` [tool](https://x.y) **now** #\nx\n## Anchor {#here}\ny", "The go tool now", []string{
		"The go tool now: # The `go` [tool](https://x.y) **now** #\nx", "The go tool now>Anchor: ## Anchor {#here}\ny",
	}},
	{"markdown no heading", split.Markdown, "#hash\n####### seven\n", "", []string{": #hash\n####### seven"}},
	{"markdown heading in code", split.Markdown, "# A\n```sh\n# not one\n\n~~~\n```\n\n~~~\n# nor this\n````\n~~~\n    # nor that\n", "A", []string{
		"A: # A\n```sh\n# not one\n\n~~~\n```\n\n~~~\n# nor this\n````\n~~~\n    # nor that",
	}},
	{"markdown code without an end", split.Markdown, "a\n```\n# x\n\n# y", "", []string{": a\n```\n# x\n\n# y"}},
	{"markdown front matter", split.Markdown, "---\ntitle: \"My page\"\n# comment: 1\n---\n# A\nx", "My page", []string{": ---\ntitle: \"My page\"\n# comment: 1\n---", "A: # A\nx"}},
	{"markdown front matter of TOML", split.Markdown, "+++\ntitle = 'T'\n+++\nx", "T", []string{": +++\ntitle = 'T'\n+++\nx"}},
	{"markdown rule and no front matter", split.Markdown, "---\nx\n", "", []string{": ---\nx"}},
	{"markdown byte order mark and CRLF", split.Markdown, "\ufeff# A\r\n\r\nx\r\n", "A", []string{"A: # A\r\n\r\nx"}},
	{"markdown CR", split.Markdown, "# A\r\rx\ry\r## B\rz\r", "A", []string{"A: # A\r\rx\ry", "A>B: ## B\rz"}},
	{"plain underlined", split.Plain, "\ufeffTitle\n=====\n\none\n\nPart\n----\ntwo\n# three\n", "Title", []string{"Title: Title\n=====\n\none", "Title>Part: Part\n----\ntwo\n# three"}},
	{"plain nothing", split.Plain, " \n\t\n", "", nil},
	{"html", split.HTML, `<!DOCTYPE html><html><head><title> T &amp;
		U</title><style>p{}</style><script>if (a<b) "</p>"</script></head><body>
		<nav>menu</nav><h1 id="x">Hello <b>World</b></h1><p>One&nbsp;two &lt;three&gt; caf&eacute;.</p><!-- no <p>comment --><p>Four`, "T & U", []string{
		"Hello World: Hello World\n\nOne two <three> café.\n\nFour",
	}},
	{"html lists, tables and code", split.HTML, "<h2>A</h2><ul><li>one<li><p>two</p><ul><li>three</ul></ul><table><tr><th>x<th>y</tr><tr><td>1</td><td>2</td></tr></table><pre>a\n  b</pre>", "A", []string{
		"A: A\n\n- one\n- two\n- three\n\n\nx | y\n1 | 2\n\na\n  b",
	}},
	{"html hidden", split.HTML, `<div>a<div hidden>b<div>c</div></div>d</div><span style="DISPLAY : none">e</span><p hidden>f<p>g<input hidden>h<template>i</template><textarea><b>j</textarea>`, "", []string{": ad\n\ngh<b>j"}},
	{"html that is none", split.HTML, "a < b && c > d &nosuch; &#0; </ x> <", "", []string{": a < b && c > d &nosuch; \ufffd <"}},
	{"html tag without an end", split.HTML, `a <b class="x> c <i d`, "", []string{`: a <b class="x> c <i d`}},
	{"html attributes", split.HTML, `<p title="a>b" data-x='<p>'>c</p><br/>d<P/>e`, "", []string{": c\n\nd\n\ne"}},
	{"html CDATA", split.HTML, "<p><![CDATA[a <b> c]]>d", "", []string{": a <b> cd"}},
	{"json", split.JSON, `{"name": "Ann \u00e9\ud83d\ude00", "n": 1.50, "list": [{"a": true}, {"a": null, "b": {"c": "x\ty"}}], "tags": ["p", "q"], "none": {}, "last": ""}`, "", []string{
		": name: Ann é😀\nn: 1.50", "list>0: a: true", "list>1: a: null", "list>1>b: c: x\ty", "tags: p\nq", ": last:",
	}},
	{"json value", split.JSON, ` "a\\\"b\u0000" `, "", []string{`: a\"b` + "\ufffd"}},
	{"json list", split.JSON, `[[1,2],[],[[3]]]`, "", []string{"0: 1\n2", "2>0: 3"}},
	{"json lines", split.JSON, "{\"a\":1}\n\n{\"a\":[2]}\n", "", []string{"1: a: 1", "3>a: 2"}},
	{"json that is none", split.JSON, "{\"a\":1}\n{\n", "", []string{": {\"a\":1}\n{"}},
	{"json nothing", split.JSON, "{}", "", nil},
	{"unknown format", "x", "# a", "", []string{": # a"}},
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range splitCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := split.Splitter{Small: separate}
			d := s.Split(c.source, c.format)
			if d.Title != c.title {
				t.Errorf("got the title %q, want %q", d.Title, c.title)
			}
			if got := pieces(d); !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
			check(t, s, c.source, c.format, d)
		})
	}
}

// check checks what is promised of every split.
func check(t *testing.T, s split.Splitter, source string, format split.Format, d split.Document) {
	t.Helper()
	verbatim, valid := format == split.Markdown || format == split.Plain, utf8.ValidString(source)
	last, end := -1, 0
	for i, p := range d.Pieces {
		if p.Start <= last || p.End <= end || p.Start >= p.End || p.End > len(source) {
			t.Fatalf("piece %d is %d to %d, after %d and %d, of %d", i, p.Start, p.End, last, end, len(source))
		}
		if s.Overlap == 0 && p.Start < end {
			t.Fatalf("piece %d begins at %d, and the one before ends at %d", i, p.Start, end)
		}
		if verbatim {
			if p.Content != source[p.Start:p.End] {
				t.Fatalf("piece %d is %q, want %q", i, p.Content, source[p.Start:p.End])
			}
			if gap := strings.TrimPrefix(source[end:max(end, p.Start)], "\ufeff"); strings.TrimSpace(gap) != "" {
				t.Fatalf("%q is not in any piece", gap)
			}
		}
		if strings.TrimSpace(p.Content) == "" || valid && !utf8.ValidString(p.Content) {
			t.Fatalf("piece %d is %q", i, p.Content)
		}
		counter := s.Counter
		if counter == nil {
			counter = split.Estimate
		}
		if size := max(16, s.Size); p.Tokens != counter.Count(p.Content) || s.Size > 0 && p.Tokens > size && valid && !longCharacter(p.Content) {
			t.Fatalf("piece %d says %d tokens, has %d, and %d are allowed: %q", i, p.Tokens, counter.Count(p.Content), size, p.Content)
		}
		last, end = p.Start, p.End
	}
	if rest := strings.TrimPrefix(source[end:], "\ufeff"); verbatim && strings.TrimSpace(rest) != "" {
		t.Fatalf("%q is not in any piece", rest)
	}
}

// longCharacter says that a text has a character of many runes, which is not cut.
func longCharacter(text string) bool {
	n := 0
	for _, r := range text {
		if unicode.IsMark(r) || r == '\u200d' || r == '\u200c' || r >= 0x1160 && r < 0x1200 || r >= 0x1f3fb && r <= 0x1f3ff {
			if n++; n > 2 {
				return true
			}
		}
	}
	return false
}

// all is what pieces say, without space.
func all(d split.Document) string {
	var b strings.Builder
	for _, p := range d.Pieces {
		b.WriteString(strings.Join(strings.Fields(p.Content), ""))
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
					s := split.Splitter{Size: size, Overlap: overlap}
					for _, format := range []split.Format{split.Plain, split.Markdown} {
						check(t, s, source, format, s.Split(source, format))
					}
					if !utf8.ValidString(source) {
						return
					}
					quoted, err := json.Marshal(map[string]any{"x": []string{source, "end"}})
					if err != nil {
						t.Fatal(err)
					}
					d := s.Split(string(quoted), split.JSON)
					check(t, s, string(quoted), split.JSON, d)
					if got, want := all(d), strings.Join(strings.Fields(source), "")+"end"; overlap == 0 && got != want {
						t.Errorf("json: got %d bytes, want %d", len(got), len(want))
					}
					page := "<h1>x</h1><p>" + strings.ReplaceAll(source, "&", "&amp;")
					d = s.Split(page, split.HTML)
					check(t, s, page, split.HTML, d)
					if got, want := all(d), "x"+strings.Join(strings.Fields(source), ""); overlap == 0 && got != want {
						t.Errorf("html: got %d bytes, want %d", len(got), len(want))
					}
				})
			}
		}
	}
}

func TestSplitKeepsTogether(t *testing.T) {
	t.Parallel()
	code := "```go\n" + strings.Repeat("x := f(y)\n\n", 6) + "```"
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 5)
	items := "- one\n\n  still one\n\n  ```\n  # code\n  ```\n- two\n"
	source := "# T\n\n" + strings.Repeat("Some words to begin with. ", 8) + "\n\n" + code + "\n\n" + table + "\n" + items + "\nThe end.\n"
	d := split.Splitter{Size: 80}.Split(source, split.Markdown)
	check(t, split.Splitter{Size: 80}, source, split.Markdown, d)
	for _, whole := range []string{code, strings.TrimSpace(table), strings.TrimSpace(items)} {
		if !slices.ContainsFunc(d.Pieces, func(p split.Piece) bool { return strings.Contains(p.Content, whole) }) {
			t.Errorf("no piece has the whole of %q:\n%q", whole, pieces(d))
		}
	}
}

func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "각", "न\u093f"} {
		source := strings.Repeat(character, 200)
		for i, p := range (split.Splitter{Size: 16}).Split(source, split.Plain).Pieces {
			if strings.ReplaceAll(p.Content, character, "") != "" {
				t.Errorf("%q: piece %d is cut within a character: %q", character, i, p.Content)
			}
		}
	}
}

func TestSplitOverlap(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "This is sentence number %d. ", i)
	}
	s := split.Splitter{Size: 40, Overlap: 10}
	d := s.Split(b.String(), split.Plain)
	check(t, s, b.String(), split.Plain, d)
	for i, p := range d.Pieces[1:] {
		before := d.Pieces[i]
		repeated := b.String()[p.Start:before.End]
		if !strings.HasPrefix(repeated, "This is sentence") || split.Estimate.Count(repeated) > s.Overlap {
			t.Errorf("piece %d repeats %q", i+1, repeated)
		}
	}
	if len(d.Pieces) < 10 {
		t.Errorf("got %d pieces, want more", len(d.Pieces))
	}
}

func TestSplitSmallSections(t *testing.T) {
	t.Parallel()
	source := "# Guide\n\n## A\n\na\n\n## B\n\nb\n\n## C\n\n" + strings.Repeat("words and more ", 10)
	got := pieces(split.Splitter{Size: 100, Small: 12}.Split(source, split.Markdown))
	want := []string{"Guide: # Guide\n\n## A\n\na\n\n## B\n\nb", "Guide>C: ## C\n\n" + strings.TrimSpace(strings.Repeat("words and more ", 10))}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}

func TestSplitOffsets(t *testing.T) {
	t.Parallel()
	page := "<p>One &amp; two.</p>\n<p>caf&eacute; <b>three</b></p>"
	d := split.Splitter{Size: 16, Small: separate}.Split(page+"<h2>H</h2><p>four &lt;</p>", split.HTML)
	if got, want := page[d.Pieces[0].Start:d.Pieces[0].End], "One &amp; two.</p>\n<p>caf&eacute; <b>three"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	doc := `{"k\u0065y": "v\u0061lue", "other": [10]}`
	d = split.Splitter{Small: separate}.Split(doc, split.JSON)
	for i, want := range []string{`"k\u0065y": "v\u0061lue`, "10"} {
		if got := doc[d.Pieces[i].Start:d.Pieces[i].End]; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "word": 1, "words and words": 3, "internationalisation": 3, "1234567": 3, "a.b": 3, "=====": 2, "\n\n\n": 1, " ": 0, "    x": 2,
		"今天": 2, "été": 1, "😀": 2, "Привет": 3,
	} {
		if got := split.Estimate.Count(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, c := range splitCases {
		f.Add(c.source, uint8(1), uint16(16), uint16(5))
	}
	formats := []split.Format{split.Plain, split.Markdown, split.HTML, split.JSON}
	f.Fuzz(func(t *testing.T, source string, format uint8, size, overlap uint16) {
		s := split.Splitter{Size: 16 + int(size)%100}
		s.Overlap = int(overlap) % (s.Size/2 + 1)
		fm := formats[int(format)%len(formats)]
		d := s.Split(source, fm)
		check(t, s, source, fm, d)
		if title := d.Title; len(title) > 200 || utf8.ValidString(source) && !utf8.ValidString(title) {
			t.Errorf("title %q", title)
		}
		var v any
		if fm == split.JSON && s.Overlap == 0 && json.Unmarshal([]byte(source), &v) == nil {
			if text, ok := v.(string); ok && !strings.ContainsAny(text, "\x00\b\f") && utf8.ValidString(source) {
				if got, want := all(d), strings.Join(strings.Fields(text), ""); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		}
	})
}
