package mcptools_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// broken returns the test binary as a faulty server. mode selects the fault.
func broken(t testing.TB, mode string) mcptools.Command {
	t.Helper()
	c := serverCommand(t)
	c.Env = []string{modeKey + "=" + mode, quick}
	return c
}

func TestCommandGetsAnEnvironmentOfItsOwn(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, os.Getenv("WEFT_TEST_SECRET"), "TestMain must set the secret")
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	command := serverCommand(t)
	command.Dir, command.Env = folder, append(command.Env, "TOKEN=open sesame", "LANG=el")
	set := setOf(t, newClient(t, command, mcptools.Options{}))
	lines := strings.Split(strings.TrimPrefix(ask(t, set, "environment", ""), "success: "), "\n")
	assert.Equal(t, folder, lines[0])
	known := []string{
		"APPDATA", "COMSPEC", "GORACE", "HOME", "HOMEDRIVE", "HOMEPATH", "LANG", "LC_ALL", "LOCALAPPDATA", "LOGNAME", "PATH",
		"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PWD", "SHELL", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
		"TERM", "TMP", "TMPDIR", "TOKEN", "TZ", "USER", "USERNAME", "USERPROFILE", modeKey,
	}
	for _, line := range lines[1:] {
		key, _, _ := strings.Cut(line, "=")
		assert.Contains(t, known, key)
	}
	for _, want := range []string{"TOKEN=open sesame", "LANG=el", "PATH=" + os.Getenv("PATH")} {
		assert.Contains(t, lines, want)
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    mcptools.Endpoint
		want string
	}{
		{"missing", mcptools.Command{Path: "/no/such/program"}, `server "program": not available: fork/exec /no/such/program`},
		{"folder", mcptools.Command{Path: os.Args[0], Dir: "/no/such/folder"}, "no such"},
		{"broken", broken(t, "broken"), "exit status 2"},
		{"silent", broken(t, "silent"), "no answer within 300ms"},
		{"down", mcptools.HTTP{URL: "http://127.0.0.1:1/mcp"}, `server "127.0.0.1": not available`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := mcptools.Options{ConnectTimeout: soon}
			if tt.name == "silent" {
				o.ConnectTimeout = 300 * time.Millisecond
			}
			_, err := newClient(t, tt.e, o).Tools(within(t))
			require.ErrorIs(t, err, mcptools.ErrUnavailable)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// TestStandardError proves that the program gets the standard error of a server in errors
// and in the log, and that the model does not get it.
func TestStandardError(t *testing.T) {
	t.Parallel()
	_, err := newClient(t, broken(t, "broken"), mcptools.Options{}).Tools(within(t))
	require.ErrorContains(t, err, `xxx\nno config file`)
	assert.LessOrEqual(t, len(err.Error()), 5000)

	var also tailBuffer
	command := serverCommand(t)
	command.Stderr = &also
	var log tailBuffer
	c := newClient(t, command, mcptools.Options{Name: "desk", Logger: slog.New(slog.NewTextHandler(&log, nil))})
	set := setOf(t, c)
	var seen error
	answer, err := set.Call(within(t), callOf("crash", `{"text":""}`), tools.Options{
		OnError: func(_ llmCall, err error) (string, error) {
			seen = err
			return err.Error(), nil
		},
	})
	require.NoError(t, err)
	got := answer.Text()
	assert.NotContains(t, got, "out of paper")
	assert.Contains(t, got, "exit status 3")
	lost, ok := errors.AsType[*mcptools.ServerError](seen)
	require.True(t, ok)
	require.ErrorIs(t, seen, mcptools.ErrLost)
	assert.Contains(t, lost.Stderr, "desk is open\nout of paper\n")
	assert.Contains(t, also.String(), "out of paper")
	assert.NoError(t, c.Close())
	got = log.String()
	assert.Contains(t, got, `msg="mcp server lost" server=desk`)
	assert.Contains(t, got, "out of paper")
}

// TestDeafServer proves that a call times out if the server no longer reads its input, and
// that the next call restarts the server.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	set := setOf(t, newClient(t, serverCommand(t), mcptools.Options{}))
	assert.Equal(t, "success: what?", ask(t, set, "deafen", ""))
	// The text is longer than a pipe can hold. The timeout includes the time to encode it.
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	answer, err := set.Call(within(t), callOf("echo", long), tools.Options{Timeout: 3 * time.Second})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(answer.Text(), "timed out after 3s"))
	assert.Equal(t, "success: you said hi", ask(t, set, "echo", `{"text":"hi"}`))
}

// TestServerThatLeavesAChild proves that the end of a server is detected even if a child
// process keeps its pipes open.
func TestServerThatLeavesAChild(t *testing.T) {
	t.Parallel()
	set := setOf(t, newClient(t, serverCommand(t), mcptools.Options{}))
	assert.Contains(t, ask(t, set, "leave", ""), "exit status 4")
	assert.Equal(t, "success: you said hi", ask(t, set, "echo", `{"text":"hi"}`))
}

func TestCloseEndsTheServer(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"stdio", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, broken(t, mode), mcptools.Options{})
			set := setOf(t, c)
			begun, failed := make(chan struct{}), make(chan error, 1)
			go func() {
				o := tools.Options{Timeout: -1, OnError: tools.ReturnErrors, Emit: func(_ ctxt, v any) {
					if p, ok := v.(tools.Progress); ok && p.Done == 3 {
						close(begun)
					}
				}}
				_, err := set.Call(t.Context(), callOf("slow", ""), o)
				failed <- err
			}()
			<-begun
			assert.NoError(t, c.Close())
			assert.ErrorIs(t, <-failed, mcptools.ErrClosed)
			_, err := c.Tools(within(t))
			assert.ErrorIs(t, err, mcptools.ErrClosed)
		})
	}
}
