package split_test

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/memory/knowledge/split"
)

var formats = []split.Format{split.Plain, split.Markdown, split.HTML, split.JSON, split.Pages}

func TestFormatOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]split.Format{
		"README.md": split.Markdown, "a/b.MARKDOWN": split.Markdown, "x.html": split.HTML, "x.json": split.JSON, "x.jsonl": split.JSON,
		"x.txt": split.Plain, "x": split.Plain, "": split.Plain, "main.go": split.Plain,
		"https://example.com/a.html?q=1.md#x": split.HTML, "what?.md": split.Markdown,
	} {
		assert.Equal(t, want, split.FormatOf(name), name)
	}
	for _, f := range formats {
		require.NoError(t, f.Validate())
	}
	require.ErrorIs(t, split.Format("pdf").Validate(), split.ErrInvalid)
}

func TestSplitterValidate(t *testing.T) {
	t.Parallel()
	for _, s := range []split.Splitter{{}, {Size: 16}, {Size: 8192, Overlap: 4096}, {Overlap: 200}, {Small: -1}, {Small: 400}} {
		require.NoError(t, s.Validate(), "%+v", s)
	}
	for _, s := range []split.Splitter{{Size: 15}, {Size: -1}, {Size: 8193}, {Size: 100, Overlap: 51}, {Overlap: -1}, {Small: 401}} {
		require.ErrorIs(t, s.Validate(), split.ErrInvalid, "%+v", s)
		assert.Len(t, s.Split("some text", split.Plain).Pieces, 1, "%+v", s)
	}
}

// pieces returns the pieces of a document as "headings: content".
func pieces(d split.Document) []string {
	var got []string
	for _, p := range d.Pieces {
		got = append(got, strings.Join(p.Headings, ">")+": "+p.Content)
	}
	return got
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range splitCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := split.Splitter{Small: separate}
			d := s.Split(c.source, c.format)
			assert.Equal(t, c.title, d.Title)
			assert.Equal(t, c.want, pieces(d))
			check(t, s, c.source, c.format, d)
		})
	}
}

// check checks the rules that apply to every text.
func check(t *testing.T, s split.Splitter, source string, format split.Format, d split.Document) {
	t.Helper()
	verbatim, valid := format != split.HTML && format != split.JSON, utf8.ValidString(source)
	last, end := -1, 0
	for i, p := range d.Pieces {
		if p.Start <= last || p.End <= end || p.Start >= p.End || p.End > len(source) {
			require.Failf(t, "offsets", "piece %d is %d to %d, after %d and %d, of %d", i, p.Start, p.End, last, end, len(source))
		}
		if s.Overlap == 0 && p.Start < end {
			require.Failf(t, "overlap", "piece %d starts at %d, and the previous piece ends at %d", i, p.Start, end)
		}
		if verbatim {
			if p.Content != source[p.Start:p.End] {
				require.Equal(t, source[p.Start:p.End], p.Content, "piece %d", i)
			}
			requireBlank(t, source[end:max(end, p.Start)])
		}
		if strings.TrimSpace(p.Content) == "" || valid && !utf8.ValidString(p.Content) {
			require.Failf(t, "content", "piece %d is %q", i, p.Content)
		}
		checkTokens(t, s, p, valid)
		last, end = p.Start, p.End
	}
	if verbatim {
		requireBlank(t, source[end:])
	}
}

// requireBlank fails the test if the gap between two pieces has text.
func requireBlank(t *testing.T, gap string) {
	t.Helper()
	if strings.TrimSpace(strings.TrimPrefix(gap, "\ufeff")) != "" {
		require.Failf(t, "lost text", "%q is in no piece", gap)
	}
}

func checkTokens(t *testing.T, s split.Splitter, p split.Piece, valid bool) {
	t.Helper()
	counter := s.Counter
	if counter == nil {
		counter = split.Estimate
	}
	if n := counter.Count(p.Content); p.Tokens != n {
		require.Failf(t, "tokens", "the piece says %d tokens and has %d: %q", p.Tokens, n, p.Content)
	}
	if size := max(split.MinSize, s.Size); s.Size > 0 && p.Tokens > size && valid && !longCharacter(p.Content) {
		require.Failf(t, "size", "the piece has %d tokens, and %d are allowed: %q", p.Tokens, size, p.Content)
	}
}

