//go:build unix

package fault_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// echo answers every line with the same.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wantNoErr(t, "close", l.Close()) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // it ends with the connection
			}()
		}
	}()
	return l
}

func TestProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fate    fault.Fate
		want    string
		wantErr error
	}{
		"passes":  {want: "hello\n"},
		"split":   {fate: fault.Fate{Split: true}, want: "hello\n"},
		"delayed": {fate: fault.Fate{Delay: 30 * time.Millisecond}, want: "hello\n"},
		"before":  {fate: fault.Fate{Cut: fault.Before}, wantErr: syscall.ECONNRESET},
		"inside":  {fate: fault.Fate{Cut: fault.Inside}, wantErr: syscall.ECONNRESET},
		"hole":    {fate: fault.Fate{Hole: true}, wantErr: os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := fault.NewProxy(echo(t).Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { wantNoErr(t, "close", p.Close()) }()
			p.Treat(func(d fault.Direction, _ []byte) fault.Fate {
				if d == fault.ToServer {
					return c.fate
				}
				return fault.Fate{}
			})
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			start := time.Now()
			wantNoErr(t, "deadline", conn.SetDeadline(start.Add(time.Second)))
			if _, err := io.WriteString(conn, "hello\n"); err != nil {
				t.Fatal(err)
			}
			got, err := bufio.NewReader(conn).ReadString('\n')
			if got != c.want && c.fate.Cut != fault.Inside || !errors.Is(err, c.wantErr) {
				t.Errorf("got %q, error %v want %q, %v", got, err, c.want, c.wantErr)
			}
			if took := time.Since(start); took < c.fate.Delay {
				t.Errorf("it took %v, want %v", took, c.fate.Delay)
			}
			if n := p.Accepted(); n != 1 {
				t.Errorf("got %d connections want 1", n)
			}
		})
	}
}

// A server that ends in any way has what was committed when it is back.
func TestServer(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pgtest.Do(t, s.URL(), `CREATE TABLE kept (n int)`)
	for n, how := range []fault.Stop{fault.Fast, fault.Immediate, fault.Kill} {
		pgtest.Do(t, s.URL(), fmt.Sprint(`INSERT INTO kept VALUES (`, n, `)`))
		if err := s.Stop(how); err != nil {
			t.Fatal(err)
		}
		if conn, err := net.Dial("tcp", s.Addr()); err == nil {
			t.Errorf("after %v: it still listens: %v", how, conn.Close())
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := pgtest.Ask[int](t, s.URL(), `SELECT count(*)::int FROM kept`); got != n+1 {
			t.Errorf("after %v: got %d rows want %d", how, got, n+1)
		}
	}
	if on := pgtest.Ask[string](t, s.URL(), `SHOW fsync`); on != "on" {
		t.Errorf("fsync is %s", on)
	}
}

func init() {
	roles["echo"] = func(_ context.Context, args []string) error {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(in.Text(), strings.Join(args, " "))
		}
		return nil
	}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		p, err := fault.Spawn(t.Context(), "echo", "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		wantNoErr(t, "tell", p.Tell("hello"))
		if got, ok := p.Line(); !ok || got != "hello a b" {
			t.Errorf("got %q, %t", got, ok)
		}
		if kill {
			wantNoErr(t, "kill", p.Signal(syscall.SIGKILL))
		}
		if killed, err := p.Wait(); killed != kill || err != nil {
			t.Errorf("got killed %t, error %v want %t", killed, err, kill)
		}
	}
}
