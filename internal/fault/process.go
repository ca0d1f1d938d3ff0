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

// Role returns the role of this process. It returns "" if [Spawn] did not start the process.
func Role() string { return os.Getenv(roleName) }

// A Process is a child process that runs the same program. Tests kill and stop it. Parent
// and child exchange lines of text on the standard input and output of the child.
type Process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr strings.Builder
	wait   func() error
}

// Spawn starts this program in a new process with a role. The end of ctx kills the process.
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

// Line returns the next line from the standard output of the process. It reports false if
// the process has closed its standard output.
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

// Wait waits until the process has exited. It reports whether SIGKILL ended the process. It
// returns an error with the standard error of the process if the process has failed.
func (p *Process) Wait() (killed bool, err error) {
	_ = p.in.Close() // an earlier call of Wait may have closed it already
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
