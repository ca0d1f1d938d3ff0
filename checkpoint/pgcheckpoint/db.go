package pgcheckpoint

import (
	"cmp"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/weft-go/weft/internal/pgdb"
)

// A DB is what a [Store] works on: a *pgxpool.Pool, a *pgx.Conn, or a pgx.Tx that
// the caller has begun and will commit.
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

// A link is how statements reach the database.
type link struct {
	db     DB
	before func(ctx context.Context, b *pgx.Batch) error
	// mode, when set, is how statements are sent, whatever the connection's default.
	mode []any
	// turn is taken for the length of a call where there is one connection only.
	turn chan struct{}
	// again says that a failed call may be tried again: not in a transaction, which
	// has failed as a whole.
	again bool
	// circuit is shared by all who use db. Nil is one that is always closed.
	circuit *circuit
	// limit is how long to wait for a connection; zero is as long as it takes, for a
	// pool that sees to it itself.
	limit time.Duration
}

func newLink(db DB, o *Options) *link {
	l := &link{db: db, before: o.Before, again: true}
	if pool, ok := db.(*pgxpool.Pool); ok {
		c := pool.Config()
		l.circuit = newCircuit(c.MaxConns)
		if c.PingTimeout == 0 || c.ConnConfig.ConnectTimeout == 0 {
			l.limit = cmp.Or(o.Timeout, defaultTimeout)
		}
	}
	if pooled(db, o.Pooling) && pgdb.Caches(db) {
		l.mode = []any{pgx.QueryExecModeExec}
	}
	switch db.(type) {
	case pgx.Tx:
		l.turn, l.again = make(chan struct{}, 1), false
	case *pgx.Conn, *pgxpool.Conn:
		l.turn = make(chan struct{}, 1)
	}
	return l
}

// take waits until the caller may use the database.
func (l *link) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil || l.turn == nil {
		return err
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *link) give() {
	if l.turn != nil {
		<-l.turn
	}
}

// query sends one statement in a transaction.
func (l *link) query(ctx context.Context, sql string, args []any, read func(pgx.Rows) error) error {
	return l.queryOn(ctx, l.db, sql, args, read)
}

// queryOn sends one statement, in one round trip, and calls read for each row.
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
	first := b.Len()
	b.Queue(sql, args...)
	results := on.SendBatch(ctx, b)
	for range first {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // says the same
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

// transaction calls fn between the begin and the end of a transaction. It is for
// what is not done in a superstep.
func (l *link) transaction(ctx context.Context, limit time.Duration, fn func(ctx context.Context, tx *link) error) error {
	return l.begin(ctx, limit, func(ctx context.Context, tx pgx.Tx) error { return fn(ctx, &link{db: tx, mode: l.mode}) })
}

func (l *link) begin(ctx context.Context, limit time.Duration, fn func(ctx context.Context, tx pgx.Tx) error) error {
	return patiently(ctx, limit, func(ctx context.Context) error {
		on, release, err := l.beginner(ctx)
		if err != nil {
			return err
		}
		defer release()
		tx, err := on.Begin(ctx)
		if err != nil {
			return err
		}
		err = l.prepare(ctx, tx)
		if err == nil {
			err = fn(ctx, tx)
		}
		if err == nil {
			return tx.Commit(ctx)
		}
		// The connection may be gone, and with it the transaction.
		_ = tx.Rollback(ctx)
		return err
	})
}

func (l *link) prepare(ctx context.Context, tx pgx.Tx) error {
	if l.before == nil {
		return nil
	}
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil || b.Len() == 0 {
		return err
	}
	return tx.SendBatch(ctx, b).Close()
}
