package mcptools

import (
	"context"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// patience is the time that a server has to end after its input is closed, and again after
// SIGTERM. Then it is killed.
const patience = 2 * time.Second

// passedOn has the names of the environment variables that a server gets. The key true is
// for Windows.
var passedOn = map[bool][]string{
	false: {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"},
	true: {
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	},
}

// environment returns the environment of the server.
func (c Command) environment() []string {
	env := []string{} // not nil, because a nil Env means the whole environment
	for _, key := range passedOn[runtime.GOOS == "windows"] {
		// Do not pass on shell functions, because their values are code.
		if value, ok := os.LookupEnv(key); ok && !strings.HasPrefix(value, "()") {
			env = append(env, key+"="+value)
		}
	}
	return append(env, c.Env...)
}

// open starts the program.
func (c Command) open(context.Context) (*link, error) {
	running, kill := context.WithCancel(context.Background())
	p := &process{cmd: exec.CommandContext(running, c.Path, c.Args...), kill: kill, ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Dir = c.environment(), c.Dir
	p.cmd.Stderr = &p.stderr
	if c.Stderr != nil {
		p.cmd.Stderr = io.MultiWriter(&p.stderr, c.Stderr)
	}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = patience
	if err := p.start(); err != nil {
		kill()
		return nil, err
	}
	return &link{
		transport: &mcp.IOTransport{Reader: output{p}, Writer: input{p}, MaxLineLength: maxFrame},
		mortal:    true,
		sever:     p.sever,
		release:   p.release,
		forgotten: func() bool { return false },
		stderr:    p.stderr.String,
	}, nil
}

// A process is the running program of a [Command].
type process struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc
	stdin  io.WriteCloser
	stdout *os.File
	stderr tail

	closing sync.Once
	ended   chan struct{} // closed when the process has ended and err is set
	err     error
}

func (p *process) start() (err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	// StdoutPipe does not work here, because Wait closes it: the end of the process must be
	// detected even if a child process holds the pipe open.
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.stdout = write, read
	err = p.cmd.Start()
	closed := write.Close()
	if err == nil {
		err = closed
	}
	if err != nil {
		_ = read.Close()
		return err
	}
	go p.wait()
	return nil
}

// wait waits for the end of the process and sets err. release waits for it.
func (p *process) wait() {
	defer close(p.ended)
	p.err = p.cmd.Wait()
	p.kill()
	// The remaining output can still be read until this deadline.
	_ = p.stdout.SetReadDeadline(time.Now().Add(patience / 4))
}

// close closes the input of the process, and stops the process if it does not end soon. It
// does not wait.
func (p *process) close() (err error) {
	p.closing.Do(func() {
		time.AfterFunc(patience, p.kill)
		err = p.stdin.Close()
	})
	return err
}

// sever kills the process.
func (p *process) sever() {
	_ = p.cmd.Process.Kill()
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}

// release closes the input of the process, waits for its end, and returns its exit error.
func (p *process) release() error {
	_ = p.close()
	<-p.ended
	_ = p.stdout.Close()
	return p.err
}

// An input is the standard input of a process, for a transport.
type input struct{ *process }

func (p input) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p input) Close() error                { return p.close() }

// An output is the standard output of a process, for a transport.
type output struct{ *process }

func (p output) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Close does nothing: release closes the output.
func (p output) Close() error { return nil }

// A tail keeps the last maxTail bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// maxTail is the size of a tail in bytes.
const maxTail = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-maxTail):]...)
	if over := len(t.kept) - maxTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.kept), "")
}
