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
	// maxWait is how long a call waits until a server that was down may be
	// tried again, rather than fail at once.
	maxWait = 2 * time.Second
	// grace is how long a call that is done with may take to come back before
	// its session is given up, and how long to wait to learn how a server ended.
	grace = time.Second
	// settling is how long the last progress may come after the answer.
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
		return tools.Result{}, c.failed(nil, errors.New("the tool asks for input of a person, which it can not get here"))
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

// rejected is the code of an error of the library itself, by which it says that a
// request over HTTP failed. It takes that for proof that the server did not get
// it, which it is not.
const rejected = -32005

// blame says what a call that failed means.
func (c *Client) blame(ctx context.Context, s *session, err error) error {
	if reply, ok := errors.AsType[*jsonrpc.Error](err); ok && reply.Code != rejected && !s.link.forgotten() {
		return c.failed(nil, errors.New(plain(reply.Message, maxMessage)))
	}
	if s.InitializeResult().ProtocolVersion >= stateless {
		// Nothing is lost with the session, and it may no longer be told of
		// changes.
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

// post returns what a server that is a program ended with. That may be known a
// moment after the end of a call.
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
	token, told := c.calls.begin()
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
		case <-told.wake:
			told.report(ctx)
		case <-back:
			told.last(ctx)
			return answer, err
		}
	}
}

// calls are those that are under way, by their progress token.
type calls struct {
	mu    sync.Mutex
	last  int
	under map[string]*news
}

func (c *calls) begin() (token string, n *news) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.under == nil {
		c.under = map[string]*news{}
	}
	c.last++
	token, n = strconv.Itoa(c.last), &news{wake: make(chan struct{}, 1)}
	c.under[token] = n
	return token, n
}

func (c *calls) end(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.under, token)
}

// progress notes what a server says of a call. It never waits: all that the
// server sends comes by here.
func (c *calls) progress(p *mcp.ProgressNotificationParams) {
	c.mu.Lock()
	n := c.under[fmt.Sprint(p.ProgressToken)]
	c.mu.Unlock()
	if n != nil {
		n.add(tools.Progress{Done: p.Progress, Total: p.Total, Message: plain(p.Message, maxMessage)})
	}
}

// news are what a call has to report. They are kept for the goroutine of the
// call, which reports them while it is waited for.
type news struct {
	mu    sync.Mutex
	queue []tools.Progress
	part  bool // what was told last was not all
	wake  chan struct{}
}

// maxNews is how many reports are kept for a reader who is slow. The last one
// then is the newest.
const maxNews = 64

func (n *news) add(p tools.Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.part = p.Done < p.Total
	if len(n.queue) == maxNews {
		n.queue[maxNews-1] = p
	} else {
		n.queue = append(n.queue, p)
	}
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

func (n *news) report(ctx context.Context) {
	n.mu.Lock()
	queue := n.queue
	n.queue = nil
	n.mu.Unlock()
	for _, p := range queue {
		tools.Report(ctx, p)
	}
}

// last reports what there is when the answer has come. The library hands over
// answers and progress each on its own, so where not all was done, the last
// progress may be on its way.
func (n *news) last(ctx context.Context) {
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

func (n *news) partial() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.part
}
