//go:build unix

package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Stop is the signal that stops a server.
type Stop = syscall.Signal

// A Stop has one of these values.
const (
	Fast      Stop = syscall.SIGINT  // disconnects the clients and shuts down cleanly
	Immediate Stop = syscall.SIGQUIT // disconnects the clients without a shutdown checkpoint
	Kill      Stop = syscall.SIGKILL // kills the server; clients get no message
)

// A Server is a PostgreSQL server with a separate data folder and port. It runs with fsync
// on. Its methods must not be called concurrently.
type Server struct {
	programs string
	data     string
	port     int
	started  bool                // the port does not change after the first start
	owner    *syscall.Credential // nil unless this process is root, since PostgreSQL refuses to run as root
	cmd      *exec.Cmd           // nil while the server is down
	exited   chan struct{}       // closed when cmd has ended
}

// NewServer creates a server in a new folder below dir. The arguments settings are lines of its
// configuration file. [Server.Start] starts the server, and [Server.Close] removes it.
func NewServer(ctx context.Context, dir, programs string, settings ...string) (*Server, error) {
	s := &Server{programs: programs}
	err := s.prepare(ctx, dir, settings)
	if err != nil {
		err = errors.Join(fmt.Errorf("fault: server: %w", err), s.Close())
	}
	return s, err
}

func (s *Server) prepare(ctx context.Context, dir string, settings []string) (err error) {
	if s.data, err = os.MkdirTemp(dir, "postgres-"); err != nil {
		return err
	}
	if os.Getuid() == 0 {
		if s.owner, err = nobody(); err != nil {
			return err
		}
	}
	if err = s.Chown(s.data); err != nil {
		return err
	}
	s.port = randomPort()
	cmd := s.command(ctx, "initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	settings = append([]string{
		"listen_addresses='127.0.0.1'", "unix_socket_directories=''", "jit=off",
		"max_connections=200", "fsync=on", "logging_collector=off",
	}, settings...)
	return os.WriteFile(filepath.Join(s.data, "postgresql.auto.conf"), []byte(strings.Join(settings, "\n")+"\n"), 0o644)
}

func nobody() (*syscall.Credential, error) {
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// randomPort returns a port below the ports that systems give to listeners on port 0 and to
// connections of clients. So no such socket takes the port while the server is down.
func randomPort() int { return 10_000 + rand.IntN(20_000) }

func (s *Server) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, program), args...)
	cmd.Dir = filepath.Dir(s.data)
	if s.owner != nil {
		cmd.Dir = "/"
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "LANG=", "LANGUAGE=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return cmd
}

// Chown makes the user of the server the owner of path.
func (s *Server) Chown(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// Addr returns the host and port of the server. They are known after the first start.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// URL returns the connection URL of the database postgres. It is known after the first start.
func (s *Server) URL() string { return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable" }

// Start starts the server and returns when it accepts connections. If the port is taken, the
// first start chooses another port. A later start waits at most a minute for the port.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.launch()
		if err == nil {
			err = s.waitReady(ctx)
		}
		if err == nil {
			s.started = true
			return nil
		}
		if !s.started {
			s.port = randomPort()
		}
		// Other processes of a killed server may still use its shared memory.
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("fault: server: start: %w: %w; the log is in %s", ctx.Err(), err, s.log())
		}
	}
}

func (s *Server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd := s.command(context.Background(), "postgres", "-D", s.data, "-p", strconv.Itoa(s.port))
	cmd.Stdout, cmd.Stderr = log, log
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return err
	}
	exited := make(chan struct{})
	s.cmd, s.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // the exit status does not matter
		close(exited)
	}()
	return nil
}

// waitReady waits until the server accepts connections. It returns an error if the server
// has exited.
func (s *Server) waitReady(ctx context.Context) error {
	for !s.ready() {
		select {
		case <-s.exited:
			s.cmd = nil
			return errors.New("the server has exited")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.Stop(Kill))
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// ready reports whether the server accepts connections. A connection would not show this,
// since another program may have the port. So ready reads the process id and the status, which are
// the lines 1 and 8 of the file postmaster.pid.
func (s *Server) ready() bool {
	b, err := os.ReadFile(filepath.Join(s.data, "postmaster.pid"))
	lines := strings.Split(string(b), "\n")
	return err == nil && len(lines) >= 8 && lines[0] == strconv.Itoa(s.cmd.Process.Pid) && strings.TrimSpace(lines[7]) == "ready"
}

// Stop stops the server and waits until it has exited. Stop does nothing if the server
// is down.
func (s *Server) Stop(how Stop) error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(how); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("fault: server: stop: %w", err)
	}
	<-s.exited
	s.cmd = nil
	return nil
}

// Log returns the log of the server.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) log() string { return s.data + ".log" }

// Close stops the server and removes its folder.
func (s *Server) Close() error {
	if s.data == "" {
		return nil
	}
	err := s.Stop(Immediate)
	for range 50 { // processes of a killed server may still write files
		if removed := errors.Join(os.RemoveAll(s.data), os.RemoveAll(s.log())); removed == nil {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}
	return errors.Join(err, fmt.Errorf("fault: server: cannot remove %s", s.data))
}
