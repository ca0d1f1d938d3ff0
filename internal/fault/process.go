//go:build unix

package fault

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

const roleName = "WEFT_FAULT_ROLE"

// Role returns the role with which [Spawn] started this process. It is empty if Spawn
// did not start this process.
func Role() string { return os.Getenv(roleName) }

// A Process is another process of this program, for tests that kill or stop it. The
// two processes exchange lines of text on standard input and output.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
	wait   func() error
}

// Spawn starts this program in a role. The process is killed when ctx ends.
func Spawn(ctx context.Context, role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("fault: spawn: %w", err)
	}
	p := &Process{cmd: exec.CommandContext(ctx, self, args...)}
	// Without this option the race detector delays every exit by a second.
	p.cmd.Env = append(os.Environ(), roleName+"="+role, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("fault: spawn: %w", err)
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("fault: spawn: %w", err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("fault: spawn: %w", err)
	}
	p.wait = sync.OnceValue(p.cmd.Wait)
	return p, nil
}

// Line returns the next line that the process writes to its standard output. It
// reports false if the process has closed its standard output.
func (p *Process) Line() (string, bool) {
	if !p.out.Scan() {
		return "", false
	}
	return p.out.Text(), true
}

// Send writes a line of words to the standard input of the process.
func (p *Process) Send(words ...string) error {
	_, err := io.WriteString(p.in, strings.Join(words, " ")+"\n")
	return err
}

// Signal sends the process a signal, such as SIGKILL, SIGSTOP or SIGCONT.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Wait waits until the process has exited, and reports whether SIGKILL ended it. Any
// other unsuccessful exit is an error that contains the standard error of the process.
func (p *Process) Wait() (killed bool, err error) {
	_ = p.in.Close() // the process may have closed it already
	err = p.wait()
	if err == nil {
		return false, nil
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true, nil
	}
	return false, fmt.Errorf("fault: process: %w: %s", err, p.stderr.String())
}
