package server

import (
	"container/list"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

const (
	headTime  = 10 * time.Second
	idleTime  = 2 * time.Minute
	drainTime = 30 * time.Second
	// maxIdle is the largest number of connections without a request. If there are more, the oldest one is closed.
	maxIdle = 1024
)

// HTTP returns an http.Server for a handler, with the limits that a handler cannot set: the time for the header of a
// request, the time of an idle connection, and the number of connections without a request. If there are more than 1,024
// of these, the oldest one is closed, so that connections that send nothing do not block other clients. A nil handler
// means s.
//
// Do not set WriteTimeout and ReadTimeout: they would end streams. The server limits the time of
// bodies and writes by itself; see [Limits].
func (s *Server) HTTP(addr string, h http.Handler) *http.Server {
	if h == nil {
		h = s
	}
	idle := &idleConns{at: map[net.Conn]*list.Element{}}
	return &http.Server{
		Addr: addr, Handler: h, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: s.o.Limits.HeaderBytes,
		ConnState: idle.changed, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelWarn),
	}
}

// ListenAndServe serves a handler at an address until ctx ends or the process gets SIGINT or SIGTERM. Then runs stop at
// the end of their superstep, streams end, and the server is closed. The next server with the same store continues the
// runs. The shutdown takes at most 30 s. A nil handler means s. A handler that contains s may have routes of its own.
func (s *Server) ListenAndServe(ctx context.Context, addr string, h http.Handler) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	return s.Serve(ctx, l, h)
}

// Serve is like [Server.ListenAndServe], but accepts the connections of a listener.
func (s *Server) Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	web := s.HTTP(l.Addr().String(), h)
	s.o.Logger.Info("server: listening", "address", l.Addr().String(), "authentication", s.o.Auth != nil)
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(l) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	stop() // a second signal ends the process
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	// Answer requests while runs stop: /readyz tells load balancers that the server shuts down.
	err = errors.Join(err, s.Close(drain))
	if serr := web.Shutdown(drain); serr != nil {
		err = errors.Join(err, serr, web.Close())
	}
	return err
}

// idleConns has the connections without a request, oldest first.
type idleConns struct {
	mu   sync.Mutex
	list list.List
	at   map[net.Conn]*list.Element
}

// changed updates the list for the new state of a connection. An http.Server calls it.
func (i *idleConns) changed(c net.Conn, state http.ConnState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if e := i.at[c]; e != nil {
		i.list.Remove(e)
		delete(i.at, c)
	}
	if state != http.StateNew && state != http.StateIdle {
		return
	}
	i.at[c] = i.list.PushBack(c)
	if len(i.at) <= maxIdle {
		return
	}
	oldest := i.list.Remove(i.list.Front()).(net.Conn) //nolint:forcetypeassert // the list has connections only
	delete(i.at, oldest)
	_ = oldest.Close() // the http.Server notices at its next read
}
