package guide_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write what the programs print to their output.txt")

// programs is the folder of the programs.
var programs = filepath.Join("..", "..")

// TestPrograms compares the output of each program with its output.txt, which the documents quote.
func TestPrograms(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob(filepath.Join(programs, "*", "main.go"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	build := []string{"build", "-o", t.TempDir() + string(filepath.Separator)}
	for _, source := range sources {
		build = append(build, filepath.Dir(source))
	}
	out, err := exec.CommandContext(t.Context(), "go", build...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, source := range sources {
		name := filepath.Base(filepath.Dir(source))
		out, err := exec.CommandContext(t.Context(), filepath.Join(build[2], name)).CombinedOutput()
		require.NoError(t, err, "%s: %s", name, out)
		path := filepath.Join(programs, name, "output.txt")
		if *update {
			require.NoError(t, os.WriteFile(path, out, 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err, "run this test with -update")
		assert.Equal(t, string(want), string(out), name)
	}
}

var (
	stepHeading = regexp.MustCompile(`(?m)^## \d+\. .*$`)
	errorBlock  = regexp.MustCompile("(?s)<!-- error -->\n```text\n(.*?)```")
)

// TestErrors provokes the errors that docs/graphs.md shows, in the order of the
// document. In the document "…" stands for any text, lines are wrapped, and types
// belong to package main.
func TestErrors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(programs, "..", "..", "docs", "graphs.md"))
	require.NoError(t, err)
	steps := stepHeading.FindAllIndex(text, -1)
	require.Len(t, steps, len(mistakes), "steps of the document")
	for i, step := range steps {
		end := len(text)
		if i+1 < len(steps) {
			end = steps[i+1][0]
		}
		heading := string(text[step[0]:step[1]])
		blocks := errorBlock.FindAllSubmatch(text[step[0]:end], -1)
		require.Len(t, blocks, len(mistakes[i]), "errors under %q", heading)
		for j, mistake := range mistakes[i] {
			err := mistake(t.Context())
			require.Error(t, err, "mistake %d under %q", j+1, heading)
			pattern := strings.ReplaceAll(regexp.QuoteMeta(oneLine(string(blocks[j][1]))), "…", ".*")
			got := strings.ReplaceAll(oneLine(err.Error()), "guide_test.", "main.")
			assert.Regexp(t, "^"+pattern+"$", got, "mistake %d under %q", j+1, heading)
		}
	}
}

// oneLine returns the words of text, separated by single spaces.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
