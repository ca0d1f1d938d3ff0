package graph_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// children has the functions of child processes by name. A test starts the test binary
// again as a child process, which calls the function instead of running tests.
var children = map[string]func(c *child) error{}

// A child is the state of a running child process.
type child struct {
	ctx   context.Context
	args  []string
	store *sqlitecheckpoint.Store
	in    *bufio.Scanner
}

// say writes the words as one line to the parent, in a single write.
func (c *child) say(words ...string) { _, _ = os.Stdout.WriteString(strings.Join(words, " ") + "\n") }

const (
	childName = "WEFT_TEST_CHILD"
	childFile = "WEFT_TEST_FILE"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(childName); name != "" {
		if err := runChild(name); err != nil {
			fmt.Fprintln(os.Stderr, name+":", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func runChild(name string) error {
	run := children[name]
	if run == nil {
		return fmt.Errorf("no child process is named %q", name)
	}
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, os.Getenv(childFile), sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	if err != nil {
		return err
	}
	defer store.Close()
	return run(&child{ctx: ctx, args: os.Args[1:], store: store, in: bufio.NewScanner(os.Stdin)})
}

// A process is the parent's handle of a child process.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err strings.Builder
}

// spawn starts the named child process on the SQLite store in file.
func spawn(t testing.TB, name, file string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	p := &process{cmd: exec.CommandContext(t.Context(), exe, args...)}
	// By default the race detector sleeps one second at every exit.
	p.cmd.Env = append(os.Environ(), childName+"="+name, childFile+"="+file, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(t, p.cmd.Start())
	return p
}

// line returns the child's next line of output.
func (p *process) line(t testing.TB) string {
	t.Helper()
	if !p.out.Scan() {
		_ = p.cmd.Wait()
		require.FailNow(t, "the child process ended early", "%v\n%s", p.out.Err(), p.err.String())
	}
	return p.out.Text()
}

// send writes a line to the child's standard input.
func (p *process) send(t testing.TB, line string) {
	t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	require.NoError(t, err)
}

// wait closes the child's input and waits for a successful exit without
// further output.
func (p *process) wait(t testing.TB) {
	t.Helper()
	_ = p.in.Close()
	var rest []string
	for p.out.Scan() {
		rest = append(rest, p.out.Text())
	}
	assert.Empty(t, rest, "unexpected output of the child process")
	err := p.cmd.Wait() // only then is p.err complete: Wait waits for the copying of stderr
	require.NoError(t, err, "stderr of the child process: %s", p.err.String())
}
