//go:build unix

package deep

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A Process is a [Runner] that runs commands with /bin/sh in a process of this machine, on systems of
// the Unix family. It sets the folder and the environment of a command, and limits its time, memory
// and output. It does not confine a command in other ways: a command can read and write all files
// that the user of this process can, and use the network. For commands that no person approves, use a
// container.
type Process struct {
	// Dir is the folder in which commands start. It has to be set.
	Dir string
	// Env is the whole environment, as in [exec.Cmd]. Nil means PATH only.
	Env []string
	// Timeout is the time after which a command and the processes of its group are killed. Zero means
	// one minute. When a command ends, the remaining processes of its group are killed too. A process
	// that starts a new session, for example with setsid, is not killed.
	Timeout time.Duration
	// MaxOutput is the maximum number of bytes of output. Of a longer output, only the end is kept.
	// Zero means 30,000.
	MaxOutput int
	// MaxMemory is the limit of the address space of each process, in bytes, on systems that have
	// such a limit. Zero means 4 GiB. A negative number means no limit.
	MaxMemory int64
}

var errTimeout = errors.New("the command took too long")

// Run runs a command; see [Runner]. If ctx ends, it returns the cause.
func (p Process) Run(ctx context.Context, command string) (Output, error) {
	if err := p.check(); err != nil {
		return Output{}, err
	}
	timeout := p.Timeout
	if timeout == 0 {
		timeout = time.Minute
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	memory := "unlimited"
	switch {
	case p.MaxMemory == 0:
		memory = fmt.Sprint(4 << 20)
	case p.MaxMemory > 0:
		memory = fmt.Sprint(p.MaxMemory >> 10)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `{ ulimit -c 0; ulimit -v "$1"; } 2>/dev/null; exec /bin/sh -c "$2"`, "sh", memory, command)
	cmd.Dir = p.Dir
	if cmd.Env = p.Env; cmd.Env == nil {
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	}
	out := &tail{limit: p.MaxOutput}
	if out.limit == 0 {
		out.limit = 30_000
	}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a process that left the group may hold the output open
	if err := cmd.Start(); err != nil {
		return Output{}, fmt.Errorf("deep: starting a command: %w", err)
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kill background processes; fails if there are none
	text, dropped := out.text()
	result := Output{Text: text, Code: cmd.ProcessState.ExitCode(), Dropped: dropped}
	_, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), errTimeout):
		result.Text += fmt.Sprintf("\n(killed after %v)", timeout)
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case err != nil && !failed && !errors.Is(err, exec.ErrWaitDelay):
		return result, fmt.Errorf("deep: a command: %w", err)
	}
	return result, nil
}

func (p Process) check() error {
	switch {
	case p.Dir == "":
		return errors.New("deep: Process.Dir is not set; set it to the folder in which commands start")
	case p.Timeout < 0 || p.MaxOutput < 0:
		return fmt.Errorf("deep: Process.Timeout is %v and MaxOutput is %d; neither may be negative", p.Timeout, p.MaxOutput)
	}
	return nil
}

// A tail keeps the last bytes that are written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	bytes []byte
	all   int
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all += len(data)
	if t.bytes = append(t.bytes, data...); len(t.bytes) > 2*t.limit {
		t.bytes = append(t.bytes[:0], t.bytes[len(t.bytes)-t.limit:]...)
	}
	return len(data), nil
}

// text returns the kept bytes as UTF-8, and the number of bytes before them.
func (t *tail) text() (string, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.bytes[max(0, len(t.bytes)-t.limit):]
	return strings.ToValidUTF8(string(kept), "�"), t.all - len(kept)
}
