package pgruns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// tries is the maximum number of attempts for a statement that the database rolls back because
	// of other transactions.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// A fault is the kind of a failure. It decides whether a call is retried.
type fault int

const (
	faultOther   fault = iota // a retry is of no use
	faultUndone               // the database rolled back because of another transaction
	faultRefused              // there was no connection, or nothing was sent
	faultLost                 // the connection was lost; the call may have taken effect
)

func faultOf(err error) fault {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return faultOther
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "40001", "40P01": // serialization_failure, deadlock_detected
			return faultUndone
		case "57P03", "53300": // the server starts; too many connections
			return faultRefused
		case "57P01", "57P02": // the server stops, has crashed
			return faultLost
		}
		return faultOther
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return faultRefused
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return faultLost
	}
	for _, lost := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, lost) {
			return faultLost
		}
	}
	return faultOther
}

// anyFault and unsent report whether a call is retried after a fault: any that can pass, or only one
// that had no effect.
func anyFault(f fault) bool { return f != faultOther }
func unsent(f fault) bool   { return f == faultUndone || f == faultRefused }

// retry calls fn until it succeeds, a fault is not one of may, or the patience ends.
func (s *Store) retry(ctx context.Context, limit time.Duration, may func(fault) bool, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(s.patience)
	for n := 1; ; n++ {
		err := within(ctx, limit, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := faultOf(err)
		lost := f == faultRefused || f == faultLost
		if lost && (!may(f) || !time.Now().Before(until)) {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		if !may(f) || f == faultUndone && n == tries {
			return err
		}
		if err := pgdb.Pause(ctx, min(minWait<<min(n, 16), maxWait)); err != nil {
			return err
		}
	}
}

// within calls fn with a context that ends after limit. The error distinguishes that end from the
// end of ctx.
func within(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	inner, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := fn(inner)
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if err != nil && inner.Err() != nil {
		return fmt.Errorf("no answer in %v: %w", limit, net.ErrClosed)
	}
	return err
}

// query sends a statement without effects, and calls fn for each row. A retry calls fn again for
// rows that it has already read.
func (s *Store) query(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	return s.rows(ctx, s.timeout, anyFault, sql, args, func() {}, fn)
}

// rows sends a statement in one round trip, and calls fn for each row. It calls reset before each
// attempt.
func (s *Store) rows(ctx context.Context, limit time.Duration, may func(fault) bool, sql string, args []any, reset func(), fn func(pgx.Rows) error) error {
	return s.retry(ctx, limit, may, func(ctx context.Context) error {
		reset()
		rows, err := s.pool.Query(ctx, pgdb.InSchema(s.schema, sql), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := fn(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// A statement is one of those that are sent together.
type statement struct {
	text string
	args []any
}

// exec sends statements in one round trip and one transaction.
func (s *Store) exec(ctx context.Context, may func(fault) bool, list ...statement) error {
	return s.retry(ctx, s.timeout, may, func(ctx context.Context) error {
		b := &pgx.Batch{} // a batch belongs to the connection on which it was sent
		for _, one := range list {
			b.Queue(pgdb.InSchema(s.schema, one.text), one.args...)
		}
		return s.pool.SendBatch(ctx, b).Close()
	})
}
