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

// Role says what this process was started for by [Spawn]; it is empty for a process
// that was not.
func Role() string { return os.Getenv(roleName) }

// A Process is this program once more, to be killed. It is spoken with in lines.
type Process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	said strings.Builder // on its standard error
	wait func() error
}

// Spawn starts this program in a role. It ends with ctx.
func Spawn(ctx context.Context, role string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("fault: spawn: %w", err)
	}
	p := &Process{cmd: exec.CommandContext(ctx, self, args...)}
	// Without that option the race detector makes every exit last a second.
	p.cmd.Env = append(os.Environ(), roleName+"="+role, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.said
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

// Line returns the next line that the process writes; false says that it has ended.
func (p *Process) Line() (string, bool) {
	if !p.out.Scan() {
		return "", false
	}
	return p.out.Text(), true
}

// Tell writes a line to the process.
func (p *Process) Tell(words ...string) error {
	_, err := io.WriteString(p.in, strings.Join(words, " ")+"\n")
	return err
}

// Signal sends it a signal, such as SIGKILL, SIGSTOP and SIGCONT.
func (p *Process) Signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// Wait waits until it has ended, and reports whether it was killed. Any other end
// but success is an error, with what the process said.
func (p *Process) Wait() (killed bool, err error) {
	_ = p.in.Close() // it may have closed it
	err = p.wait()
	if err == nil {
		return false, nil
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true, nil
	}
	return false, fmt.Errorf("fault: process: %w: %s", err, p.said.String())
}
