package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one connection to the server.
type session struct {
	*mcp.ClientSession
	link  *link
	wires *capture
	// ended is closed when all resources of the session are free. exit is then the exit
	// error of a program, or nil.
	ended chan struct{}
	exit  error
}

// capture is a transport that records its connection, because the library does not return
// it.
type capture struct {
	mcp.Transport
	tasks *taskTools
	mu    sync.Mutex
	conn  mcp.Connection
}

func (t *capture) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	t.mu.Lock()
	t.conn = conn
	t.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return t.tasks.tap(t.Transport, conn), nil
}

// cut closes the connection, even during a read or write.
func (t *capture) cut() {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// sever closes the connection at once. Requests in progress fail.
func (s *session) sever() {
	s.link.sever()
	s.wires.cut()
}

// errNotReading is the error of a session whose server does not read requests.
var errNotReading = errors.New("the server does not read its input")

// hurried calls the function do, which uses the session s. If do does not return soon after
// ctx is done, hurried closes the session: a context does not interrupt a write to a server
// that does not read.
func (c *Client) hurried(ctx context.Context, s *session, do func() error) error {
	back := make(chan struct{})
	defer close(back)
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.drop(s, errNotReading)
			s.sever()
		case <-back:
		}
	})()
	return do()
}

// close waits for the calls of the session to end and then closes the session. After the
// client is closed, the time for this is limited.
func (c *Client) close(s *session) {
	defer context.AfterFunc(c.life, func() { time.AfterFunc(2*patience, s.sever) })()
	_ = s.Close() // the session is not used again, so its error does not matter
	<-s.ended
}

// connect returns the current session, or a new one. It returns an error at once if the
// next attempt to connect may begin only after the duration wait.
func (c *Client) connect(ctx context.Context, wait time.Duration) (*session, error) {
	for {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		c.mu.Lock()
		if s := c.session; s != nil {
			c.mu.Unlock()
			return s, nil
		}
		if other := c.dialing; other != nil {
			c.mu.Unlock()
			select {
			case <-other:
			case <-ctx.Done():
			}
			continue
		}
		delay, last := time.Until(c.retryAt), c.lastErr
		if delay > wait {
			c.mu.Unlock()
			if !errors.Is(last, ErrUnavailable) {
				last = fmt.Errorf("%w: %w", ErrUnavailable, last)
			}
			return nil, c.failed(nil, fmt.Errorf("%w; not tried again for %s", last, delay.Round(100*time.Millisecond)))
		}
		c.dialing = make(chan struct{})
		c.mu.Unlock()
		return c.attempt(ctx, delay)
	}
}

// attempt connects after a delay. connect calls it only if no other attempt is in progress.
func (c *Client) attempt(ctx context.Context, delay time.Duration) (*session, error) {
	var s *session
	err := pause(ctx, delay)
	if err == nil {
		s, err = c.dial(ctx)
	}
	if err = c.settle(ctx, s, err); err == nil {
		return s, nil
	}
	if s != nil { // the client was closed during the attempt
		s.sever()
		_ = s.link.release()
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // the end of ctx is not a failure of the server
	}
	c.options.Logger.Warn("mcp server cannot be reached", "server", c.options.Name, "error", withStderr(err))
	return nil, err
}

// settle ends an attempt: it wakes the callers that wait for it, and stores the session or
// the error.
func (c *Client) settle(ctx context.Context, s *session, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.dialing)
	c.dialing = nil
	switch {
	case err != nil && ctx.Err() == nil:
		c.setBack(err)
		return err
	case err != nil:
		return err
	case c.life.Err() != nil:
		return c.failed(ErrClosed, nil)
	}
	c.session = s
	c.list.stale, c.list.notBefore = true, time.Time{}
	c.watchers.Go(func() { c.watch(s) })
	return nil
}

// setBack counts a failure and sets the time of the next attempt. The caller holds mu.
func (c *Client) setBack(err error) {
	c.failures++
	c.lastErr = err
	if e, ok := errors.AsType[*ServerError](err); ok {
		c.lastErr = e.Err // without the server's name, which the next error adds again
	}
	c.retryAt = time.Now().Add(backoff(c.failures))
}

// backoff returns the delay after a number of consecutive failures. After the first failure
// there is no delay, so that the next call restarts a server that died once.
func backoff(failures int) time.Duration {
	if failures < 2 {
		return 0
	}
	return min(250*time.Millisecond<<min(failures-2, 10), 30*time.Second)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// dial opens a connection. If ctx ends, the attempt stops. The values of ctx are not used,
// because other callers use the session too.
func (c *Client) dial(ctx context.Context) (*session, error) {
	within, cancel := context.WithTimeout(context.Background(), c.options.ConnectTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	l, err := c.endpoint.open(within)
	if err != nil {
		return nil, c.failed(ErrUnavailable, err)
	}
	wires := &capture{Transport: l.transport, tasks: &l.tasks}
	// A context does not interrupt a write to a server that does not read.
	hurry := context.AfterFunc(within, func() { l.sever(); wires.cut() })
	peer, err := c.peer.Connect(within, wires, nil)
	if !hurry() && err == nil {
		err = context.Cause(within)
		_ = peer.Close()
	}
	if err != nil {
		l.sever()
		wires.cut()
		exit := l.release()
		if within.Err() != nil {
			err = fmt.Errorf("no answer within %s", c.options.ConnectTimeout)
		}
		return nil, c.withExit(ErrUnavailable, err, l, exit)
	}
	return &session{ClientSession: peer, link: l, wires: wires, ended: make(chan struct{})}, nil
}

// withExit returns a ServerError with the exit error and the standard error of the server.
func (c *Client) withExit(kind, err error, l *link, exit error) error {
	if exit != nil {
		err = fmt.Errorf("%w (%w)", err, exit)
	}
	return &ServerError{Server: c.options.Name, Err: fmt.Errorf("%w: %w", kind, err), Stderr: l.stderr()}
}

// watch waits for the end of a session and frees its resources.
func (c *Client) watch(s *session) {
	err := s.Wait()
	wanted := c.life.Err() != nil
	if err == nil {
		err = errors.New("the server ended the connection")
	}
	c.drop(s, err)
	_ = s.Close()
	s.exit = s.link.release()
	close(s.ended)
	if !wanted {
		c.options.Logger.Warn("mcp server lost", "server", c.options.Name, "error", err, "exit", s.exit, "stderr", s.link.stderr())
	}
}

// drop gives up a session that cannot be used any more. The next call connects again.
func (c *Client) drop(s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != s {
		return
	}
	c.session = nil
	c.setBack(err)
	c.watchers.Go(func() { c.close(s) })
}

// stateless is the first version of the protocol in which a session has no state at the
// server.
const stateless = "2026-07-28"

// with calls the function do with a session. If the server certainly did not receive the
// request, with calls do once more with a new session. It returns the last session, or nil
// if connecting failed.
func (c *Client) with(ctx context.Context, wait time.Duration, do func(*session) error) (*session, error) {
	for again := false; ; again = true {
		s, err := c.connect(ctx, wait)
		if err != nil {
			return nil, err
		}
		err = do(s)
		if err == nil || again || ctx.Err() != nil || !s.unsent(err) {
			return s, err
		}
		c.drop(s, err)
	}
}

// unsent reports whether the server certainly did not execute a failed request: the
// connection was already closed, or the server does not know the session.
func (s *session) unsent(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || s.link.forgotten()
}

// succeeded resets the number of failures after a successful call.
func (c *Client) succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = 0
}
