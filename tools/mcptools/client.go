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

// A Client connects to an MCP server and provides its tools to an agent; see
// [Client.Tools]. [New] returns one. It connects when it is first used, and must be closed.
type Client struct {
	endpoint Endpoint
	options  Options
	peer     *mcp.Client
	calls    calls

	life     context.Context // done after Close
	end      context.CancelFunc
	watchers sync.WaitGroup

	mu       sync.Mutex
	session  *session      // the current session, or nil
	dialing  chan struct{} // closed when the current attempt to connect ends; nil without an attempt
	failures int           // consecutive failed connections since the last successful call
	retryAt  time.Time     // the earliest time of the next attempt
	lastErr  error         // the error of the last failed connection

	listing chan struct{} // a semaphore: one renewal of the list at a time
	list    catalogue     // guarded by mu
}

// New returns a client for a server. It does not connect. The first use connects; call
// [Client.Tools] to find out whether the server can be reached.
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

// Name returns Options.Name, or its default.
func (c *Client) Name() string { return c.options.Name }

// Tools returns the tools of the server. It connects if necessary. It asks the server only
// if there is a new connection, if the server has announced a change, or if the list is
// older than Options.MaxAge, so an agent may call it for every turn. The slice is the
// caller's own. A tool remains callable after the list has changed; if the server no longer
// has it, the model gets the server's error.
//
// If the server cannot be asked, Tools returns the last list. It returns an error only if
// there is no last list, if ctx is done, or after Close.
func (c *Client) Tools(ctx context.Context) ([]tools.Tool, error) {
	list, err := c.tools(ctx)
	return list, withStderr(err)
}

// Close ends the connection, and the program of a [Command]. Calls in progress fail with
// [ErrClosed]. Close waits until all goroutines and the program have ended, which may take
// a few seconds. It always returns nil.
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

// until returns a context that is also done when the client is closed.
func (c *Client) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(c.failed(ErrClosed, nil)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// failed returns a ServerError that wraps kind and cause. Either may be nil.
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
