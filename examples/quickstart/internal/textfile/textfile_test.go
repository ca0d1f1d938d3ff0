package textfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
)

func parse(t testing.TB, text string) *textfile.File {
	t.Helper()
	f, err := textfile.Parse("text.md", []byte(text))
	require.NoError(t, err)
	return f
}

const loom = `# Looms

A *loom* is a frame. Looms are old.
See the glossary.

Heddle: what lifts the warp.

The warp is
strung on the loom and the heddle lifts it.
`

func TestSearch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, query   string
		lines         []int // the first line of each passage
		total, partly int
		missing       []string
	}{
		{"definition first", "loom", []int{3, 8}, 2, 0, nil},
		{"plural and case", "LOOMS", []int{3, 8}, 2, 0, nil},
		{"glossary first", "heddle", []int{6, 8}, 2, 0, nil},
		{"all words first", "heddle warp strung", []int{8, 6}, 1, 1, nil},
		{"heading counts", "old strung looms", []int{3, 8}, 0, 2, nil},
		{"no chance hit", "ddl", nil, 0, 0, []string{"ddl"}},
		{"other ending", "lifting", []int{6, 8}, 2, 0, nil},
		{"beginning of a word", "gloss", []int{3}, 1, 0, nil},
		{"middle of a word", "ossar", []int{3}, 1, 0, nil},
		{"missing", "shutle", nil, 0, 0, []string{"shutle"}},
		{"some missing", "loom zebra", []int{3, 8}, 0, 2, []string{"zebra"}},
		{"nothing", "?", nil, 0, 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, loom).Search(tt.query, 0)
			var lines []int
			for _, p := range got.Passages {
				lines = append(lines, p.From)
			}
			assert.Equal(t, tt.lines, lines)
			assert.Equal(t, []int{tt.total, tt.partly}, []int{got.Total, got.Partly})
			assert.Equal(t, tt.missing, got.Missing)
		})
	}
}

// A search also finds the other forms of a verb or a noun, but no word that only looks like such a
// form.
func TestSearchFindsIrregularForms(t *testing.T) {
	t.Parallel()
	f := parse(t, "The dues were paid.\n\nTwo children swim.\n\nTurn left at the lake.\n\nCars are banned.\n")
	for query, want := range map[string]int{"take care": 0, "a car": 7, "who pays the dues": 1, "payment": 1, "child": 3, "swam": 3, "leave": 0} {
		got := f.Search(query, 1).Passages
		if want == 0 {
			assert.Empty(t, got, query)
			continue
		}
		require.Len(t, got, 1, query)
		assert.Equal(t, want, got[0].From, query)
	}
}

// A long paragraph that has the words of a question in different contexts does not answer it.
func TestWordsOfAnAnswerStandTogether(t *testing.T) {
	t.Parallel()
	const apart = "A weaver runs a loom. The wool is red. It is washed often. Dust makes a crash of threads likely."
	for name, tt := range map[string]struct {
		text  string
		total int
	}{
		"apart":                 {apart, 0},
		"in one sentence":       {"A loom may crash. " + apart, 1},
		"in the next sentence":  {"This is a loom. It may crash.", 1},
		"one in the heading":    {"# Looms\n\nOne may crash. Threads are red.", 1},
		"two sentences further": {"This is a loom. It is old. It may crash.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, tt.text+"\n").Search("loom crash", 0)
			assert.Equal(t, tt.total, got.Total)
			assert.Equal(t, 1-tt.total, got.Partly)
		})
	}
}

// A passage with "with" does not answer a question with "without".
func TestWithIsNotWithout(t *testing.T) {
	t.Parallel()
	got := parse(t, "A run with a store continues.\n").Search("run without store", 0)
	assert.Equal(t, []string{"without"}, got.Missing)
	assert.Zero(t, got.Total)
}

