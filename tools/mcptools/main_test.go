package mcptools_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// modeKey is the environment variable that makes the test binary run as a server. Its value
// selects the server, for example "stdio", "http" or "stateless".
const modeKey = "WEFT_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeKey); mode != "" {
		if err := runServer(mode, os.Getenv("WEFT_TEST_MCP_ADDRESS")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if err := os.Setenv("WEFT_TEST_SECRET", "hunter2"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func runServer(mode, address string) error {
	ctx := context.Background()
	d := newToolServer()
	// Close gone after a time, so that a server does not run forever if the test is killed.
	gone := make(chan struct{})
	time.AfterFunc(2*soon, func() { close(gone) })
	switch mode {
	case "stdio":
		fmt.Fprintln(os.Stderr, "desk is open")
		return d.server.Run(ctx, &mcp.IOTransport{Reader: stallingReader{os.Stdin, d.stalled, gone}, Writer: os.Stdout})
	case "weft":
		return serveWeft(ctx)
	case "broken":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 10_000)+"\nno config file")
		os.Exit(2)
	case "silent", "child":
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		if err := d.server.Run(ctx, &mcp.StdioTransport{}); err != nil {
			return err
		}
		<-gone
	}
	server := d.server
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() {
		// Exit when the test process has ended and its end of the pipe is closed.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: mode == "stateless", PropagateRequestCancellation: true})
	return http.Serve(listener, handler)
}

// A stallingReader is an input that blocks after the channel stalled is closed.
type stallingReader struct {
	io.ReadCloser
	stalled, gone chan struct{}
}

func (e stallingReader) Read(b []byte) (int, error) {
	select {
	case <-e.stalled:
		<-e.gone
		return 0, io.EOF
	default:
		return e.ReadCloser.Read(b)
	}
}

// A toolServer is a server of the official library. Its tools return texts, values and
// errors, report progress, and end or block the server.
type toolServer struct {
	server    *mcp.Server
	calls     atomic.Int64
	cancelled chan struct{}
	once      sync.Once
	stalled   chan struct{}
}

type words struct {
	Text string `json:"text"`
}

type sum struct {
	Sum int `json:"sum"`
}

func newToolServer() *toolServer {
	d := &toolServer{cancelled: make(chan struct{}), stalled: make(chan struct{})}
	d.server = mcp.NewServer(&mcp.Implementation{Name: "desk", Version: "1"}, &mcp.ServerOptions{PageSize: 3})
	add(d.server, "echo", "Says the text again.", func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		d.calls.Add(1)
		return text("you said " + in.Text), nil, nil
	})
	add(d.server, "add", "Adds.", func(_ context.Context, _ *mcp.CallToolRequest, in struct{ A, B int }) (*mcp.CallToolResult, sum, error) {
		return nil, sum{in.A + in.B}, nil
	})
	add(d.server, "refuse", "Refuses.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("not on a Sunday")
	})
	add(d.server, "calls", "Tells how often echo and crash were called.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text(fmt.Sprint(d.calls.Load())), nil, nil
	})
	add(d.server, "crash", "Ends the server.", func(context.Context, *mcp.CallToolRequest, words) (*mcp.CallToolResult, any, error) {
		d.calls.Add(1)
		fmt.Fprintln(os.Stderr, "out of paper")
		os.Exit(3)
		return nil, nil, nil
	})
	add(d.server, "deafen", "Stops reading its input.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		close(d.stalled)
		return text("what?"), nil, nil
	})
	add(d.server, "leave", "Ends the server, but not a child of it that has its pipes.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), modeKey+"=child")
		child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return nil, nil, err
		}
		os.Exit(4)
		return nil, nil, nil
	})
	add(d.server, "hire", "Adds a tool of that name.", func(_ context.Context, _ *mcp.CallToolRequest, in words) (*mcp.CallToolResult, any, error) {
		add(d.server, in.Text, "A new tool.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text("I am " + in.Text), nil, nil
		})
		return text("hired"), nil, nil
	})
	add(d.server, "environment", "Tells its own.", func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		folder, err := os.Getwd()
		return text(folder + "\n" + strings.Join(os.Environ(), "\n")), nil, err
	})
	add(d.server, "slow", "Reports progress, and goes on until it is cancelled.", d.slow)
	add(d.server, "was_cancelled", "Returns when slow was cancelled.", func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		select {
		case <-d.cancelled:
			return text("yes"), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	return d
}

func (d *toolServer) slow(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	for i := range 3 {
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3, Message: fmt.Sprintf("page %d", i+1),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	<-ctx.Done()
	d.once.Do(func() { close(d.cancelled) })
	return nil, nil, ctx.Err()
}

func add[In, Out any](s *mcp.Server, name, description string, fn mcp.ToolHandlerFor[In, Out]) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description}, fn)
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// soon is the timeout for operations that normally end at once.
const soon = 30 * time.Second
