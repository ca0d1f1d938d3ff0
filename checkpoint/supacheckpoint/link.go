package supacheckpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A link sends statements with the rights of somebody.
type link struct {
	pool  *pgxpool.Pool
	as    bound
	retry Retry
	log   *slog.Logger
}

// newLink returns a link with the rights of who logs in, until it is bound.
func newLink(pool *pgxpool.Pool, o *Options) link {
	return link{pool: pool, retry: o.Retry, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
}

// bindQuery takes role, claims, and what older versions of the functions in schema
// auth look at first: the id and the role alone. Each setting ends with the
// transaction.
const bindQuery = `SELECT set_config('role', $1::text, true), set_config('request.jwt.claims', $2::text, true),
	set_config('request.jwt.claim.sub', $3::text, true), set_config('request.jwt.claim.role', $1::text, true)`

// before queues what gives a transaction its rights.
func (l *link) before(_ context.Context, b *pgx.Batch) error {
	switch l.as.role {
	case roleUser, roleService: // nothing else is ever sent
		b.Queue(bindQuery, l.as.role, l.as.claims, l.as.id)
		return nil
	}
	return fmt.Errorf("role %q: %w", l.as.role, ErrRole)
}

// query sends one statement in one round trip, and calls read for each of its rows. It
// may take so long.
func (l *link) query(ctx context.Context, limit time.Duration, sql string, args []any, read func(pgx.Rows) error) error {
	return l.again(ctx, limit, func(ctx context.Context) error {
		b := &pgx.Batch{}
		if err := l.before(ctx, b); err != nil {
			return err
		}
		b.Queue(sql, args...)
		results := l.pool.SendBatch(ctx, b)
		_, err := results.Exec()
		if err == nil {
			err = readAll(results, read)
		}
		if closed := results.Close(); err == nil {
			err = closed
		}
		return err
	})
}

func readAll(results pgx.BatchResults, read func(pgx.Rows) error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// again calls fn until it succeeds, or trying is of no use any more.
func (l *link) again(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	for n := 0; ; n++ {
		err := attempt(ctx, limit, fn)
		if err == nil || n == l.retry.max() || ctx.Err() != nil || !passing(err) {
			return err
		}
		wait := l.retry.wait(n)
		l.log.WarnContext(ctx, "the database failed a call, which is tried again", "wait", wait, "error", err)
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

func attempt(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := fn(inner)
	if err != nil && inner.Err() != nil && ctx.Err() == nil {
		return fmt.Errorf("no answer in %v: %w", limit, net.ErrClosed)
	}
	return err
}

// passing reports whether a failure may pass. What the database says of a statement
// stays as it is, unless it undid it because of another, or is not there.
func passing(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", "57P01", "57P02", "57P03", "53300", "55P03":
			return true
		}
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
