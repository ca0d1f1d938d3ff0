//go:build unix

package fault_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/internal/fault"
	"github.com/weft-go/weft/internal/pgtest"
)

// echo starts a server that sends back everything that it receives.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close(), "close") })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // ends with the connection
			}()
		}
	}()
	return l
}

func TestProxyAppliesActions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		action  fault.Action
		want    string
		wantErr error
	}{
		"passes":    {want: "hello\n"},
		"split":     {action: fault.Action{Split: true}, want: "hello\n"},
		"delayed":   {action: fault.Action{Delay: 30 * time.Millisecond}, want: "hello\n"},
		"before":    {action: fault.Action{Cut: fault.Before}, wantErr: syscall.ECONNRESET},
		"inside":    {action: fault.Action{Cut: fault.Inside}, wantErr: syscall.ECONNRESET},
		"blackhole": {action: fault.Action{Blackhole: true}, wantErr: os.ErrDeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := fault.NewProxy(echo(t).Addr().String())
			require.NoError(t, err)
			defer func() { assert.NoError(t, p.Close(), "close") }()
			p.Intercept(func(d fault.Direction, _ []byte) fault.Action {
				if d == fault.ToServer {
					return c.action
				}
				return fault.Action{}
			})
			conn, err := net.Dial("tcp", p.Addr())
			require.NoError(t, err)
			defer conn.Close()
			start := time.Now()
			assert.NoError(t, conn.SetDeadline(start.Add(time.Second)), "deadline")
			_, err = io.WriteString(conn, "hello\n")
			require.NoError(t, err)
			got, err := bufio.NewReader(conn).ReadString('\n')
			require.ErrorIs(t, err, c.wantErr)
			if c.action.Cut != fault.Inside { // half of the line may or may not arrive
				assert.Equal(t, c.want, got)
			}
			assert.GreaterOrEqual(t, time.Since(start), c.action.Delay)
			assert.Equal(t, 1, p.Accepted(), "connections")
		})
	}
}

func TestServerKeepsCommittedRowsAfterEachKindOfStop(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pgtest.Do(t, s.URL(), `CREATE TABLE kept (n int)`)
	for n, how := range []fault.Stop{fault.Fast, fault.Immediate, fault.Kill} {
		pgtest.Do(t, s.URL(), fmt.Sprint(`INSERT INTO kept VALUES (`, n, `)`))
		require.NoError(t, s.Stop(how))
		if conn, err := net.Dial("tcp", s.Addr()); !assert.Error(t, err, "a connection after %v", how) {
			assert.NoError(t, conn.Close())
		}
		require.NoError(t, s.Start(t.Context()))
		assert.Equal(t, n+1, pgtest.Ask[int](t, s.URL(), `SELECT count(*)::int FROM kept`), "rows after %v", how)
	}
	assert.Equal(t, "on", pgtest.Ask[string](t, s.URL(), `SHOW fsync`), "fsync")
}

func init() {
	roles["echo"] = func(_ context.Context, args []string) error {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			fmt.Println(in.Text(), strings.Join(args, " "))
		}
		return nil
	}
}

func TestProcessExchangesLinesAndReportsKills(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		p, err := fault.Spawn(t.Context(), "echo", "a", "b")
		require.NoError(t, err)
		assert.NoError(t, p.Send("hello"), "tell")
		got, ok := p.Line()
		assert.True(t, ok)
		assert.Equal(t, "hello a b", got)
		if kill {
			assert.NoError(t, p.Signal(syscall.SIGKILL), "kill")
		}
		killed, err := p.Wait()
		require.NoError(t, err)
		assert.Equal(t, kill, killed)
	}
}
