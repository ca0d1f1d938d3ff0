package document

import (
	"fmt"
	"regexp"
	"strings"
)

// maxPassage is the maximum number of bytes of a passage, except for a single long word.
const maxPassage = 700

// A Passage is a paragraph of a text, or a part of one.
type Passage struct {
	// From and To are the numbers of its first and last line.
	From, To int
	// Heading is the heading above the passage, or "".
	Heading string
	Text    string
	// Lines are the parts of the text, with the numbers of their lines.
	Lines []Line
}

// A Line is a line of a text, or a part of a long one.
type Line struct {
	Number int
	Text   string
}

// Place returns the lines of the passage: "12", or "12-14".
func (p Passage) Place() string {
	if p.From == p.To {
		return fmt.Sprint(p.From)
	}
	return fmt.Sprintf("%d-%d", p.From, p.To)
}

var (
	marked   = regexp.MustCompile(`^#{1,6}\s+\S`)
	numbered = regexp.MustCompile(`^(\d+(\.\d+)*[.)]?|[A-Z][.)]|(?i:section|part|article|chapter) \S+)\s+\S.{0,70}$`)
	entry    = regexp.MustCompile(`^\s*([-*+•] |\d+[.)] |\d+(\.\d+)+[.)]? |\([a-z0-9]+\) |\|)`)
	listed   = regexp.MustCompile(`^\s*\d+[.)] `)
)

// passages divides a text into paragraphs and entries of lists.
func passages(text string) []Passage {
	var out []Passage
	var p Passage
	end := func() {
		if strings.TrimSpace(p.Text) != "" {
			out = append(out, p)
		}
		p = Passage{Heading: p.Heading}
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.TrimSpace(line)
		first := i == 0 || strings.TrimSpace(lines[i-1]) == ""
		alone := first && (i+1 == len(lines) || strings.TrimSpace(lines[i+1]) == "")
		switch {
		case line == "":
			end()
		case marked.MatchString(line), alone && isHeading(line), first && !alone && leads(line, lines[i+1]):
			end()
			p.Heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		default:
			if entry.MatchString(lines[i]) || len(p.Text)+len(line) > maxPassage {
				end()
			}
			for _, piece := range pieces(line) {
				if len(p.Text)+len(piece) > maxPassage {
					end()
				}
				p.add(i+1, piece)
			}
		}
	}
	end()
	return out
}

func (p *Passage) add(line int, text string) {
	if p.Text == "" {
		p.From, p.Text = line, text
	} else {
		p.Text += " " + text
	}
	p.Lines = append(p.Lines, Line{line, text})
	p.To = line
}

// isHeading reports whether a line looks like a heading: it is short, and it has a number, capitals only or a colon
// at its end.
func isHeading(line string) bool {
	if len(line) > 80 || strings.HasSuffix(line, ".") && !numbered.MatchString(line) {
		return false
	}
	return numbered.MatchString(line) || line == strings.ToUpper(line) && line != strings.ToLower(line) || strings.HasSuffix(line, ":")
}

// leads reports whether a line is a numbered title right above a text: "3. Deadlines". A line above another
// entry of a list is no title.
func leads(line, below string) bool {
	return listed.MatchString(line) && !listed.MatchString(below) && len(strings.Fields(line)) <= 7 && !strings.ContainsAny(line[len(line)-1:], ".,;:?!")
}

// pieces cuts a long line at the ends of sentences, or else at the ends of words.
func pieces(line string) []string {
	if len(line) <= maxPassage {
		return []string{line}
	}
	var out []string
	piece := ""
	for _, s := range Sentences(line) {
		for word := range strings.FieldsSeq(s) {
			if len(piece)+len(word) >= maxPassage {
				out, piece = append(out, piece), ""
			}
			piece = strings.TrimSpace(piece + " " + word)
		}
		if len(piece) > maxPassage/2 {
			out, piece = append(out, piece), ""
		}
	}
	if piece != "" {
		out = append(out, piece)
	}
	return out
}

// sentenceEnd matches a mark, a space and the beginning of the next sentence. At least three characters precede the
// mark, so "z. B." and "No. 5" do not end a sentence.
var sentenceEnd = regexp.MustCompile(`([\p{L}\p{N})"”'’%]{3}[.!?]["”')]?)\s+(["“(\[*]?[\p{Lu}\p{N}])`)

// Sentences divides a paragraph into sentences.
func Sentences(text string) []string {
	var out []string
	for _, s := range strings.Split(sentenceEnd.ReplaceAllString(text, "$1\x00$2"), "\x00") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}
