// Package picturetest draws the terminal output of the examples for their READMEs.
package picturetest

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"strings"
	"testing"
)

// A Picture is a terminal as an animated SVG. Its zero value is empty. Times are in tenths of a second.
type Picture struct {
	shown []shownLine
	clock int
}

type shownLine struct {
	class, text string
	at, typing  int // the time when it appears, and the duration of its typing
}

// Line adds a line of the output. Class is a class of the style sheet: out, remark or faint. A long
// line is broken between words.
func (p *Picture) Line(class, text string) {
	for len([]rune(text)) > columns {
		at := strings.LastIndex(string([]rune(text)[:columns+1]), " ")
		if at <= 0 {
			break
		}
		p.line(class, text[:at])
		text = text[at+1:]
	}
	p.line(class, text)
}

func (p *Picture) line(class, text string) {
	p.shown = append(p.shown, shownLine{class: class, text: text, at: p.clock})
	p.clock++
}

// Command adds a command line, which appears as if typed.
func (p *Picture) Command(text string) {
	p.clock += 8
	typing := len(text) / 3
	p.shown = append(p.shown, shownLine{"command", "$ " + text, p.clock, typing})
	p.clock += typing + 6
}

const (
	lineHeight = 20
	letter     = 8.4 // the width of a character of 14 pixels
	columns    = 86
)

func (p *Picture) svg(label string) []byte {
	// Begin the animation near its end, when all lines are visible, so that a still image shows
	// them.
	total := p.clock + 60
	height := len(p.shown)*lineHeight + 58
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" aria-label="%s">
<style>
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d7dae0; white-space: pre }
.command { fill: #ffffff; font-weight: 600 } .remark, .faint { fill: #8b93a1 }
g, rect.type { animation-duration: %.1fs; animation-delay: -%.1fs; animation-iteration-count: infinite; animation-fill-mode: both }
`, height, html.EscapeString(label), float64(total)/10, float64(total)/10-3)
	for i, l := range p.shown {
		at := 100 * float64(l.at) / float64(total)
		fmt.Fprintf(&b, "@keyframes s%d { 0%%, %.2f%% { opacity: 0 } %.2f%%, 100%% { opacity: 1 } }\n", i, at, at+0.01)
		if l.typing > 0 {
			end := 100 * float64(l.at+l.typing) / float64(total)
			fmt.Fprintf(&b, "@keyframes t%d { 0%%, %.2f%% { transform: translateX(0); animation-timing-function: steps(%d) } %.2f%%, 100%% { transform: translateX(760px) } }\n", i, at, len(l.text), end)
		}
	}
	b.WriteString("@media (prefers-reduced-motion: reduce) { g { animation: none } rect.type { display: none } }\n</style>\n")
	fmt.Fprintf(&b, "<rect width=\"760\" height=\"%d\" rx=\"8\" fill=\"#1b1f27\"/>\n", height)
	b.WriteString(`<circle cx="20" cy="18" r="5" fill="#4b5260"/><circle cx="38" cy="18" r="5" fill="#4b5260"/><circle cx="56" cy="18" r="5" fill="#4b5260"/>` + "\n")
	for i, l := range p.shown {
		y := 52 + i*lineHeight
		class := l.class
		if strings.HasPrefix(l.text, "  ") && !strings.HasPrefix(l.text, "   ") {
			class = "faint"
		}
		fmt.Fprintf(&b, "<g style=\"animation-name: s%d\"><text x=\"20\" y=\"%d\" class=\"%s\">%s</text></g>\n", i, y, class, html.EscapeString(l.text))
		if l.typing > 0 {
			fmt.Fprintf(&b, "<rect class=\"type\" style=\"animation-name: t%d\" x=\"%.1f\" y=\"%d\" width=\"740\" height=\"%d\" fill=\"#1b1f27\"/>\n", i, 20+2*letter, y-14, lineHeight-2)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Check compares the picture with a file. With write, it writes the file first. The label describes
// the picture for people who cannot see it.
func (p *Picture) Check(tb testing.TB, path, label string, write bool) {
	tb.Helper()
	got := p.svg(label)
	if write {
		if err := os.WriteFile(path, got, 0o644); err != nil { //nolint:gosec // everybody may look at the picture
			tb.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(want, got) {
		tb.Errorf("the picture %s is not what the program prints: run this test with -update\n%s", path, got)
	}
}
