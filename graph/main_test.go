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

	"go.uber.org/goleak"

	"github.com/weft-go/weft/checkpoint/sqlitecheckpoint"
)

// children are what this binary does instead of its tests when it is started
// by one of them, in a process of its own.
var children = map[string]func(c *child) error{}

// A child is the side of a child process.
type child struct {
	ctx   context.Context
	args  []string
	store *sqlitecheckpoint.Store
	in    *bufio.Scanner
}

// say gives the parent a line, in one write.
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
		return fmt.Errorf("no such child")
	}
	ctx := context.Background()
	store, err := sqlitecheckpoint.Open(ctx, os.Getenv(childFile), sqlitecheckpoint.Options{Synchronous: sqlitecheckpoint.Normal})
	if err != nil {
		return err
	}
	defer store.Close()
	return run(&child{ctx: ctx, args: os.Args[1:], store: store, in: bufio.NewScanner(os.Stdin)})
}

// A process is the parent's side of a child process.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err strings.Builder
}

// spawn starts a child on the store in a file.
func spawn(t testing.TB, name, file string, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), exe, args...)}
	// Without that option the race detector makes every exit last a second.
	p.cmd.Env = append(os.Environ(), childName+"="+name, childFile+"="+file, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// line returns the child's next line.
func (p *process) line(t testing.TB) string {
	t.Helper()
	if !p.out.Scan() {
		_ = p.cmd.Wait()
		t.Fatalf("the child ended: %v\n%s", p.out.Err(), p.err.String())
	}
	return p.out.Text()
}

func (p *process) tell(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// wait lets the child end by itself.
func (p *process) wait(t testing.TB) {
	t.Helper()
	_ = p.in.Close()
	for p.out.Scan() {
		t.Errorf("the child says %q", p.out.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("the child failed: %v\n%s", err, p.err.String())
	}
}
