package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errCircuitOpen is returned to a caller that waits for a connection when other
// callers have found that none can be made.
var errCircuitOpen = errors.New("no connection can be made")

// connection returns a querier for a statement. With a pool, it waits for a free connection
// until limit has passed, and longer if other calls on the pool still get answers. The result
// conn is the connection of the querier, or nil for a DB that does not expose it.
func (l *link) connection(ctx context.Context, limit time.Duration) (on querier, conn *pgx.Conn, release func(), err error) {
	switch db := l.db.(type) {
	case *pgxpool.Pool:
		c, release, err := l.acquire(ctx, db, limit)
		if err != nil {
			return nil, nil, nil, err
		}
		return c, c.Conn(), release, nil
	case *pgx.Conn:
		return db, db, func() {}, nil
	case interface{ Conn() *pgx.Conn }:
		return l.db, db.Conn(), func() {}, nil
	}
	return l.db, nil, func() {}, nil
}

// A beginner begins transactions.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

func (l *link) beginner(ctx context.Context) (on beginner, release func(), err error) {
	if pool, ok := l.db.(*pgxpool.Pool); ok {
		return l.acquire(ctx, pool, l.timeout)
	}
	return l.db, func() {}, nil
}

// acquire takes a connection from a pool. The caller must call the returned function to
// release the connection. If the connection was lost meanwhile, this function also resets
// the pool, at most once a second, unless the context of the caller has ended.
func (l *link) acquire(ctx context.Context, pool *pgxpool.Pool, limit time.Duration) (*pgxpool.Conn, func(), error) {
	limit = min(limit, l.timeout)
	start := time.Now()
	if err := l.circuit.acquireSlot(ctx, limit); err != nil {
		return nil, nil, err
	}
	c, err := l.acquireConn(ctx, pool, max(limit-time.Since(start), minWait))
	if err != nil {
		l.circuit.releaseSlot()
		return nil, nil, err
	}
	l.circuit.connected()
	return c, func() {
		closed := c.Conn().IsClosed()
		c.Release()
		if !closed {
			l.circuit.answered.Store(time.Now().UnixNano())
		} else if ctx.Err() == nil && l.circuit.mayReset() {
			pool.Reset()
		}
		l.circuit.releaseSlot()
	}, nil
}

// acquireConn asks a pool for a connection. If limit passes, or if a connection attempt
// exceeds its own time limit, the error is of the class faultLost.
func (l *link) acquireConn(ctx context.Context, pool *pgxpool.Pool, limit time.Duration) (*pgxpool.Conn, error) {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := pool.Acquire(inner)
	switch {
	case err == nil, ctx.Err() != nil:
		return c, err
	case inner.Err() != nil:
		// The pool may only be busy, so this does not open the circuit.
		return nil, fmt.Errorf("no connection in %v: %w", limit, net.ErrClosed)
	case errors.Is(err, context.DeadlineExceeded):
		// The connection attempt has its own deadline, which is not the caller's.
		err = fmt.Errorf("%w: %s", net.ErrClosed, err.Error())
	}
	if faultOf(err) == faultLost {
		l.circuit.connectFailed(err)
	}
	return nil, err
}
