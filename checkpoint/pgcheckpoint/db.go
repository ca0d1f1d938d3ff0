package pgcheckpoint

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/pgdb"
)

// A DB is the database that a [Store] works on: a *pgxpool.Pool, a *pgx.Conn, or a
// pgx.Tx that the caller has begun and will commit.
type DB interface {
	Begin(ctx context.Context) (pgx.Tx, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

var (
	_ DB = (*pgxpool.Pool)(nil)
	_ DB = (*pgx.Conn)(nil)
	_ DB = pgx.Tx(nil)
)

// A link sends statements to a DB.
type link struct {
	db     DB
	before func(ctx context.Context, b *pgx.Batch) error
	// mode, when set, holds the query mode to send statements in, instead of the
	// connection's default.
	mode []any
	// sem serializes the calls on a single connection. Nil for a pool.
	sem chan struct{}
	// retries is set when a failed call may be tried again. It is not set in a
	// transaction of the caller, because an error ends the whole transaction.
	retries bool
	// circuit is shared by all stores on db. Nil for a DB that is not a pool.
	circuit *circuit
	// timeout is the maximum wait for a connection.
	timeout time.Duration
}

func newLink(db DB, o *Options) *link {
	l := &link{db: db, before: o.Before, retries: true, timeout: cmp.Or(o.Timeout, defaultTimeout)}
	if pool, ok := db.(*pgxpool.Pool); ok {
		l.circuit = newCircuit(pool.Config().MaxConns)
	}
	if pooled(db, o.Pooling) && pgdb.Caches(db) {
		l.mode = []any{pgx.QueryExecModeExec}
	}
	switch db.(type) {
	case pgx.Tx:
		l.sem, l.retries = make(chan struct{}, 1), false
	case *pgx.Conn, *pgxpool.Conn:
		l.sem = make(chan struct{}, 1)
	}
	return l
}

// lock waits until the caller may use the database.
func (l *link) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil || l.sem == nil {
		return err
	}
	select {
	case l.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) unlock() {
	if l.sem != nil {
		<-l.sem
	}
}

// query sends one statement to the DB of the link, without a time limit of its own.
func (l *link) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	return l.queryOn(ctx, l.db, sql, args, read)
}

// queryOn sends one statement after the statements of l.before, in one round trip, and calls
// read for each row of the result.
func (l *link) queryOn(ctx context.Context, on querier, sql string, args []any, read func(pgx.Rows) error) error {
	if l.before == nil {
		rows, err := on.Query(ctx, sql, append(l.mode[:len(l.mode):len(l.mode)], args...)...)
		if err != nil {
			return err
		}
		return readAll(rows, read)
	}
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil {
		return err
	}
	queued := b.Len()
	b.Queue(sql, args...)
	results := on.SendBatch(ctx, b)
	for range queued {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // returns the same error
			return err
		}
	}
	rows, err := results.Query()
	if err == nil {
		err = readAll(rows, read)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

func readAll(rows pgx.Rows, read func(pgx.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func ignoreRow(pgx.Rows) error { return nil }

// transaction calls fn within a transaction, and commits it if fn returns nil. It is
// for maintenance: the calls of a superstep send one statement.
func (l *link) transaction(ctx context.Context, limit time.Duration, fn func(ctx context.Context, tx *link) error) error {
	return l.begin(ctx, limit, func(ctx context.Context, tx pgx.Tx) error { return fn(ctx, &link{db: tx, mode: l.mode}) })
}

func (l *link) begin(ctx context.Context, limit time.Duration, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return withGrace(ctx, limit, func(ctx context.Context) error {
		on, release, err := l.beginner(ctx)
		if err != nil {
			return err
		}
		defer release()
		tx, err := l.beginTx(ctx, on)
		if err != nil {
			return err
		}
		err = l.queueBefore(ctx, tx)
		if err == nil {
			err = fn(ctx, tx)
		}
		if err == nil {
			return tx.Commit(ctx)
		}
		// Ignore the error of Rollback: a lost connection also ends the transaction.
		_ = tx.Rollback(ctx)
		return err
	})
}

// beginTx begins a transaction. It detects a lost connection within the timeout of one
// statement, even if the transaction itself may take longer.
func (l *link) beginTx(ctx context.Context, on beginner) (tx pgx.Tx, err error) {
	err = withGrace(ctx, l.timeout, func(ctx context.Context) error {
		tx, err = on.Begin(ctx)
		return err
	})
	return tx, err
}

func (l *link) queueBefore(ctx context.Context, tx pgx.Tx) error {
	if l.before == nil {
		return nil
	}
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil || b.Len() == 0 {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}
