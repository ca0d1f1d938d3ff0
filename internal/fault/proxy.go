//go:build unix

package fault

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Direction is the way of a piece through a [Proxy].
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// A Cut says when a connection is reset.
type Cut int

// When it is.
const (
	Never  Cut = iota
	Before     // the piece does not arrive
	Inside     // its first half does
	After      // all of it does
)

// A Fate is what becomes of a piece. Its zero value passes it on.
type Fate struct {
	// Delay holds it, and what comes behind it, back.
	Delay time.Duration
	// Split passes it on byte by byte.
	Split bool
	// Cut resets the connection.
	Cut Cut
	// Hole swallows it and whatever comes later, in both directions, and tells
	// nobody, as when the other machine has lost its power.
	Hole bool
}

// A Proxy passes connections on to a server, and does to them what it is told.
type Proxy struct {
	listener *net.TCPListener
	target   string
	treat    atomic.Pointer[func(Direction, []byte) Fate]
	accepted atomic.Int64
	all      sync.WaitGroup

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	closed bool
}

// NewProxy listens on a free port, for a server at an address.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("fault: proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, pairs: map[*pair]struct{}{}}
	p.all.Go(p.accept)
	return p, nil
}

// Addr is where clients find the proxy.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted counts the connections so far.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

// Treat decides from now on about each piece, as it is read. It is called by any
// number of goroutines; nil passes everything on.
func (p *Proxy) Treat(fn func(Direction, []byte) Fate) {
	if fn == nil {
		p.treat.Store(nil)
		return
	}
	p.treat.Store(&fn)
}

// Reset resets every connection, and returns how many there were.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.reset()
	}
	return len(p.pairs)
}

// Deafen makes a [Fate.Hole] of every connection that there is.
func (p *Proxy) Deafen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.hole.Store(true)
	}
}

// Close ends the proxy with all its connections, and waits for that.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Reset()
	p.all.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if err != nil {
			return // it was closed
		}
		p.accepted.Add(1)
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client *net.TCPConn) {
	c := &pair{client: client}
	server, err := net.DialTimeout("tcp", p.target, 10*time.Second)
	if err != nil {
		c.reset()
		return
	}
	c.server = server.(*net.TCPConn)
	if !p.add(c) {
		c.reset()
		return
	}
	var both sync.WaitGroup
	both.Go(func() { p.pass(c, ToServer, c.client, c.server) })
	both.Go(func() { p.pass(c, ToClient, c.server, c.client) })
	both.Wait()
	c.close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pairs, c)
}

func (p *Proxy) add(c *pair) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.pairs[c] = struct{}{}
	}
	return !p.closed
}

func (p *Proxy) pass(c *pair, d Direction, from, to *net.TCPConn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			var fate Fate
			if treat := p.treat.Load(); treat != nil && !c.hole.Load() {
				fate = (*treat)(d, buf[:n])
			}
			if !c.suffer(fate, to, buf[:n]) {
				return
			}
		}
		if err != nil {
			c.ended(err)
			return
		}
	}
}

// A pair is a connection of a client, and the one to the server that goes with it.
type pair struct {
	client, server *net.TCPConn
	hole           atomic.Bool
}

// suffer reports whether the connection goes on.
func (c *pair) suffer(f Fate, to *net.TCPConn, b []byte) bool {
	if f.Delay > 0 {
		<-time.After(f.Delay)
	}
	if f.Hole {
		c.hole.Store(true)
	}
	if c.hole.Load() {
		return true
	}
	switch f.Cut {
	case Before:
		b = nil
	case Inside:
		b = b[:len(b)/2]
	}
	step := max(len(b), 1)
	if f.Split {
		step = 1
	}
	for i := 0; i < len(b); i += step {
		if _, err := to.Write(b[i:min(i+step, len(b))]); err != nil {
			c.close()
			return false
		}
	}
	if f.Cut != Never {
		c.reset()
	}
	return f.Cut == Never
}

// ended passes the end of one side on, unless nobody is to know.
func (c *pair) ended(err error) {
	switch {
	case c.hole.Load():
	case errors.Is(err, net.ErrClosed):
	default:
		c.close()
	}
}

func (c *pair) close() {
	_ = c.client.Close() // closing what is closed has nothing to say
	_ = c.server.Close()
}

// reset ends both sides at once, and not in order.
func (c *pair) reset() {
	for _, conn := range []*net.TCPConn{c.client, c.server} {
		if conn != nil {
			_ = conn.SetLinger(0) // it may be closed already
			_ = conn.Close()
		}
	}
}
