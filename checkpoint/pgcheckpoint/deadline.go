package pgcheckpoint

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// grace is how long a call that was cancelled waits for its outcome, so that it is
// known, and the connection stays whole.
const grace = 50 * time.Millisecond

// A guard ends a call on a connection some time after the caller's context, or when
// the database has been silent for too long: a connection whose other end is gone
// is not always told so. So a call that is about to end does, and one that hangs is
// cut off. The deadline is set on the network's connection, which costs less than
// a context that can end: pgx watches each of those with a goroutine.
type guard struct {
	ctx  context.Context
	conn net.Conn
	stop func() bool
	done chan struct{}
}

func newGuard(ctx context.Context, conn net.Conn, limit time.Duration) (*guard, error) {
	g := &guard{ctx: ctx, conn: conn}
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if ctx.Done() != nil {
		g.done = make(chan struct{})
		g.stop = context.AfterFunc(ctx, func() {
			defer close(g.done)
			_ = conn.SetDeadline(time.Now().Add(grace)) // a connection that is closed has no deadline
		})
	}
	return g, nil
}

// end frees the connection of the guard, and returns what the outcome means.
func (g *guard) end(err error) error {
	if g.stop != nil && !g.stop() {
		<-g.done
	}
	_ = g.conn.SetDeadline(time.Time{}) // a connection that is closed has no deadline
	if err != nil && g.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", g.ctx.Err(), err)
	}
	return err
}

// A querier sends statements on a connection.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// send is query for a statement of its own: it waits for a connection, and sees to it
// that the call ends.
func (l *link) send(ctx context.Context, limit time.Duration, sql string, args []any, read func(pgx.Rows) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	on, conn, release, err := l.connection(ctx)
	if err != nil {
		return err
	}
	defer release()
	if conn == nil {
		return patiently(ctx, limit, func(ctx context.Context) error { return l.queryOn(ctx, on, sql, args, read) })
	}
	g, err := newGuard(ctx, conn.PgConn().Conn(), limit)
	if err != nil {
		return err
	}
	return g.end(l.queryOn(context.WithoutCancel(ctx), on, sql, args, read))
}

// patiently calls fn with a context that does what a guard does.
func patiently(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-t.C:
			cancel()
		case <-inner.Done():
		}
	})
	defer stop()
	err := fn(inner)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case inner.Err() != nil:
		return fmt.Errorf("no answer in %v: %w", limit, net.ErrClosed)
	}
	return err
}
