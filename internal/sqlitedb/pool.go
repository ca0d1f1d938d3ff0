package sqlitedb

import (
	"context"
	"errors"
	"io/fs"
	"sync"
)

// A pool holds a fixed number of sessions and opens each on first use.
type pool struct {
	open   func(context.Context) (*Session, error)
	slots  chan *Session // a nil slot stands for a session that is not open yet
	closed chan struct{}
	once   sync.Once
	err    error
}

func newPool(size int, open func(context.Context) (*Session, error)) *pool {
	p := &pool{open: open, slots: make(chan *Session, size), closed: make(chan struct{})}
	for range size {
		p.slots <- nil
	}
	return p
}

// acquire waits for a free session. The caller must release the session.
func (p *pool) acquire(ctx context.Context) (*Session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		return nil, fs.ErrClosed
	default:
	}
	select {
	case s := <-p.slots:
		return p.opened(ctx, s)
	case <-p.closed:
		return nil, fs.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) opened(ctx context.Context, s *Session) (*Session, error) {
	if s != nil {
		return s, nil
	}
	s, err := p.open(ctx)
	if err != nil {
		p.slots <- nil
		return nil, err
	}
	return s, nil
}

func (p *pool) release(s *Session) { p.slots <- s }

// close waits until no session is in use, and closes all sessions. A second call returns
// the same error.
func (p *pool) close() error {
	p.once.Do(func() {
		close(p.closed)
		var errs []error
		for range cap(p.slots) {
			if s := <-p.slots; s != nil {
				errs = append(errs, s.close())
			}
		}
		p.err = errors.Join(errs...)
	})
	return p.err
}