// longCharacter reports whether a text has a character of many runes, which is not cut.
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

// all returns the content of all pieces without space.
func all(d split.Document) string {
	var b strings.Builder
	for _, p := range d.Pieces {
		b.WriteString(withoutSpace(p.Content))
	}
	return b.String()
}

func withoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }

func TestSplitKeepsTogether(t *testing.T) {
	t.Parallel()
	code := "```go\n" + strings.Repeat("x := f(y)\n\n", 6) + "```"
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 5)
	items := "- one\n\n  still one\n\n  ```\n  # code\n  ```\n- two\n"
	source := "# T\n\n" + strings.Repeat("Some words to begin with. ", 8) + "\n\n" + code + "\n\n" + table + "\n" + items + "\nThe end.\n"
	d := split.Splitter{Size: 80}.Split(source, split.Markdown)
	check(t, split.Splitter{Size: 80}, source, split.Markdown, d)
	for _, whole := range []string{code, strings.TrimSpace(table), strings.TrimSpace(items)} {
		assert.True(t, slices.ContainsFunc(d.Pieces, func(p split.Piece) bool { return strings.Contains(p.Content, whole) }),
			"no piece has the whole of %q:\n%q", whole, pieces(d))
	}
}

func TestSplitTableNamesColumnsInEveryPiece(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		format                 split.Format
		before, row, after     string
		columns, first, second string
	}{
		"markdown": {
			split.Markdown, "# T\n\nAn intro:\n| Tea | Price in € |\n|:---|---:|\n", "| Sencha | 4.50 |\n", "\nThe end.\n",
			"Tea | Price in €", "# T\n\nAn intro:\n| Tea | Price in € |\n|:---|---:|\n| Sencha", "| Sencha",
		},
		"html": {
			split.HTML, "<h1>T</h1><table><caption>All</caption><thead><tr><th>Tea</th><th>Price</th></tr></thead><tbody>",
			"<tr><td>Sencha</td><td>4.50</td></tr>\n", "</table><p>The end.", "Tea | Price", "T\n\nAll\nTea | Price\nSencha", "Sencha |",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, overlap := range []int{0, 20} {
				s := split.Splitter{Size: 50, Overlap: overlap}
				source := c.before + strings.Repeat(c.row, 30) + c.after
				d := s.Split(source, c.format)
				check(t, s, source, c.format, d)
				require.Greater(t, len(d.Pieces), 3)
				assert.Equal(t, []string{"T"}, d.Pieces[0].Headings)
				assert.True(t, strings.HasPrefix(d.Pieces[0].Content, c.first), d.Pieces[0].Content)
				rest := d.Pieces[1:]
				end := rest[len(rest)-1]
				assert.Equal(t, "The end.", end.Content)
				assert.Equal(t, []string{"T"}, end.Headings)
				for _, p := range rest[:len(rest)-1] {
					assert.Equal(t, []string{"T", c.columns}, p.Headings, p.Content)
					assert.True(t, strings.HasPrefix(p.Content, c.second), p.Content)
				}
			}
		})
	}
}

func TestSplitTableWithoutHeaderHasNoColumns(t *testing.T) {
	t.Parallel()
	rows := strings.Repeat("<tr><th>Tea</th><td>Sencha</td></tr>", 40)
	for _, p := range (split.Splitter{Size: 30}).Split("<table>"+rows+"</table>", split.HTML).Pieces {
		assert.Empty(t, p.Headings)
	}
	header := "| " + strings.Repeat("a very wide header | ", 20) + "\n|" + strings.Repeat("-|", 20) + "\n"
	s := split.Splitter{Size: 30}
	check(t, s, header, split.Markdown, s.Split(header, split.Markdown))
	check(t, s, header+"| x |\n", split.Markdown, s.Split(header+"| x |\n", split.Markdown))
}

