//go:build unix

package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Stop is how a server ends.
type Stop = syscall.Signal

// The ways to end.
const (
	Fast      Stop = syscall.SIGINT  // clients are told, and all is put in order
	Immediate Stop = syscall.SIGQUIT // clients are told, and nothing is put in order
	Kill      Stop = syscall.SIGKILL // nobody is told anything
)

// A Server is a PostgreSQL with a folder and a port of its own, which waits for the
// disk. Its methods are for one goroutine at a time.
type Server struct {
	programs string
	data     string
	port     int
	owner    *syscall.Credential // a server refuses to be root
	cmd      *exec.Cmd           // nil while it is down
	gone     chan struct{}       // closed when cmd has ended
}

// NewServer makes a server in a folder below dir. Settings are lines of its
// configuration. [Server.Start] starts it, and Close removes it.
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
	if err = s.Own(s.data); err != nil {
		return err
	}
	if s.port, err = freePort(); err != nil {
		return err
	}
	cmd := s.command(ctx, "initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	settings = append([]string{
		fmt.Sprint("port=", s.port), "listen_addresses='127.0.0.1'", "unix_socket_directories=''", "jit=off",
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

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

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

// Own gives a folder to the one who owns the server.
func (s *Server) Own(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// Addr is host and port.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// URL is that of the database postgres.
func (s *Server) URL() string { return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable" }

// Start starts the server, and returns when it answers.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.launch()
		if err == nil {
			err = s.await(ctx)
		}
		if err == nil {
			return nil
		}
		// The children of one that was killed may still be about to notice.
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("fault: server: start: %w: %w", ctx.Err(), err)
		}
	}
}

func (s *Server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd := s.command(context.Background(), "postgres", "-D", s.data)
	cmd.Stdout, cmd.Stderr = log, log
	err = errors.Join(cmd.Start(), log.Close())
	if err != nil {
		return err
	}
	gone := make(chan struct{})
	s.cmd, s.gone = cmd, gone
	go func() {
		_ = cmd.Wait() // however it ended
		close(gone)
	}()
	return nil
}

// await returns when the server answers, or has ended.
func (s *Server) await(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.gone:
			s.cmd = nil
			return err
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop ends the server, and waits until it has. It does nothing to one that is down.
func (s *Server) Stop(how Stop) error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(how); err != nil {
		return fmt.Errorf("fault: server: stop: %w", err)
	}
	<-s.gone
	s.cmd = nil
	return nil
}

// Log returns what the server has said.
func (s *Server) Log() string {
	b, err := os.ReadFile(s.log())
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (s *Server) log() string { return s.data + ".log" }

// Close stops the server, and removes it.
func (s *Server) Close() error {
	if s.data == "" {
		return nil
	}
	err := s.Stop(Immediate)
	for range 50 { // children of one that was killed may still be at it
		if removed := errors.Join(os.RemoveAll(s.data), os.RemoveAll(s.log())); removed == nil {
			return err
		}
		<-time.After(100 * time.Millisecond)
	}
	return errors.Join(err, fmt.Errorf("fault: server: %s is left", s.data))
}
