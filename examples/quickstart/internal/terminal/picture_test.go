package terminal

import (
	"bytes"
	"flag"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the picture of the README again")

// TestPictureOfTheReadme proves that the picture shows what the program prints: it runs the
// commands and draws them. With -update it writes the file.
func TestPictureOfTheReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "docs"), os.DirFS(filepath.Join(root, "docs"))))
	// The program looks for its source to know how it was started.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "examples", "quickstart"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "examples", "quickstart", "main.go"), nil, 0o600))
	p := picture{}
	for _, c := range []struct {
		remark string
		args   []string
	}{
		{"", []string{"-file", "docs/execution.md", "what is a superstep?"}},
		{"", []string{"save that"}},
		{"# the run waits in quickstart.db; any process can answer it", []string{"-resume", "yes"}},
	} {
		cmd := folder{t, dir}.program(c.args...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if c.remark != "" {
			p.line("remark", c.remark)
		}
		p.command("go run ./examples/quickstart " + shellWords(c.args))
		text := strings.ReplaceAll(string(out), dir+"/", "")
		text, _, _ = strings.Cut(text, "\n"+quickstart.Hint)
		for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n\n") {
			p.line("out", strings.TrimRight(line, "\n"))
		}
	}
	path := filepath.Join(root, "docs", "images", "quickstart.svg")
	got := p.svg()
	if *update {
		require.NoError(t, os.WriteFile(path, got, 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "the picture is old: go test ./examples/quickstart/internal/terminal -run Picture -update")
}

func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a
		if strings.Contains(a, " ") {
			words[i] = `"` + a + `"`
		}
	}
	return strings.Join(words, " ")
}

// A picture is a terminal as an animated SVG. Times are in tenths of a second.
type picture struct {
	shown []shownLine
	clock int
}

type shownLine struct {
	class, text string
	at, typing  int // when it appears, and how long it is typed
}

func (p *picture) line(class, text string) {
	p.shown = append(p.shown, shownLine{class: class, text: text, at: p.clock})
	p.clock++
}

func (p *picture) command(text string) {
	p.clock += 8
	typing := len(text) / 3
	p.shown = append(p.shown, shownLine{"command", "$ " + text, p.clock, typing})
	p.clock += typing + 6
}

const (
	lineHeight = 20
	letter     = 8.4 // the width of a character of 14 pixels
)

func (p *picture) svg() []byte {
	// The picture begins and rests with all lines, so that a viewer without animations sees them.
	total := p.clock + 60
	height := len(p.shown)*lineHeight + 58
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 %d" role="img" aria-label="A terminal: the agent answers a question, asks before it saves a note, and another process answers">
<style>
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d7dae0; white-space: pre }
.command { fill: #ffffff; font-weight: 600 } .remark, .faint { fill: #8b93a1 }
g, rect.type { animation-duration: %.1fs; animation-delay: -%.1fs; animation-iteration-count: infinite; animation-fill-mode: both }
`, height, float64(total)/10, float64(total)/10-3)
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
