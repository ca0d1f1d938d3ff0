package textfile

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxHeadings is the greatest number of headings of an outline.
const MaxHeadings = 30

// An Outline is the headings and the beginning of a file.
type Outline struct {
	// Headings are lines that look like headings. More counts those left out.
	Headings []Line `json:"headings"`
	More     int    `json:"more,omitempty"`
	// Opening is the first paragraph that is not a heading.
	Opening []Line `json:"opening"`
}

const (
	maxOpening = 6  // lines
	minOpening = 60 // characters, if the opening is one line
	// maxParagraphs bounds the search for an opening.
	maxParagraphs = 10
)

var (
	numbered    = regexp.MustCompile(`^\s*(\d+(\.\d+)*[.)]?|[IVX]+\.|[A-Z]\.|(?i:chapter|section|part|article) \S+)\s+\S.{0,70}$`)
	short       = regexp.MustCompile(`^\p{Lu}[^\s.,;:!?|]*(?: [^\s.,;:!?|]+){0,4}$`)
	begins      = regexp.MustCompile(`^\p{Lu}\S* `)
	underline   = regexp.MustCompile(`^\s*(={3,}|-{3,}|~{3,}|\^{3,})\s*$`)
	declaration = regexp.MustCompile(`^(func|type|package|class|def|interface|pub fn|fn|struct|export (default )?(function|class|const)) .*\w`)
)

// Outline finds the headings and the opening of the file. It recognises headings by the
// marks and underlines of Markdown, numbers, capitals, and declarations of code.
func (f *File) Outline() Outline {
	out := Outline{Headings: []Line{}}
	var paragraphs [][]Line
	fenced, goesOn := false, false
	for i, line := range f.lines {
		text := strings.TrimSpace(line)
		last := len(paragraphs) - 1
		before := goesOn
		goesOn = false
		switch {
		case strings.HasPrefix(text, "```") || strings.HasPrefix(text, "~~~"):
			fenced = !fenced
		case fenced || text == "" || underline.MatchString(line):
		case f.heading(i) && len(out.Headings) < MaxHeadings:
			out.Headings = append(out.Headings, f.line(i))
		case f.heading(i):
			out.More++
		case before:
			paragraphs[last] = append(paragraphs[last], f.line(i))
			goesOn = len(paragraphs[last]) < maxOpening
		case last < maxParagraphs:
			paragraphs = append(paragraphs, []Line{f.line(i)})
			goesOn = true
		}
	}
	out.Opening = opening(paragraphs)
	return out
}

// opening returns the first paragraph that is longer than a date or a version, or else the first
// one.
func opening(paragraphs [][]Line) []Line {
	for _, p := range paragraphs {
		if len(p) > 1 || utf8.RuneCountInString(p[0].Text) >= minOpening {
			return p
		}
	}
	if len(paragraphs) > 0 {
		return paragraphs[0]
	}
	return []Line{}
}

func (f *File) heading(i int) bool {
	line := f.lines[i]
	text := strings.TrimSpace(line)
	switch {
	case text == "" || underline.MatchString(line):
		return false
	case strings.HasPrefix(line, "#"):
		marks := strings.TrimLeft(line, "#")
		return len(line)-len(marks) <= 6 && strings.HasPrefix(marks, " ")
	case i+1 < len(f.lines) && underline.MatchString(f.lines[i+1]):
		return f.blank(i-1) && utf8.RuneCountInString(text) <= 100
	case declaration.MatchString(line):
		return true
	}
	return f.blank(i-1) && f.title(i, text)
}

// title reports whether a line after a blank line is a heading that has no "#".
func (f *File) title(i int, text string) bool {
	marked := numbered.MatchString(f.lines[i])
	if i == 0 || f.blank(i+1) {
		if marked || capitals(text) {
			return true
		}
	}
	return (marked || f.prose && short.MatchString(text)) && f.leads(i)
}

// leads reports whether a line ends without punctuation, and a longer sentence with no more
// indentation follows.
func (f *File) leads(i int) bool {
	next := i + 1
	if f.blank(next) {
		next++
	}
	if next >= len(f.lines) || strings.ContainsAny(f.lines[i][len(f.lines[i])-1:], ".,;:!?") {
		return false
	}
	indent := len(f.lines[i]) - len(strings.TrimLeft(f.lines[i], " "))
	return len(f.lines[next]) > max(len(f.lines[i]), 40) && begins.MatchString(strings.TrimPrefix(f.lines[next], f.lines[i][:indent]))
}

func (f *File) blank(i int) bool {
	return i < 0 || i >= len(f.lines) || strings.TrimSpace(f.lines[i]) == ""
}

// capitals reports whether a text is short and in capitals, as titles are.
func capitals(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLower(r) {
			return false
		}
		if unicode.IsUpper(r) {
			letters++
		}
	}
	return letters >= 4 && utf8.RuneCountInString(text) <= 70
}
