package terminal

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// begun is a program that was started, and has written a line.
type begun struct {
	folder
	cmd  *exec.Cmd
	errs bytes.Buffer
	rest *bufio.Reader
}

// start starts the program and reads its output up to a line that contains until.
func (f folder) start(until string, args ...string) *begun {
	f.t.Helper()
	b := &begun{folder: f, cmd: f.program(f.args(args)...)}
	pipe, err := b.cmd.StdoutPipe()
	require.NoError(f.t, err)
	b.cmd.Stderr = &b.errs
	require.NoError(f.t, b.cmd.Start())
	b.rest = bufio.NewReader(pipe)
	for {
		line, err := b.rest.ReadString('\n')
		if strings.Contains(line, until) {
			return b
		}
		require.NoError(f.t, err, "the program ended before it wrote %q: %s", until, &b.errs)
	}
}

// end signals the program and waits for it.
func (b *begun) end(sig os.Signal) outcome {
	b.t.Helper()
	require.NoError(b.t, b.cmd.Process.Signal(sig))
	out, err := io.ReadAll(b.rest)
	require.NoError(b.t, err)
	err = b.cmd.Wait()
	require.NotNil(b.t, b.cmd.ProcessState, "%v", err)
	return outcome{b.cmd.ProcessState.ExitCode(), string(out), b.errs.String()}
}

func TestApprovalInAnotherProcess(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.write("README.md", text)
	// All defaults: the README, the database and the notes are in the folder.
	o := f.finish(f.program("-v", "save a note that looms are big"))
	require.Equal(t, done, o.status, o.err)
	wantAll(t, o.out, "-resume yes", "README.md (9 lines)")
	f.check(f.finish(f.program("hello")), refused, "waits for your answer")
	o = f.finish(f.program("-resume", "yes"))
	assert.Equal(t, done, o.status, o.err)
	wantAll(t, o.out, "Saved in ")
	assert.Regexp(t, "^- looms are big\n", f.read(notesFile))
	f.check(f.finish(f.program("-resume", "yes")), refused, "waits for no answer")
}

func TestBusy(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	// The program waits an hour before the first word of its answer.
	b := f.start("agent calls ", "-pace", "1h", "how many lines?")
	f.refuse("is in use by another run", "hello")
	f.refuse("is in use by another run")
	wantAll(t, f.ask("-history"), "user: how many lines?")
	wantAll(t, f.ask("-thread", "other", "-file", f.path("text.md"), "how many lines?"), "The file has 9 lines")
	b.end(os.Kill)
	out := f.ask()
	wantAll(t, out, "The file has 9 lines")
	assert.Len(t, f.ids(), 4, "checkpoints")
	f.refuse("nothing is unfinished")
}

// A question after a killed run leaves that run unfinished.
func TestKilledThenAsked(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	f.start("count_words returns ", "-pace", "1h", "how many lines?").end(os.Kill)
	wantAll(t, f.ask("what is a loom?"), "stays unfinished", "A loom is a frame")
	wantAll(t, f.ask("-history"), "user: how many lines?", "calls count_words")
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	f := newFolder(t)
	o := f.start("count_words returns ", "-pace", "1h", "how many lines?").end(os.Interrupt)
	f.check(o, stopped, "stopped; to resume: ")
	wantNone(t, o.out, "failed")
	out := f.ask()
	wantAll(t, out, "The file has 9 lines")
	wantNone(t, out, "calls")
}
