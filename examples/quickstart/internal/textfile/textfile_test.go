package textfile_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-go/weft/examples/quickstart/internal/textfile"
)

func parse(t testing.TB, text string) *textfile.File {
	t.Helper()
	f, err := textfile.Parse("text.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
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
		name, query     string
		lines           []int
		total, partly   int
		missing, common []string
	}{
		{"definition first", "loom", []int{3, 1, 9}, 3, 0, nil, nil},
		{"plural and case", "LOOMS", []int{3, 1, 9}, 3, 0, nil, nil},
		{"glossary first", "heddle", []int{6, 9}, 2, 0, nil, nil},
		{"all words first", "heddle loom", []int{9, 6, 1, 3}, 1, 3, nil, nil},
		{"beginning of a word", "glos", []int{4}, 1, 0, nil, nil},
		{"middle of a word", "ossar", []int{4}, 1, 0, nil, nil},
		{"missing", "shutle", nil, 0, 0, []string{"shutle"}, nil},
		{"similar", "hedle", nil, 0, 0, []string{"hedle"}, []string{"heddle"}},
		{"swapped", "wrap", nil, 0, 0, []string{"wrap"}, []string{"warp"}},
		{"some missing", "loom zebra", []int{3, 1, 9}, 0, 3, []string{"zebra"}, nil},
		{"nothing", "?", nil, 0, 0, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, loom).Search(tt.query, 0)
			var lines []int
			for _, l := range got.Lines {
				lines = append(lines, l.Number)
			}
			if !slices.Equal(lines, tt.lines) || got.Total != tt.total || got.Partly != tt.partly {
				t.Errorf("got lines %v, %d with all and %d with some; want %v, %d, %d", lines, got.Total, got.Partly, tt.lines, tt.total, tt.partly)
			}
			if !slices.Equal(got.Missing, tt.missing) || !slices.Equal(got.Similar, tt.common) {
				t.Errorf("got missing %v, similar %v; want %v, %v", got.Missing, got.Similar, tt.missing, tt.common)
			}
		})
	}
}

func TestSearchIsCapped(t *testing.T) {
	t.Parallel()
	f := parse(t, strings.Repeat("loom "+strings.Repeat("é", 1000)+"\n", 100))
	got := f.Search("loom", 1000)
	if len(got.Lines) != textfile.MaxFound || got.Total != 100 {
		t.Errorf("got %d of %d lines", len(got.Lines), got.Total)
	}
	if n := len([]rune(got.Lines[0].Text)); n != 301 {
		t.Errorf("a line has %d characters, want 300 and a mark", n)
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
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			first, last := p.Lines[0].Number, p.Lines[len(p.Lines)-1].Number
			if first != tt.first || last != tt.last || p.Left != tt.left || p.Of != 100 {
				t.Errorf("got %d to %d, %d left of %d; want %d to %d, %d", first, last, p.Left, p.Of, tt.first, tt.last, tt.left)
			}
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
		if err != nil || c.Occurrences != tt.want {
			t.Errorf("%q in %d to %d: got %d, %v; want %d", tt.word, tt.from, tt.to, c.Occurrences, err, tt.want)
		}
	}
	c, err := f.Count(0, 0, "")
	if err != nil || c.Lines != 4 || c.Words != 14 || c.Characters != 66 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := f.Count(9, 0, ""); err == nil {
		t.Error("line 9 of 4 was counted")
	}
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
			if got := numbers(o.Headings); !slices.Equal(got, tt.headings) {
				t.Errorf("got headings %v, want %v", got, tt.headings)
			}
			if got := numbers(o.Opening); !slices.Equal(got, tt.opening) {
				t.Errorf("got opening %v, want %v", got, tt.opening)
			}
		})
	}
	many := parse(t, strings.Repeat("# H\n\n", 50)).Outline()
	if len(many.Headings) != textfile.MaxHeadings || many.More != 20 {
		t.Errorf("got %d headings and %d more", len(many.Headings), many.More)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("\ufeffone\r\n\x1b[31mtwo\tthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := textfile.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Read(1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if f.Name() != "a.txt" || f.Len() != 2 || p.Lines[0].Text != "one" || p.Lines[1].Text != " [31mtwo\tthree" {
		t.Errorf("got %s, %d lines: %v", f.Name(), f.Len(), p.Lines)
	}
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
		if len(found.Lines) > min(5, found.Total+found.Partly) {
			t.Errorf("%d lines of %d and %d", len(found.Lines), found.Total, found.Partly)
		}
		if p, err := file.Read(from, to); err == nil && (len(p.Lines) == 0 || len(p.Lines) > textfile.MaxRead) {
			t.Errorf("read %d lines", len(p.Lines))
		}
		c, err := file.Count(0, 0, word)
		if err != nil || c.Lines != file.Len() {
			t.Errorf("counted %d lines of %d: %v", c.Lines, file.Len(), err)
		}
		if _, err := json.Marshal(file.Outline()); err != nil {
			t.Error(err)
		}
	})
}
