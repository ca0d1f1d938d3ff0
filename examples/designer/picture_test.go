package main

import (
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/internal/picturetest"
)

var update = flag.Bool("update", false, "write the picture of the README again")

// quoteID matches the id of a quote, which differs in each run.
var quoteID = regexp.MustCompile(`Q-[0-9a-f]+`)

// The picture of the README shows the output of the program. With -update the test writes the picture.
func TestPictureOfTheReadme(t *testing.T) {
	t.Parallel()
	s := storesOf["SQLite"](t)
	p := picturetest.Picture{}
	for _, said := range []string{"find oak chairs under 700 and quote 6 of the second", "yes"} {
		out, status := s.says(t, "", said)
		require.Zero(t, status, out)
		words := said
		if strings.Contains(said, " ") {
			words = `"` + said + `"`
		}
		p.Command("go run ./examples/designer " + words)
		for line := range strings.Lines(quoteID.ReplaceAllString(out, "Q-f8d77a4dae")) {
			p.Line("out", strings.TrimRight(line, "\n"))
		}
		p.Line("out", "")
	}
	p.Check(t, filepath.Join("..", "..", "docs", "images", "designer-terminal.svg"),
		"A terminal: a search, a quote with its prices and total, and the approval", *update)
}
