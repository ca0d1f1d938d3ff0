package pgcheckpoint

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
)

// cancelGrace is the time that a cancelled call waits for its answer. Within this time the
// outcome usually arrives, and the connection can be used again.
const cancelGrace = 50 * time.Millisecond

// A callDeadline ends a call on a connection cancelGrace after the caller's context ends.
// It also ends a call when the database has been silent for too long, because a client
// does not always learn that a connection is lost. The deadline is set on the network
// connection. A context with a deadline would cost more: pgx starts a goroutine for it.
type callDeadline struct {
	ctx  context.Context
	conn net.Conn
	stop func() bool
	done chan struct{}
}

func newCallDeadline(ctx context.Context, conn net.Conn, deadline time.Time) (*callDeadline, error) {
	d := &callDeadline{ctx: ctx, conn: conn}
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if ctx.Done() != nil {
		d.done = make(chan struct{})
		d.stop = context.AfterFunc(ctx, func() {
			defer close(d.done)
			_ = conn.SetDeadline(time.Now().Add(cancelGrace)) // fails on a closed connection, which needs none
		})
	}
	return d, nil
}

// end removes the deadline. If the caller's context is done, it adds the error of the
// context to err.
func (d *callDeadline) end(err error) error {
	if d.stop != nil && !d.stop() {
		<-d.done
	}
	_ = d.conn.SetDeadline(time.Time{}) // fails on a closed connection, which needs none
	if err != nil && d.ctx.Err() != nil {
		return fmt.Errorf("%w: %w", d.ctx.Err(), err)
	}
	return err
}

// A querier sends statements on a connection.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// send sends one statement outside of a transaction of the store. The argument limit is the
// maximum time of the waits for a connection and for the answer together.
func (l *link) send(ctx context.Context, limit time.Duration, sql string, args []any, read func(pgx.Rows) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	deadline := time.Now().Add(limit)
	on, conn, release, err := l.connection(ctx, limit)
	if err != nil {
		return err
	}
	defer release()
	if conn == nil {
		return withGrace(ctx, limit, func(ctx context.Context) error { return l.queryOn(ctx, on, sql, args, read) })
	}
	d, err := newCallDeadline(ctx, conn.PgConn().Conn(), deadline)
	if err != nil {
		return err
	}
	return d.end(l.queryOn(context.WithoutCancel(ctx), on, sql, args, read))
}

// withGrace calls fn with a context that ends after the time limit, or cancelGrace after the
// end of ctx. If the limit has passed, it returns [net.ErrClosed].
func withGrace(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	inner, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		t := time.NewTimer(cancelGrace)
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
