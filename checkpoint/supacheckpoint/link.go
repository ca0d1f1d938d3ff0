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

// A link sends statements with the rights of a role or user.
type link struct {
	pool  *pgxpool.Pool
	as    bound
	retry Retry
	log   *slog.Logger
}

// newLink returns a link without a role. Set its role before any other call.
func newLink(pool *pgxpool.Pool, o *Options) link {
	return link{pool: pool, retry: o.Retry, log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
}

// bindQuery has the parameters role, claims and user id. It also sets the separate
// settings for each claim that older functions of the schema auth read. All settings end
// with the transaction.
const bindQuery = `SELECT set_config('role', $1::text, true), set_config('request.jwt.claims', $2::text, true),
	set_config('request.jwt.claim.sub', $3::text, true), set_config('request.jwt.claim.role', $1::text, true)`

// before queues the statement that sets the role and claims of a transaction.
func (l *link) before(_ context.Context, b *pgx.Batch) error {
	switch l.as.role {
	case roleUser, roleService: // no other role is ever sent
		b.Queue(bindQuery, l.as.role, l.as.claims, l.as.id)
		return nil
	}
	return fmt.Errorf("role %q: %w", l.as.role, ErrRole)
}

// query sends one statement in one round trip and calls read for each row. Each attempt
// times out after limit.
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

// again calls fn until it succeeds, fails permanently or has used up its retries. Each call
// times out after limit.
func (l *link) again(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	for n := 0; ; n++ {
		err := attempt(ctx, limit, fn)
		if err == nil || n == l.retry.max() || ctx.Err() != nil || !transient(err) {
			return err
		}
		wait := l.retry.wait(n)
		l.log.WarnContext(ctx, "database call failed; retrying", "wait", wait, "error", err)
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

// transient reports whether a retry may succeed: after a lost connection, a
// serialization failure, a deadlock, a lock timeout, too many connections or a restart of the server.
func transient(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01", "57P01", "57P02", "57P03", "53300", "55P03":
			return true
		case "08P01": // PgBouncer closes the connection, for example because it cannot reach the database
			return e.Severity == "FATAL"
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
