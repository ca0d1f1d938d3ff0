package mcptools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// A place is where the desk can be, as a process of its own.
type place struct {
	name string
	// start returns the endpoint and a function that brings the server back
	// after it died.
	start func(t testing.TB) (mcptools.Endpoint, func())
}

var places = []place{
	{"stdio", func(t testing.TB) (mcptools.Endpoint, func()) { return deskCommand(t), func() {} }},
	{"http", func(t testing.TB) (mcptools.Endpoint, func()) { return startHTTP(t, "http") }},
	{"stateless", func(t testing.TB) (mcptools.Endpoint, func()) { return startHTTP(t, "stateless") }},
}

// quick lets a process with the race detector end without a second's delay.
const quick = "GORACE=atexit_sleep_ms=0"

func deskCommand(t testing.TB) mcptools.Command {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcptools.Command{Path: binary, Env: []string{modeKey + "=stdio", quick}}
}

// startHTTP starts a desk that listens.
func startHTTP(t testing.TB, mode string) (mcptools.Endpoint, func()) {
	t.Helper()
	address, wait := startListener(t, mode, "127.0.0.1:0")
	return mcptools.HTTP{URL: "http://" + address + "/"}, func() {
		t.Helper()
		wait()
		_, wait = startListener(t, mode, address)
	}
}

func startListener(t testing.TB, mode, address string) (string, func()) {
	t.Helper()
	command := deskCommand(t)
	cmd := exec.Command(command.Path)
	cmd.Env = append(os.Environ(), modeKey+"="+mode, quick, "WEFT_TEST_MCP_ADDRESS="+address)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the server says nothing: %v, %s", err, stderr.String())
	}
	wait := sync.OnceFunc(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it was told to die, or killed
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		wait()
	})
	return strings.TrimSpace(line), wait
}

// everywhere runs a test at each place.
func everywhere(t *testing.T, test func(t *testing.T, c *mcptools.Client, revive func())) {
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			e, revive := p.start(t)
			test(t, newClient(t, e, mcptools.Options{}), revive)
		})
	}
}

func newClient(t testing.TB, e mcptools.Endpoint, o mcptools.Options) *mcptools.Client {
	t.Helper()
	c, err := mcptools.New(e, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// within is a context that ends when a test has hung.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func setOf(t testing.TB, c *mcptools.Client, own ...tools.Tool) *tools.Set {
	t.Helper()
	list, err := c.Tools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	set, err := tools.NewSet(append(list, own...)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func callOf(name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: "call_" + name, Name: name, Arguments: json.RawMessage(arguments)}
}

// ask calls a tool and shows the answer.
func ask(t testing.TB, set *tools.Set, name, arguments string) string {
	t.Helper()
	answer, err := set.Call(within(t), callOf(name, arguments), tools.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return fmt.Sprintf("%s: %s", answer.Status, answer.Text())
}

// expect fails unless an answer is as wanted.
func expect(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Short names for long lines.
type (
	llmCall = llm.ToolCall
	ctxt    = context.Context
)

// A tailBuffer is a strings.Builder for several goroutines.
type tailBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
