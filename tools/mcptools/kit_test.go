package mcptools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/tools"
	"github.com/weft-go/weft/tools/mcptools"
)

// A transport is a way to reach a toolServer in another process.
type transport struct {
	name string
	// start starts the server. It returns the endpoint, and a function that starts the
	// server again after it died.
	start func(t testing.TB) (mcptools.Endpoint, func())
}

var transports = []transport{
	{"stdio", func(t testing.TB) (mcptools.Endpoint, func()) { return serverCommand(t), func() {} }},
	{"http", func(t testing.TB) (mcptools.Endpoint, func()) { return startHTTP(t, "http") }},
	{"stateless", func(t testing.TB) (mcptools.Endpoint, func()) { return startHTTP(t, "stateless") }},
}

// quick makes a process with the race detector exit without a delay of one second.
const quick = "GORACE=atexit_sleep_ms=0"

func serverCommand(t testing.TB) mcptools.Command {
	t.Helper()
	binary, err := os.Executable()
	assert.NoError(t, err)
	return mcptools.Command{Path: binary, Env: []string{modeKey + "=stdio", quick}}
}

// startHTTP starts a toolServer over HTTP.
func startHTTP(t testing.TB, mode string) (mcptools.Endpoint, func()) {
	t.Helper()
	address, wait := startListener(t, mode, "127.0.0.1:0")
	return mcptools.HTTP{URL: "http://" + address + "/"}, func() {
		t.Helper()
		wait()
		_, wait = startListener(t, mode, address)
	}
}

// startListener starts a toolServer that listens. It returns the address, and a function that
// waits for the end of the server. It may be called from any goroutine.
func startListener(t testing.TB, mode, address string) (string, func()) {
	t.Helper()
	command := serverCommand(t)
	cmd := exec.Command(command.Path)
	cmd.Env = append(os.Environ(), modeKey+"="+mode, quick, "WEFT_TEST_MCP_ADDRESS="+address)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, outErr := cmd.StdoutPipe()
	in, inErr := cmd.StdinPipe()
	if !assert.NoError(t, errors.Join(outErr, inErr)) || !assert.NoError(t, cmd.Start()) {
		return "", func() {}
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		assert.NoError(t, err, "the server did not print its address: %s", stderr.String())
		return "", func() {}
	}
	wait := sync.OnceFunc(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait() // it exited or was killed
	})
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		wait()
	})
	return strings.TrimSpace(line), wait
}

// onEachTransport runs a test with each transport.
func onEachTransport(t *testing.T, test func(t *testing.T, c *mcptools.Client, revive func())) {
	for _, p := range transports {
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
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
	})
	return c
}

// within returns a context with a deadline, so that a test cannot hang.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	t.Cleanup(cancel)
	return ctx
}

func setOf(t testing.TB, c *mcptools.Client, own ...tools.Tool) *tools.Set {
	t.Helper()
	list, err := c.Tools(within(t))
	require.NoError(t, err)
	set, err := tools.NewSet(append(list, own...)...)
	require.NoError(t, err)
	return set
}

func callOf(name, arguments string) llm.ToolCall {
	return llm.ToolCall{ID: "call_" + name, Name: name, Arguments: json.RawMessage(arguments)}
}

// ask calls a tool and returns the status and the text of the answer. It may be called from
// any goroutine.
func ask(t testing.TB, set *tools.Set, name, arguments string) string {
	t.Helper()
	answer, err := set.Call(within(t), callOf(name, arguments), tools.Options{})
	if !assert.NoError(t, err) {
		return ""
	}
	return fmt.Sprintf("%s: %s", answer.Status, answer.Text())
}

// Short names, to keep lines short.
type (
	llmCall = llm.ToolCall
	ctxt    = context.Context
)

// A tailBuffer is a strings.Builder for concurrent use.
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
