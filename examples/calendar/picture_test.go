package main

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/internal/picturetest"
)

var update = flag.Bool("update", false, "write the picture of the README again")

// The picture of the README shows the output of the program. With -update the test writes the picture.
func TestPictureOfTheReadme(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.env = append(f.env, onDay+"=2026-11-23T09:00:00Z") // a Monday: on a Friday, "Friday" means the next one
	p := picturetest.Picture{}
	for i, said := range []string{"Delete my meeting with John", "am I free on Friday afternoon?", "yes"} {
		status, out, errs := f.start(said)
		require.Zero(t, status, errs)
		words := said
		if strings.Contains(said, " ") {
			words = `"` + said + `"`
		}
		if i == 2 {
			p.Line("remark", "# the question is stored; any process can answer it")
		}
		p.Command("go run ./examples/calendar " + words)
		for line := range strings.Lines(strings.ReplaceAll(out, f.dir+string(filepath.Separator), "")) {
			if !strings.HasPrefix(line, "calendar  ") && !strings.HasPrefix(line, "sample  ") {
				p.Line("out", strings.TrimRight(line, "\n"))
			}
		}
		p.Line("out", "")
	}
	p.Check(t, filepath.Join("..", "..", "docs", "images", "calendar-terminal.svg"),
		"A terminal: a request, the question before a deletion, another request, and the answer", *update)
}