// A passage that defines a term comes before passages that only mention it.
func TestDefinitionBeforeMention(t *testing.T) {
	t.Parallel()
	const mentions = "A loom that breaks is mended, because the loom is dear to the loom's owner.\n\n- loom, and so on\n\n"
	for name, definition := range map[string]string{
		"sentence":         "A loom is a frame.",
		"emphasised":       "Words: a *shed* is a gap, a *loom* holds the warp.",
		"bold":             "The **loom** is the frame.",
		"code":             "`loom` returns the frame.",
		"entry":            "- **Loom**: the frame.",
		"entry with dash":  "- loom - the frame.",
		"table":            "| word | meaning |\n| --- | --- |\n| loom | the frame |",
		"named":            "This frame is called a loom.",
		"under a heading":  "## The loom\n\nWhoever weaves needs a frame, and that is the loom.",
		"after a list":     "- one\n- two\n\nLooms are what weavers work at.",
		"inside a passage": "Weaving needs a frame. A loom is the frame that weavers use.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, mentions+definition+"\n\n# End\n\n"+mentions).Search("loom", 1)
			require.NotEmpty(t, got.Passages)
			last := definition[strings.LastIndexAny(definition, "\n|")+1:]
			assert.Regexp(t, "frame|warp|weavers", got.Passages[0].Text, last)
		})
	}
}

func TestPassages(t *testing.T) {
	t.Parallel()
	const text = "# Guide\n\n## Use\n\nOne [link](x.md) and **bold** in *two*\nlines. A *warp* is tight.\n\nThe steps:\n\n1. wind\n   the yarn\n2. weave\n\n" +
		"| mode | stored | lost |\n| --- | --- | --- |\n| `Sync` | before | nothing |\n\nRun this:\n\n```sh\nweave  --all\n```\n"
	tests := []struct {
		query    string
		from, to int
		text     string
	}{
		{"link", 5, 6, "One link and bold in two lines. A warp is tight."},
		{"warp", 5, 6, "A warp is tight."},
		{"steps", 8, 12, "The steps:\n- wind the yarn\n- weave"},
		{"yarn", 10, 11, "wind the yarn"},
		{"sync", 16, 16, "`Sync`: stored: before; lost: nothing"},
		{"run", 18, 21, "Run this:\n    weave  --all"},
		{"all", 21, 21, "weave  --all"},
	}
	for _, tt := range tests {
		got := parse(t, text).Search(tt.query, 1)
		require.Len(t, got.Passages, 1, tt.query)
		p := got.Passages[0]
		assert.Equal(t, textfile.Passage{From: tt.from, To: tt.to, Heading: "Use", Text: tt.text, Code: p.Code}, p, tt.query)
	}
}

func TestSearchIsCapped(t *testing.T) {
	t.Parallel()
	f := parse(t, strings.Repeat("loom "+strings.Repeat("é", 1000)+"\n\n", 100))
	got := f.Search("loom", 1000)
	assert.Len(t, got.Passages, textfile.MaxFound)
	assert.Equal(t, 100, got.Total)
	assert.Len(t, []rune(got.Passages[0].Text), 701, "700 characters and a mark")
	lines := f.FindLines("loom", 1000)
	assert.Len(t, lines.Lines, textfile.MaxFound)
	assert.Equal(t, 100, lines.Total)
	assert.Len(t, []rune(lines.Lines[0].Text), 301, "300 characters and a mark")
}

