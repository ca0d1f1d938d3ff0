package mcptools

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is one connection to the server, from its beginning to its end.
type session struct {
	*mcp.ClientSession
	link  *link
	wires *capture
	// ended is closed when nothing of the session is left; exit is then what it
	// ended with.
	ended chan struct{}
	exit  error
}

// capture is a transport that remembers its connection, which the library does
// not give away.
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

// cut closes the connection, whatever it is doing.
func (t *capture) cut() {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if conn != nil {
		_ = conn.Close()
	}
}

// sever ends the session without regard to what it is doing.
func (s *session) sever() {
	s.link.sever()
	s.wires.cut()
}

// errDeaf is what a session ends with that does not take what it is sent.
var errDeaf = errors.New("the server reads nothing")

// hurried does something with a session that ends soon after ctx is done, or else
// with the session: no context ends what waits for a server to read.
func (c *Client) hurried(ctx context.Context, s *session, do func() error) error {
	back := make(chan struct{})
	defer close(back)
	defer context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			c.drop(s, errDeaf)
			s.sever()
		case <-back:
		}
	})()
	return do()
}

// close ends the session in good order, when the calls that use it are over. Once
// the client is closed, it has only so much time.
func (c *Client) close(s *session) {
	defer context.AfterFunc(c.life, func() { time.AfterFunc(2*patience, s.sever) })()
	_ = s.Close() // what is wrong with it is nobody's concern any more
	<-s.ended
}

// connect returns the session in use, or a new one. It waits for its turn no
// longer than wait.
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

// attempt connects after a delay. It is the only attempt at this time.
func (c *Client) attempt(ctx context.Context, delay time.Duration) (*session, error) {
	var s *session
	err := pause(ctx, delay)
	if err == nil {
		s, err = c.dial(ctx)
	}
	if err = c.settle(ctx, s, err); err == nil {
		return s, nil
	}
	if s != nil { // closed meanwhile
		s.sever()
		_ = s.link.release()
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx) // which says nothing of the server
	}
	c.options.Logger.Warn("mcp server can not be reached", "server", c.options.Name, "error", told(err))
	return nil, err
}

// settle ends an attempt, for those who wait for it as well.
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

// setBack puts off the next attempt. mu is held.
func (c *Client) setBack(err error) {
	c.failures++
	c.lastErr = err
	if e, ok := errors.AsType[*ServerError](err); ok {
		c.lastErr = e.Err // named once is enough
	}
	c.retryAt = time.Now().Add(backoff(c.failures))
}

// backoff is how long to wait after so many failures: not at all after the
// first, so that a server which died once is back with the next call.
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

// dial makes a connection. What ctx holds is not for it: it may serve others.
func (c *Client) dial(ctx context.Context) (*session, error) {
	within, cancel := context.WithTimeout(context.Background(), c.options.ConnectTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	l, err := c.endpoint.open(within)
	if err != nil {
		return nil, c.failed(ErrUnavailable, err)
	}
	wires := &capture{Transport: l.transport, tasks: &l.tasks}
	// A server that does not read what it is sent holds up a write, which no
	// context ends.
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

// withExit is failed with what is known of the server's end.
func (c *Client) withExit(kind, err error, l *link, exit error) error {
	if exit != nil {
		err = fmt.Errorf("%w (%w)", err, exit)
	}
	return &ServerError{Server: c.options.Name, Err: fmt.Errorf("%w: %w", kind, err), Stderr: l.stderr()}
}

// watch waits for the end of a session and cleans up behind it.
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

// drop gives a session up that is of no more use. The next call connects anew.
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

// stateless is the version of the protocol from which on there is nothing that a
// session of the server remembers.
const stateless = "2026-07-28"

// with does something with a session. It does it again, once, with a new session
// if the server can not have got what was sent over the first.
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

// unsent reports whether a request that failed was not taken by the server: the
// connection was already closed, or the server knows no such session.
func (s *session) unsent(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, mcp.ErrSessionMissing) || s.link.forgotten()
}

// succeeded notes that the server works.
func (c *Client) succeeded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = 0
}
