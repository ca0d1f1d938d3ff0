package main

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadmeCommands runs the commands of README.md and examples/README.md as they
// are printed, in order, in a temporary folder.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds examples")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, name := range []string{"README.md", "examples/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		commands := exampleCommands(string(text))
		require.NotEmpty(t, commands, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var runnable []string
			for _, c := range commands {
				assert.FileExists(t, filepath.Join(root, filepath.FromSlash(examplePath.FindString(c)), "main.go"), c)
				if needs(c) == "" {
					runnable = append(runnable, c)
				} else {
					t.Logf("not run, needs %s: %s", needs(c), c)
				}
			}
			outputs := runCommands(t, root, runnable)
			for _, block := range outputBlock.FindAllStringSubmatch(string(text), -1) {
				assert.Contains(t, outputs, block[1], "the output that %s shows", name)
			}
		})
	}
}

var (
	examplePath    = regexp.MustCompile(`\./examples/[\w/]+`)
	exampleCommand = regexp.MustCompile("(?m)^[^`\n]*go run \\./examples/.*$|`[^`\n]*go run \\./examples/[^`\n]*`")
	outputBlock    = regexp.MustCompile("(?s)<!-- output -->\n```text\n(.*?)```")
)

// exampleCommands returns the commands of a document that run examples.
func exampleCommands(text string) []string {
	var out []string
	for _, c := range exampleCommand.FindAllString(text, -1) {
		out = append(out, strings.TrimSpace(strings.Trim(c, "`")))
	}
	return out
}

// needs returns the requirement of a command besides Go, or "".
func needs(command string) string {
	switch {
	case strings.Contains(command, "…"):
		return "values that the reader fills in"
	case strings.Contains(command, "DATABASE_URL"), strings.Contains(command, "./examples/supabase"):
		return "a database"
	case strings.Contains(command, "-serve"), regexp.MustCompile(`\./examples/(chatapi|csvanalyst|pages|quickstart/chat|research|serving)( -file \S+)?$`).MatchString(command):
		return "to be stopped: it serves"
	}
	return ""
}

// runCommands runs commands in a folder that looks like the repository, and returns
// their output.
func runCommands(t *testing.T, root string, commands []string) string {
	t.Helper()
	dir, programs := t.TempDir(), t.TempDir()
	for _, name := range []string{"docs", "examples", "README.md", "go.mod"} {
		require.NoError(t, os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)))
	}
	build := []string{"build", "-o", programs + string(filepath.Separator)}
	for _, c := range commands {
		build = append(build, examplePath.FindString(c))
	}
	cmd := exec.CommandContext(t.Context(), "go", build...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	var all strings.Builder
	for _, c := range commands {
		from := examplePath.FindString(c)
		program := strings.Replace(c, "go run "+from, filepath.Join(programs, path.Base(from)), 1)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", program)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s\n%s", c, out)
		assert.NotEmpty(t, strings.TrimSpace(string(out)), c)
		all.Write(out)
	}
	return all.String()
}