func TestFindLines(t *testing.T) {
	t.Parallel()
	tests := []struct {
		query         string
		lines         []int
		total, partly int
	}{
		{"loom", []int{1, 3, 9}, 3, 0},
		{"heddle loom", []int{9}, 1, 3},
		{"glossary heddle", []int{4, 6, 9}, 0, 3},
		{"zebra", nil, 0, 0},
	}
	for _, tt := range tests {
		got := parse(t, loom).FindLines(tt.query, 0)
		var lines []int
		for _, l := range got.Lines {
			lines = append(lines, l.Number)
		}
		assert.Equal(t, tt.lines, lines, tt.query)
		assert.Equal(t, []int{tt.total, tt.partly}, []int{got.Total, got.Partly}, tt.query)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := parse(t, strings.Repeat("x\n", 100))
	tests := []struct {
		name              string
		from, to          int
		first, last, left int
		err               string
	}{
		{"range", 3, 5, 3, 5, 0, ""},
		{"one", 7, 0, 7, 7, 0, ""},
		{"beyond the end", 99, 200, 99, 100, 0, ""},
		{"last", -3, 0, 98, 100, 0, ""},
		{"more than there are", -1000, 0, 1, 60, 40, ""},
		{"too many", 1, 100, 1, 60, 40, ""},
		{"behind the end", 101, 0, 0, 0, 0, "there is no line 101: text.md has 100"},
		{"before the start", 0, 0, 0, 0, 0, "there is no line 0"},
		{"backwards", 5, 3, 0, 0, 0, "ends before it begins"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := long.Read(tt.from, tt.to)
			if tt.err != "" {
				assert.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			first, last := p.Lines[0].Number, p.Lines[len(p.Lines)-1].Number
			assert.Equal(t, []int{tt.first, tt.last, tt.left, 100}, []int{first, last, p.Left, p.Of})
		})
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	f := parse(t, "The cat, the CAT and the catalogue.\r\nC++ is not C. New York\n\n東京は東京\n")
	tests := []struct {
		word     string
		from, to int
		want     int
	}{
		{"cat", 0, 0, 2},
		{"the", 1, 1, 3},
		{"the", 2, 4, 0},
		{"C++", 0, 0, 1},
		{"c", 0, 0, 2},
		{"new york", 0, 0, 1},
		{"東京", 0, 0, 2},
		{"", 0, 0, 0},
	}
	for _, tt := range tests {
		c, err := f.Count(tt.from, tt.to, tt.word)
		require.NoError(t, err)
		assert.Equal(t, tt.want, c.Occurrences, "%q in %d to %d", tt.word, tt.from, tt.to)
	}
	c, err := f.Count(0, 0, "")
	require.NoError(t, err)
	assert.Equal(t, []int{4, 14, 66}, []int{c.Lines, c.Words, c.Characters})
	_, err = f.Count(9, 0, "")
	assert.ErrorContains(t, err, "there is no line 9")
}

func TestOutline(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text        string
		headings, opening []int
	}{
		{"markdown", "# A\n\nText.\nMore.\n\n## B\n```\n# no\n```\n#no\n", []int{1, 6}, []int{3, 4}},
		{"underlined", "Title\n=====\n\nText\n\nPart\n----\n", []int{1, 6}, []int{4}},
		{"capitals and numbers", "LICENCE\nVersion 2\n\nAll of this is long enough to be the opening of a text, I say.\n\n  1. Terms.\n\nTHIS IS NO HEADING AS\nit goes on\n", []int{1, 6}, []int{4}},
		{"code", "// Package p is.\npackage p\n\nfunc f() {\n}\n", []int{2, 4}, []int{1}},
		{"none", "just\ntext\n", nil, []int{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := parse(t, tt.text).Outline()
			numbers := func(list []textfile.Line) (out []int) {
				for _, l := range list {
					out = append(out, l.Number)
				}
				return out
			}
			assert.Equal(t, tt.headings, numbers(o.Headings), "headings")
			assert.Equal(t, tt.opening, numbers(o.Opening), "opening")
		})
	}
	many := parse(t, strings.Repeat("# H\n\n", 50)).Outline()
	assert.Len(t, many.Headings, textfile.MaxHeadings)
	assert.Equal(t, 20, many.More)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("\ufeffone\r\n\x1b[31mtwo\tthree\n"), 0o600))
	f, err := textfile.Open(path)
	require.NoError(t, err)
	p, err := f.Read(1, 2)
	require.NoError(t, err)
	assert.Equal(t, "a.txt", f.Name())
	assert.Equal(t, []textfile.Line{{Number: 1, Text: "one"}, {Number: 2, Text: " [31mtwo\tthree"}}, p.Lines)
	found := f.Search("three", 1)
	assert.Equal(t, path, found.File)
	require.Len(t, found.Passages, 1)
	assert.NotContains(t, found.Passages[0].Text, "\x1b")
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(loom), "loom heddle", 1, 3)
	f.Add([]byte("東京\r\n\xf0\x9f\x98\x80 İ"), "İ", -1, 0)
	f.Add([]byte("```\n# a"), "...", 0, 9)
	f.Fuzz(func(t *testing.T, data []byte, word string, from, to int) {
		file, err := textfile.Parse("f", data)
		if err != nil {
			return
		}
		found := file.Search(word, 5)
		assert.LessOrEqual(t, len(found.Passages), min(5, found.Total+found.Partly))
		for _, p := range found.Passages {
			assert.True(t, 1 <= p.From && p.From <= p.To && p.To <= file.Len(), "lines %d to %d of %d", p.From, p.To, file.Len())
		}
		lines := file.FindLines(word, 5)
		assert.LessOrEqual(t, len(lines.Lines), min(5, lines.Total+lines.Partly))
		if p, err := file.Read(from, to); err == nil {
			assert.True(t, 0 < len(p.Lines) && len(p.Lines) <= textfile.MaxRead, "read %d lines", len(p.Lines))
		}
		c, err := file.Count(0, 0, word)
		require.NoError(t, err)
		assert.Equal(t, file.Len(), c.Lines)
		_, err = json.Marshal(file.Outline())
		require.NoError(t, err)
	})
}

