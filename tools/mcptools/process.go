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

// patience is how long a server has to end when its input is closed, and again
// when it is told to end, before it is killed.
const patience = 2 * time.Second

// passedOn are the variables that a server gets of this program's environment.
var passedOn = map[bool][]string{
	false: {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "TZ", "TMPDIR"},
	true: {
		"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "PROCESSOR_ARCHITECTURE",
		"PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	},
}

// environment returns that of a server.
func (c Command) environment() []string {
	env := []string{} // nil would mean all of it
	for _, key := range passedOn[runtime.GOOS == "windows"] {
		// A value that is a function is one of a shell, and code.
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

// A process is a server that runs as a program.
type process struct {
	cmd    *exec.Cmd
	kill   context.CancelFunc
	stdin  io.WriteCloser
	stdout *os.File
	stderr tail

	closing sync.Once
	ended   chan struct{} // closed when it is over, and err is set
	err     error
}

func (p *process) start() (err error) {
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	// Not a StdoutPipe, which may not be read once the program was waited for:
	// its end has to be known even if a child of it holds the pipe open.
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

// wait sees to the end of the process. It is waited for by release.
func (p *process) wait() {
	defer close(p.ended)
	p.err = p.cmd.Wait()
	p.kill()
	// What it wrote before it ended can still be read, and then there is an end.
	_ = p.stdout.SetReadDeadline(time.Now().Add(patience / 4))
}

// close tells the process to end, and does not wait for it.
func (p *process) close() (err error) {
	p.closing.Do(func() {
		time.AfterFunc(patience, p.kill)
		err = p.stdin.Close()
	})
	return err
}

// sever ends the process at once.
func (p *process) sever() {
	_ = p.cmd.Process.Kill()
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}

// release waits for the end of the process.
func (p *process) release() error {
	_ = p.close()
	<-p.ended
	_ = p.stdout.Close()
	return p.err
}

// An input is the standard input of a process, as a transport sees it.
type input struct{ *process }

func (p input) Write(b []byte) (int, error) { return p.stdin.Write(b) }
func (p input) Close() error                { return p.close() }

// An output is the standard output of a process, as a transport sees it.
type output struct{ *process }

func (p output) Read(b []byte) (int, error) { return p.stdout.Read(b) }

// Close does nothing: the output is closed with the process.
func (p output) Close() error { return nil }

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// maxTail is how many bytes a tail keeps.
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
