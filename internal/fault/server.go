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

// Chown makes the user of the server the owner of path.
func (s *Server) Chown(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// Addr returns the host and port of the server.
func (s *Server) Addr() string { return fmt.Sprint("127.0.0.1:", s.port) }

// URL returns the connection URL of the database postgres.
func (s *Server) URL() string { return "postgres://postgres@" + s.Addr() + "/postgres?sslmode=disable" }

// Start starts the server and returns when it accepts connections.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		err := s.launch()
		if err == nil {
			err = s.waitReady(ctx)
		}
		if err == nil {
			return nil
		}
		// Other processes of a killed server may still use its shared memory.
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
	for {
		conn, err := pgx.Connect(ctx, s.URL())
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.exited:
			s.cmd = nil
			return err
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Stop stops the server and waits until it has exited. Stop does nothing if the server
// is down.
func (s *Server) Stop(how Stop) error {
	if s.cmd == nil {
		return nil
	}
	if err := s.cmd.Process.Signal(how); err != nil {
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