// A search returns a passage that introduces a table with the rows of the table.
func TestSearchReturnsTheTableOfAPassage(t *testing.T) {
	t.Parallel()
	f := parse(t, "# Looms\n\nThe width says which loom you need:\n\n| width | loom |\n| --- | --- |\n| 40 cm | table loom |\n| 120 cm | floor loom |\n")
	got := f.Search("which loom need", 1)
	require.Len(t, got.Passages, 1)
	assert.Equal(t, "The width says which loom you need:\n- 40 cm: table loom\n- 120 cm: floor loom", got.Passages[0].Text)
	assert.Equal(t, 8, got.Passages[0].To)
}

// A title helps to find the passages below it, but is not a passage. A numbered or short line above
// a paragraph is a heading.
func TestTitlesAreNoAnswers(t *testing.T) {
	t.Parallel()
	const body = "Nobody uses the saw before the lesson with a warden.\nGloves are forbidden.\n"
	for name, tt := range map[string]struct{ text, query, heading string }{
		"title of two lines":   {"Harbour Workshop\nRules for members\n\n" + body, "members", ""},
		"title and subtitle":   {"# Workshop\nRules for members\n\n" + body, "members", "# Workshop"},
		"numbered heading":     {"Workshop rules\n\n3. The machines\n" + body, "machines", "3. The machines"},
		"heading of two words": {"Workshop rules\n\nThe machines\n" + body, "machines", "The machines"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := textfile.Parse("text.txt", []byte(tt.text))
			require.NoError(t, err)
			got := f.Search(tt.query, 0).Passages
			require.Len(t, got, 1)
			assert.Equal(t, strings.ReplaceAll(strings.TrimSpace(body), "\n", " "), got[0].Text)
			assert.Equal(t, strings.TrimPrefix(tt.heading, "# "), got[0].Heading)
		})
	}
	entries := parse(t, "Do this:\n\n1. Wind the yarn\n   Use the large wheel, and turn it with the left hand.\n2. Weave\n").Search("yarn", 0)
	require.Len(t, entries.Passages, 1)
	assert.Equal(t, "Wind the yarn Use the large wheel, and turn it with the left hand.", entries.Passages[0].Text, "an entry of a list is no heading")
}

// A word that only the title has does not make a passage complete.
func TestTitleCompletesNoPassage(t *testing.T) {
	t.Parallel()
	f, err := textfile.Parse("text.txt", []byte("A guide for plot holders\n\nThe deposit for the key comes back.\n\nWrite to the secretary first.\n"))
	require.NoError(t, err)
	got := f.Search("plot back", 0)
	assert.Zero(t, got.Total)
	assert.Equal(t, 1, got.Partly)
	assert.Empty(t, got.Missing)
}

// For a long passage, the search also returns up to three sentences. They begin with the sentences
// that have most of the words.
func TestBestSentences(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("The room has a window and a door and a floor. ", 4)
	got := parse(t, filler+"Rags go into the bin. A lid closes it. It is red. "+filler).Search("rags bin", 0)
	require.Len(t, got.Passages, 1)
	assert.Equal(t, "Rags go into the bin. A lid closes it. It is red.", got.Passages[0].Best)
	assert.Empty(t, parse(t, loom).Search("loom", 1).Passages[0].Best, "a short text is best as a whole")
}

// A search also finds a row of a table by the words above its columns.
func TestSearchFindsARowByItsHeader(t *testing.T) {
	t.Parallel()
	f := parse(t, "# Pump\n\n| lamp | meaning |\n| --- | --- |\n| green | it runs |\n| yellow | the filter is blocked |\n")
	got := f.Search("yellow lamp", 1)
	require.Len(t, got.Passages, 1)
	assert.Empty(t, got.Missing)
	assert.Equal(t, "yellow: the filter is blocked", got.Passages[0].Text)
}
