package mcptools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weft-go/weft/tools"
)

const (
	// maxWait is the longest time that a call waits for the next attempt to connect, after
	// earlier attempts failed. If the attempt is later, the call fails at once.
	maxWait = 2 * time.Second
	// grace is the time that a cancelled request has to return before its session is
	// closed, and the time to wait for the exit status of a server.
	grace = time.Second
	// settling is the time to wait for the last progress after an answer.
	settling = 100 * time.Millisecond
)

// call calls a tool of the server.
func (c *Client) call(ctx context.Context, name string, arguments json.RawMessage) (tools.Result, error) {
	ctx, cancel := c.until(ctx)
	defer cancel()
	var answer *mcp.CallToolResult
	s, err := c.with(ctx, maxWait, func(s *session) (err error) {
		answer, err = c.send(ctx, s, name, arguments)
		return err
	})
	switch {
	case err == nil && answer.NeedsInput():
		c.succeeded()
		return tools.Result{}, c.failed(nil, errors.New("the tool asks for input from a person, which this client does not support"))
	case err == nil:
		c.succeeded()
		return result(answer), nil
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case s == nil:
		return tools.Result{}, err
	}
	return tools.Result{}, c.blame(ctx, s, err)
}

// rejected is the code of an error that the MCP library creates when a request over HTTP
// fails. The code stands for "rejected by transport", but the server may have received the request.
const rejected = -32005

// blame returns the error of a call that failed over the session s.
func (c *Client) blame(ctx context.Context, s *session, err error) error {
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok && reply.Code != rejected && !s.link.forgotten() {
		return c.failed(nil, errors.New(plain(reply.Message, maxMessage)))
	}
	if s.InitializeResult().ProtocolVersion >= stateless {
		// In this protocol version a session has no state, so it can be dropped. A new
		// session is notified of changes again.
		c.drop(s, short(err))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return c.failed(ErrUnavailable, op)
	}
	if s.unsent(err) {
		return c.withExit(ErrUnavailable, short(err), s.link, nil)
	}
	return c.withExit(ErrLost, short(err), s.link, s.post(ctx))
}

// post returns the exit error of a server that is a program, or nil. The exit may become
// known only a moment after a call has failed, so post waits for it.
func (s *session) post(ctx context.Context) error {
	if !s.link.mortal {
		return nil
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.ended:
		return s.exit
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil
}

// send makes a call over a session and reports its progress.
func (c *Client) send(ctx context.Context, s *session, name string, arguments json.RawMessage) (*mcp.CallToolResult, error) {
	token, queue := c.calls.begin()
	defer c.calls.end(token)
	params := &mcp.CallToolParams{Name: name, Arguments: arguments}
	params.SetProgressToken(token)

	var answer *mcp.CallToolResult
	var err error
	back := make(chan struct{})
	go func() {
		defer close(back)
		err = c.hurried(ctx, s, func() (err error) {
			answer, err = s.CallTool(ctx, params)
			return err
		})
	}()
	for {
		select {
		case <-queue.wake:
			queue.report(ctx)
		case <-back:
			queue.last(ctx)
			return answer, err
		}
	}
}

// calls are the calls that wait for an answer, by their progress token.
type calls struct {
	mu    sync.Mutex
	last  int
	under map[string]*progressQueue
}

func (c *calls) begin() (token string, n *progressQueue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under = map[string]*progressQueue{}
	}
	c.last++
	token, n = strconv.Itoa(c.last), &progressQueue{wake: make(chan struct{}, 1)}
	c.under[token] = n
	return token, n
}

func (c *calls) end(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.under, token)
}

// progress queues a progress notification for its call. It must not block, because the
// library waits for it before it delivers the next notification of the server.
func (c *calls) progress(p *mcp.ProgressNotificationParams) {
	c.mu.Lock()
	n := c.under[fmt.Sprint(p.ProgressToken)]
	c.mu.Unlock()
	if n != nil {
		n.add(tools.Progress{Done: p.Progress, Total: p.Total, Message: plain(p.Message, maxMessage)})
	}
}

// A progressQueue holds the progress of one call until the goroutine of the call reports
// it.
type progressQueue struct {
	mu    sync.Mutex
	queue []tools.Progress
	part  bool // the newest progress is not complete
	wake  chan struct{}
}

// maxQueued is the maximum number of queued reports. In a full queue, a new report replaces
// the last one.
const maxQueued = 64

func (n *progressQueue) add(p tools.Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.part = p.Done < p.Total
	if len(n.queue) == maxQueued {
		n.queue[maxQueued-1] = p
	} else {
		n.queue = append(n.queue, p)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *progressQueue) report(ctx context.Context) {
	n.mu.Lock()
	queue := n.queue
	n.queue = nil
	n.mu.Unlock()
	for _, p := range queue {
		tools.Report(ctx, p)
	}
}

// last reports the remaining progress after the answer. The library delivers answers and
// progress independently, so if the progress is not complete, last waits a moment for more.
func (n *progressQueue) last(ctx context.Context) {
	timer := time.NewTimer(settling)
	defer timer.Stop()
	for {
		n.report(ctx)
		if !n.partial() {
			return
		}
		select {
		case <-n.wake:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (n *progressQueue) partial() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part
}
