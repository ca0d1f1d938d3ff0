package docs

import (
	_ "embed"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

//go:embed record.sh
var record string

// given lists the environment variables that the blocks use.
var given = []string{
	"T=11111111-1111-4111-8111-111111111111", "THREAD=11111111-1111-4111-8111-111111111111",
	"WEFT_SERVER=http://127.0.0.1:8123", "WEFT_TOKEN=token", "DATABASE_URL=postgres://h/d", "HOME=/home/ann",
}

// ownPrograms matches programs that a block calls by their paths: programs of the repository, and programs that
// the block installs.
var ownPrograms = regexp.MustCompile(`(?:scripts|venv/bin)/\w+`)

// commandsOf returns the commands of a block with their arguments, as bash reads them.
func commandsOf(t *testing.T, at, text string) (commands [][]string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range ownPrograms.FindAllString(text, -1) {
		text = strings.ReplaceAll(text, name, strings.ReplaceAll(name, "/", "\u2215")) // bash calls the handler only for names without a slash
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-c", record, "record", text)
	cmd.Dir, cmd.Env = dir, given
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", at, &errs)
	assert.Empty(t, errs.String(), at)
	for line := range strings.Lines(string(out)) {
		argv := strings.Split(strings.TrimSuffix(line, "\n"), "\x1f")
		argv[0] = strings.ReplaceAll(argv[0], "\u2215", "/")
		commands = append(commands, argv)
	}
	return commands
}

// TestCommandsInDocumentsExist proves that bash can read each block of commands, and that the programs, packages,
// flags, targets, files and routes in the block exist. A test of cmd/weft checks the commands of weft.
func TestCommandsInDocumentsExist(t *testing.T) {
	t.Parallel()
	c := newChecker(t)
	total := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.language != "sh" || b.source != "" {
				continue // TestEachBlockOfCodeIsProved requires a test of a quoted block
			}
			at := d.path + ":" + strconv.Itoa(b.line)
			commands := commandsOf(t, at, b.text)
			total += len(commands)
			for _, argv := range commands {
				if problem := c.check(d, argv); problem != "" {
					t.Errorf("%s: %s: %s", at, strings.Join(argv, " "), problem)
				}
			}
		}
	}
	assert.Greater(t, total, 150, "the test finds commands")
}
