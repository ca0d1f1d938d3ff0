package pgmemory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/memory/driver"
)

// A Conn is the connection of a [DB]: a *pgxpool.Pool, a *pgx.Conn that only one goroutine uses at
// a time, or a pgx.Tx that the caller commits. A *pgx.Conn in a transaction of the caller is used
// like a pgx.Tx.
type Conn interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

var (
	_ Conn = (*pgxpool.Pool)(nil)
	_ Conn = (*pgx.Conn)(nil)
	_ Conn = pgx.Tx(nil)
)

// A link sends statements to the database.
type link struct {
	on     Conn
	before func(ctx context.Context, b *pgx.Batch) error
	// mode, if not empty, is the query execution mode of pgx for every statement. Otherwise the
	// connection's default applies.
	mode    []any
	retries pgdb.Retries
	timeout time.Duration
}

func newLink(on Conn, o *Options) (*link, error) {
	l := &link{on: on, before: o.Before, retries: pgdb.Retries{Patience: o.patience(), Unreachable: ErrUnreachable}, timeout: o.Timeout}
	if l.timeout == 0 {
		l.timeout = defaultTimeout
	}
	if pooled(on, o.Pooling) && pgdb.Caches(on) {
		l.mode = []any{pgx.QueryExecModeExec}
	}
	return l, l.check()
}

// inTransaction reports whether the next statement is part of a transaction of the caller.
func (l *link) inTransaction() bool {
	switch on := l.on.(type) {
	case pgx.Tx:
		return true
	case *pgx.Conn:
		return on.PgConn().TxStatus() != 'I' // not idle
	}
	return false
}

// retry calls fn with the retries of the link. In a transaction of the caller, it calls fn once, because the transaction
// cannot continue after an error.
func (l *link) retry(ctx context.Context, limit time.Duration, may func(pgdb.Fault) bool, fn func(context.Context) error) error {
	r := l.retries
	r.Once = l.inTransaction()
	return r.Do(ctx, limit, may, fn)
}

// begin calls fn in a transaction, and commits it. In a transaction of the caller, it sets a savepoint, and does not commit.
func (l *link) begin(ctx context.Context, fn func(tx Conn) error) error {
	conn, ok := l.on.(*pgx.Conn)
	if !ok || !l.inTransaction() {
		return pgx.BeginFunc(ctx, l.on, func(tx pgx.Tx) error { return fn(tx) })
	}
	if _, err := conn.Exec(ctx, "SAVEPOINT weft"); err != nil {
		return err
	}
	if err := fn(conn); err != nil {
		_, err2 := conn.Exec(ctx, "ROLLBACK TO SAVEPOINT weft; RELEASE SAVEPOINT weft", pgx.QueryExecModeSimpleProtocol)
		return errors.Join(err, err2)
	}
	_, err := conn.Exec(ctx, "RELEASE SAVEPOINT weft")
	return err
}

// check returns an error if Before is set and the link has a mode. The link has a mode if connections that
// cache statements go through a transaction pooler. With Before, the link sends batches, which use the
// mode of the connection instead.
func (l *link) check() error {
	if l.before != nil && len(l.mode) > 0 {
		return fmt.Errorf("behind a pooler, Before needs connections that cache no statements, as those of Open: %w", driver.ErrInvalid)
	}
	return nil
}

// read sends one statement in one round trip, and calls fn for each row. It may send the statement
// again after any temporary fault; it calls reset before each attempt.
func (l *link) read(ctx context.Context, sql string, args []any, reset func(), fn func(pgx.Rows) error) error {
	return l.retry(ctx, l.timeout, pgdb.AnyFault, func(ctx context.Context) error {
		reset()
		return l.query(ctx, sql, args, fn)
	})
}

// write is like read, for a statement that must not take effect twice. It sends the statement again
// only if the first attempt had no effect.
func (l *link) write(ctx context.Context, sql string, args []any, reset func(), fn func(pgx.Rows) error) error {
	return l.retry(ctx, l.timeout, pgdb.Unsent, func(ctx context.Context) error {
		reset()
		return l.query(ctx, sql, args, fn)
	})
}

func (l *link) query(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	if l.before == nil {
		rows, err := l.on.Query(ctx, sql, append(l.mode[:len(l.mode):len(l.mode)], args...)...)
		if err != nil {
			return err
		}
		return readAll(rows, fn)
	}
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil {
		return err
	}
	first := b.Len()
	b.Queue(sql, args...)
	results := l.on.SendBatch(ctx, b)
	err := readLast(results, first, fn)
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

// enter runs the statements of Before in a transaction.
func (l *link) enter(ctx context.Context, tx Conn) error {
	if l.before == nil {
		return nil
	}
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}

func readLast(results pgx.BatchResults, first int, fn func(pgx.Rows) error) error {
	for range first {
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return readAll(rows, fn)
}

func readAll(rows pgx.Rows, fn func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