func TestSplitPagesStayApart(t *testing.T) {
	t.Parallel()
	source := "one\n\ftwo\n\f" + strings.Repeat("A longer page. ", 40)
	s := split.Splitter{Size: 50, Overlap: 10}
	d := s.Split(source, split.Pages)
	check(t, s, source, split.Pages, d)
	assert.Empty(t, d.Title)
	assert.Equal(t, []string{"Page 1: one", "Page 2: two"}, pieces(d)[:2])
	require.Greater(t, len(d.Pieces), 3)
	for _, p := range d.Pieces[2:] {
		assert.Equal(t, []string{"Page 3"}, p.Headings)
	}
}

func TestSplitCharacters(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"👩‍👩‍👧‍👦", "🇩🇪", "👍🏽", "e\u0301", "각", "न\u093f"} {
		source := strings.Repeat(character, 200)
		for i, p := range (split.Splitter{Size: 16}).Split(source, split.Plain).Pieces {
			assert.Empty(t, strings.ReplaceAll(p.Content, character, ""), "%q: piece %d is cut within a character: %q", character, i, p.Content)
		}
	}
}

func TestSplitOverlap(t *testing.T) {
	t.Parallel()
	source := numbered(60)
	s := split.Splitter{Size: 40, Overlap: 10}
	d := s.Split(source, split.Plain)
	check(t, s, source, split.Plain, d)
	require.GreaterOrEqual(t, len(d.Pieces), 10)
	for i, p := range d.Pieces[1:] {
		repeated := source[p.Start:d.Pieces[i].End]
		assert.True(t, strings.HasPrefix(repeated, "This is sentence"), "piece %d repeats %q", i+1, repeated)
		assert.LessOrEqual(t, split.Estimate.Count(repeated), s.Overlap, "piece %d repeats %q", i+1, repeated)
	}
}

func TestSplitSmallSections(t *testing.T) {
	t.Parallel()
	source := "# Guide\n\n## A\n\na\n\n## B\n\nb\n\n## C\n\n" + strings.Repeat("words and more ", 10)
	want := []string{"Guide: # Guide\n\n## A\n\na\n\n## B\n\nb", "Guide>C: ## C\n\n" + strings.TrimSpace(strings.Repeat("words and more ", 10))}
	assert.Equal(t, want, pieces(split.Splitter{Size: 100, Small: 12}.Split(source, split.Markdown)))
}

func TestSplitOffsets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format split.Format
		source string
		want   []string // the source of the first pieces
	}{
		{split.HTML, "<p>One &amp; two.</p>\n<p>caf&eacute; <b>three</b></p><h2>H</h2><p>four &lt;</p>", []string{"One &amp; two.</p>\n<p>caf&eacute; <b>three", "H</h2><p>four &lt;"}},
		{split.HTML, "\ufeff<title>x &gt;</title><STYLE>a\r\nb</STYLE><P CLASS='A&amp;B'>one\r\n<h2>H</h2>t\x00wo", []string{"one", "H</h2>t\x00wo"}},
		{split.HTML, "<![CDATA[a&lt;]]><textarea>\r\nb &notin; c</textarea><h2>H</h2><pre>\n  x", []string{"a&lt;]]><textarea>\r\nb &notin; c", "H</h2><pre>\n  x"}},
		{split.JSON, `{"k\u0065y": "v\u0061lue", "other": [10]}`, []string{`"k\u0065y": "v\u0061lue`, "10"}},
	} {
		d := split.Splitter{Small: separate}.Split(c.source, c.format)
		check(t, split.Splitter{}, c.source, c.format, d)
		var got []string
		for _, p := range d.Pieces {
			got = append(got, c.source[p.Start:p.End])
		}
		assert.Equal(t, c.want, got)
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "word": 1, "words and words": 3, "internationalisation": 3, "1234567": 3, "a.b": 3, "=====": 2, "\n\n\n": 1, " ": 0, "    x": 2,
		"今天": 2, "été": 1, "😀": 2, "Привет": 3,
	} {
		assert.Equal(t, want, split.Estimate.Count(text), text)
	}
}
