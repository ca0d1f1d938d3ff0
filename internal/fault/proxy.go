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

// A Direction is the direction in which a [Proxy] forwards data.
type Direction int

// A Direction has one of these values.
const (
	ToServer Direction = iota
	ToClient
)

// A Cut selects how much of a chunk is forwarded before a reset of the connection.
type Cut int

// A Cut has one of these values.
const (
	Never  Cut = iota // the connection is not reset
	Before            // nothing of the chunk is forwarded
	Inside            // the first half of the chunk is forwarded
	After             // the whole chunk is forwarded
)

// An Action selects how a [Proxy] handles a chunk of data. The zero Action forwards it.
type Action struct {
	// Delay delays the chunk and all later data of its direction.
	Delay time.Duration
	// Split forwards the chunk byte by byte.
	Split bool
	// Cut resets the connection.
	Cut Cut
	// Blackhole discards the chunk and all later data of both directions. The connection
	// stays open, as after a power failure of the other machine.
	Blackhole bool
}

// A Proxy forwards TCP connections to a server and injects faults into them.
type Proxy struct {
	listener  *net.TCPListener
	target    string
	intercept atomic.Pointer[func(Direction, []byte) Action]
	accepted  atomic.Int64
	all       sync.WaitGroup

	mu     sync.Mutex
	pairs  map[*pair]struct{}
	closed bool
}

// NewProxy starts a proxy on a free port. It forwards connections to the address target.
func NewProxy(target string) (*Proxy, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("fault: proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, pairs: map[*pair]struct{}{}}
	p.all.Go(p.accept)
	return p, nil
}

// Addr returns the address on which the proxy listens.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted returns the number of connections accepted so far.
func (p *Proxy) Accepted() int { return int(p.accepted.Load()) }

// Intercept sets a function that returns the action for each chunk of data. The proxy calls
// fn concurrently. If fn is nil, the proxy forwards all data.
func (p *Proxy) Intercept(fn func(Direction, []byte) Action) {
	if fn == nil {
		p.intercept.Store(nil)
		return
	}
	p.intercept.Store(&fn)
}

// Reset resets every connection and returns their number.
func (p *Proxy) Reset() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.reset()
	}
	return len(p.pairs)
}

// BlackholeAll applies [Action.Blackhole] to every open connection.
func (p *Proxy) BlackholeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.pairs {
		c.blackhole.Store(true)
	}
}

// Close stops listening and resets every connection. It waits for the goroutines of the
// proxy.
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
			return // Close was called
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
			var action Action
			if intercept := p.intercept.Load(); intercept != nil && !c.blackhole.Load() {
				action = (*intercept)(d, buf[:n])
			}
			if !c.forward(action, to, buf[:n]) {
				return
			}
		}
		if err != nil {
			c.ended(err)
			return
		}
	}
}

// A pair is the connection of a client and the matching connection to the server.
type pair struct {
	client, server *net.TCPConn
	blackhole      atomic.Bool
}

// forward writes b as the action f demands. It reports false if the connection has ended.
func (c *pair) forward(f Action, to *net.TCPConn, b []byte) bool {
	if f.Delay > 0 {
		<-time.After(f.Delay)
	}
	if f.Blackhole {
		c.blackhole.Store(true)
	}
	if c.blackhole.Load() {
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

// ended closes both connections after one of them has ended. It does nothing if the pair is a
// black hole or was closed before.
func (c *pair) ended(err error) {
	switch {
	case c.blackhole.Load():
	case errors.Is(err, net.ErrClosed):
	default:
		c.close()
	}
}

func (c *pair) close() {
	_ = c.client.Close() // an error means that the connection is closed already
	_ = c.server.Close()
}

// reset closes both connections with a TCP reset.
func (c *pair) reset() {
	for _, conn := range []*net.TCPConn{c.client, c.server} {
		if conn != nil {
			_ = conn.SetLinger(0) // an error means that the connection is closed already
			_ = conn.Close()
		}
	}
}
