package terminal

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/internal/picturetest"
)

var update = flag.Bool("update", false, "write the picture of the README again")

// TestPictureOfTheReadme proves that the picture shows the output of the program: it runs the
// commands and draws them. With -update it writes the file.
func TestPictureOfTheReadme(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", "..", "..", ".."))
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(filepath.Join(dir, "docs"), os.DirFS(filepath.Join(root, "docs"))))
	// If the folder has the source of the program, the program prints commands with ./examples/quickstart.
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "examples", "quickstart"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "examples", "quickstart", "main.go"), nil, 0o600))
	p := picturetest.Picture{}
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
			p.Line("remark", c.remark)
		}
		p.Command("go run ./examples/quickstart " + shellWords(c.args))
		text := strings.ReplaceAll(string(out), dir+"/", "")
		text, _, _ = strings.Cut(text, "\n"+quickstart.Hint)
		for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n\n") {
			p.Line("out", strings.TrimRight(line, "\n"))
		}
	}
	p.Check(t, filepath.Join(root, "docs", "images", "quickstart.svg"),
		"A terminal: the agent answers a question, asks before it saves a note, and another process answers", *update)
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
