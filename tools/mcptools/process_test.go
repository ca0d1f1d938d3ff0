package mcptools_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// broken is the test binary as a server that does not do what it should.
func broken(t testing.TB, mode string) mcptools.Command {
	t.Helper()
	c := deskCommand(t)
	c.Env = []string{modeKey + "=" + mode, quick}
	return c
}

func TestCommandGetsAnEnvironmentOfItsOwn(t *testing.T) {
	t.Parallel()
	if os.Getenv("WEFT_TEST_SECRET") == "" {
		t.Fatal("there is no secret to keep")
	}
	folder, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command := deskCommand(t)
	command.Dir, command.Env = folder, append(command.Env, "TOKEN=open sesame", "LANG=el")
	set := setOf(t, newClient(t, command, mcptools.Options{}))
	lines := strings.Split(strings.TrimPrefix(ask(t, set, "environment", ""), "success: "), "\n")
	expect(t, lines[0], folder)
	known := []string{
		"APPDATA", "COMSPEC", "GORACE", "HOME", "HOMEDRIVE", "HOMEPATH", "LANG", "LC_ALL", "LOCALAPPDATA", "LOGNAME", "PATH",
		"PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PWD", "SHELL", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP",
		"TERM", "TMP", "TMPDIR", "TOKEN", "TZ", "USER", "USERNAME", "USERPROFILE", modeKey,
	}
	for _, line := range lines[1:] {
		if key, _, _ := strings.Cut(line, "="); !slices.Contains(known, key) {
			t.Errorf("the server has %s", key)
		}
	}
	for _, want := range []string{"TOKEN=open sesame", "LANG=el", "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(lines, want) {
			t.Errorf("the server has no %s in %q", want, lines)
		}
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
			if !errors.Is(err, mcptools.ErrUnavailable) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// What a server writes to its standard error is for the program, and not for the
// model.
func TestStandardError(t *testing.T) {
	t.Parallel()
	_, err := newClient(t, broken(t, "broken"), mcptools.Options{}).Tools(within(t))
	if !strings.Contains(fmt.Sprint(err), `xxx\nno config file`) || len(err.Error()) > 5000 {
		t.Errorf("got %v, want the end of its standard error", err)
	}

	var also tailBuffer
	command := deskCommand(t)
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
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Text(); strings.Contains(got, "out of paper") || !strings.Contains(got, "exit status 3") {
		t.Errorf("the model is told %q", got)
	}
	lost, ok := errors.AsType[*mcptools.ServerError](seen)
	if !ok || !errors.Is(seen, mcptools.ErrLost) || !strings.Contains(lost.Stderr, "desk is open\nout of paper\n") {
		t.Errorf("got %#v", seen)
	}
	if got := also.String(); !strings.Contains(got, "out of paper") {
		t.Errorf("the writer was given %q", got)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if got := log.String(); !strings.Contains(got, `msg="mcp server lost" server=desk`) || !strings.Contains(got, "out of paper") {
		t.Errorf("the log has %q", got)
	}
}

// A server that no longer reads what it is sent does not hold a call up.
func TestDeafServer(t *testing.T) {
	t.Parallel()
	set := setOf(t, newClient(t, deskCommand(t), mcptools.Options{}))
	expect(t, ask(t, set, "deafen", ""), "success: what?")
	// More than a pipe holds. The time is for making the message as well.
	long := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	answer, err := set.Call(within(t), callOf("echo", long), tools.Options{Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Text(); !strings.HasPrefix(got, "timed out after 3s") {
		t.Fatalf("got %q", got)
	}
	expect(t, ask(t, set, "echo", `{"text":"hi"}`), "success: you said hi")
}

// A server whose child keeps its pipes open is known to be dead all the same.
func TestServerThatLeavesAChild(t *testing.T) {
	t.Parallel()
	set := setOf(t, newClient(t, deskCommand(t), mcptools.Options{}))
	if got := ask(t, set, "leave", ""); !strings.Contains(got, "exit status 4") {
		t.Errorf("got %q", got)
	}
	expect(t, ask(t, set, "echo", `{"text":"hi"}`), "success: you said hi")
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
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-failed; !errors.Is(err, mcptools.ErrClosed) {
				t.Errorf("got %v for the call under way, want %v", err, mcptools.ErrClosed)
			}
			if _, err := c.Tools(within(t)); !errors.Is(err, mcptools.ErrClosed) {
				t.Errorf("got %v after it was closed", err)
			}
		})
	}
}
