package pgcheckpoint

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// errOpened says that others have found out that no connection can be made.
var errOpened = errors.New("no connection can be made")

// connection returns a nil conn for a DB that does not show its connections.
func (l *link) connection(ctx context.Context) (on querier, conn *pgx.Conn, release func(), err error) {
	switch db := l.db.(type) {
	case *pgxpool.Pool:
		c, release, err := l.acquire(ctx, db)
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
		return l.acquire(ctx, pool)
	}
	return l.db, func() {}, nil
}

// acquire takes a connection of a pool, until release. One that was lost meanwhile
// takes the idle ones with it, unless it was closed because the caller did not want to
// wait.
func (l *link) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, func(), error) {
	if err := l.circuit.slot(ctx); err != nil {
		return nil, nil, err
	}
	c, err := l.ask(ctx, pool)
	if err != nil {
		l.circuit.give()
		return nil, nil, err
	}
	l.circuit.reached()
	return c, func() {
		lost := c.Conn().IsClosed() && ctx.Err() == nil
		c.Release()
		if lost && l.circuit.stale() {
			pool.Reset()
		}
		l.circuit.give()
	}, nil
}

// ask asks a pool for a connection. An error that is not of ctx is one of faultLost.
func (l *link) ask(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	inner := ctx
	if l.limit > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, l.limit)
		defer cancel()
	}
	c, err := pool.Acquire(inner)
	switch {
	case err == nil, ctx.Err() != nil:
		return c, err
	case inner.Err() != nil:
		// Perhaps the pool is only busy.
		return nil, fmt.Errorf("no connection in %v: %w", l.limit, net.ErrClosed)
	case errors.Is(err, context.DeadlineExceeded):
		// It is that of the attempt, and not the caller's.
		err = fmt.Errorf("%w: %s", net.ErrClosed, err.Error())
	}
	if faultOf(err) == faultLost {
		l.circuit.refused(err)
	}
	return nil, err
}
