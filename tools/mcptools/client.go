package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/tools"
)

// A Client is an MCP server as an agent has it: see [Client.Tools]. It is made by
// [New], connects when it is used, and has to be closed.
type Client struct {
	endpoint Endpoint
	options  Options
	peer     *mcp.Client
	calls    calls

	life     context.Context // ends with Close
	end      context.CancelFunc
	watchers sync.WaitGroup

	mu       sync.Mutex
	session  *session      // the one in use, or nil
	dialing  chan struct{} // closed when the attempt that is under way ends
	failures int           // of connections in a row, without a call that succeeded
	retryAt  time.Time     // when the next attempt may begin
	lastErr  error         // what the last connection failed with

	listing chan struct{} // holds a token while the list is renewed
	list    catalogue     // guarded by mu
}

// New returns a client of a server. It does not connect yet: the first use does,
// and [Client.Tools] is the place to learn that the server is not there.
func New(e Endpoint, o Options) (*Client, error) {
	if e == nil {
		return nil, errors.New("mcptools: no endpoint")
	}
	if err := e.check(); err != nil {
		return nil, err
	}
	o, err := o.complete(e.label())
	if err != nil {
		return nil, err
	}
	c := &Client{endpoint: e, options: o, listing: make(chan struct{}, 1)}
	c.life, c.end = context.WithCancel(context.Background())
	c.peer = mcp.NewClient(&mcp.Implementation{Name: "weft", Version: "0"}, &mcp.ClientOptions{
		Capabilities:                &mcp.ClientCapabilities{},
		MultiRoundTrip:              &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { c.outdate() },
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { c.calls.progress(r.Params) },
	})
	return c, nil
}

// Name returns what the server is called.
func (c *Client) Name() string { return c.options.Name }

// Tools returns the tools that the server has. It connects if need be, and asks
// the server only when the list is new, was changed or is older than
// Options.MaxAge, so an agent may call it for every turn. The slice is the
// caller's own. A tool remains callable when the list has changed; what the
// server then says of it is answered to the model.
//
// When the server can not be asked, the result is the last list there was. It is
// an error only when there never was one, when ctx is done, and after Close.
func (c *Client) Tools(ctx context.Context) ([]tools.Tool, error) {
	list, err := c.tools(ctx)
	return list, told(err)
}

// Close ends the connection, and a server that is a [Command]. Calls that are
// under way fail with [ErrClosed]. It waits until nothing is left running, which
// may take a few seconds if the server does not want to end.
func (c *Client) Close() error {
	c.end()
	c.mu.Lock()
	s := c.session
	c.session = nil
	c.mu.Unlock()
	if s != nil {
		c.close(s)
	}
	c.watchers.Wait()
	return nil
}

// until returns a context that also ends when the client is closed.
func (c *Client) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(c.failed(ErrClosed, nil)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// failed makes an error of what went wrong, of a kind where it has one.
func (c *Client) failed(kind, cause error) error {
	err := kind
	switch {
	case kind == nil:
		err = cause
	case cause != nil:
		err = fmt.Errorf("%w: %w", kind, cause)
	}
	return &ServerError{Server: c.options.Name, Err: err}
}
