package terminal

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/examples/quickstart/internal/offline"
	"github.com/weft-go/weft/llm"
)

// asProgram names the variable that makes the test binary run the program, so that a test can start
// it in another process.
const asProgram = "QUICKSTART_TEST_AS_PROGRAM"

// quickstart is the program that the tests run.
var quickstart = Program{
	Command: "examples/quickstart",
	Models:  "Rules answer.",
	Model: func(_ context.Context, pace time.Duration) (llm.Model, string, error) {
		return offline.Model{Pace: pace}, "offline: rules", nil
	},
	Hint: "-v shows more.",
}

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		quickstart.Main()
		return
	}
	for name, value := range map[string]string{"NO_COLOR": "", "TERM": "xterm"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// text is the file that most tests ask about.
const text = `# Weaving

A loom is a frame for weaving cloth.
The weft goes over and under the warp.

## Shuttles

The shuttle carries the weft.
A weaver throws the shuttle by hand.
`

// folder is the folder of a test with its conversations.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) folder {
	t.Helper()
	f := folder{t, t.TempDir()}
	f.write("text.md", text)
	return f
}

func (f folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f folder) write(name, content string) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(f.path(name), []byte(content), 0o600))
}

func (f folder) read(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(f.path(name))
	if !os.IsNotExist(err) {
		require.NoError(f.t, err)
	}
	return string(data)
}

// outcome is the exit status and the output of a run of the program.
type outcome struct {
	status   int
	out, err string
}

// args adds -v, the database, and for the first question the file.
func (f folder) args(args []string) []string {
	args = append([]string{"-v", "-db", f.path("q.db")}, args...)
	if _, err := os.Stat(f.path("q.db")); err != nil {
		args = append([]string{"-file", f.path("text.md")}, args...)
	}
	return args
}

// run runs the program in this process.
func (f folder) run(args ...string) outcome {
	f.t.Helper()
	return f.runWith(f.t.Context(), strings.NewReader(""), args...)
}

func (f folder) runWith(ctx context.Context, in io.Reader, args ...string) outcome {
	f.t.Helper()
	var out, errs bytes.Buffer
	status := quickstart.Run(ctx, f.args(args), in, &out, &errs)
	return outcome{status, out.String(), errs.String()}
}

// ask runs the program and requires success.
func (f folder) ask(args ...string) string {
	f.t.Helper()
	o := f.run(args...)
	require.Equal(f.t, done, o.status, "%q: %s\n%s", args, o.err, o.out)
	require.Empty(f.t, o.err, "%q", args)
	return o.out
}

// refuse runs the program and wants status 2 and one line that holds want.
func (f folder) refuse(want string, args ...string) {
	f.t.Helper()
	f.check(f.run(args...), refused, want)
}

func (f folder) check(o outcome, status int, want string) {
	f.t.Helper()
	assert.Equal(f.t, status, o.status, "%s%s", o.out, o.err)
	assert.Contains(f.t, o.err, want)
	assert.Regexp(f.t, `^quickstart: .*\n$`, o.err, "want one line")
	if status == refused {
		assert.Empty(f.t, o.out)
	}
}

// program runs the program in a process of its own.
func (f folder) program(args ...string) *exec.Cmd {
	f.t.Helper()
	cmd := exec.CommandContext(f.t.Context(), os.Args[0], args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

func (f folder) finish(cmd *exec.Cmd) outcome {
	f.t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	require.NotNil(f.t, cmd.ProcessState, "%v", err)
	return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func wantAll(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.Contains(t, got, part)
	}
}

func wantNone(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		assert.NotContains(t, got, part)
	}
}

var (
	anID   = regexp.MustCompile(`\b[0-9a-f]{10}\b`)
	aTime  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	anyEnd = regexp.MustCompile(`[ \t]+\n`)
)

// golden replaces the parts of an output that differ each time: the folder, ids, times and spaces
// at the end of lines.
func (f folder) golden(out string) string {
	out = strings.ReplaceAll(out, f.dir, "DIR")
	out = anID.ReplaceAllString(out, "ID")
	out = aTime.ReplaceAllString(out, "TIME")
	return anyEnd.ReplaceAllString(out, "\n")
}

// ids returns the ids of the checkpoints that -history lists, newest first.
func (f folder) ids(args ...string) []string {
	f.t.Helper()
	var ids []string
	for line := range strings.Lines(f.ask(append(args, "-history")...)) {
		if id := anID.FindString(line); strings.HasPrefix(line, id) && id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
