package pgruns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
)

const (
	// tries is the maximum number of attempts for a statement that the database rolls back because
	// of other transactions.
	tries = 5

	minWait = 20 * time.Millisecond
	maxWait = 2 * time.Second
)

// retry calls fn until it succeeds, a fault is not one of may, or the patience ends.
func (s *Store) retry(ctx context.Context, limit time.Duration, may func(pgdb.Fault) bool, fn func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(s.patience)
	for n := 1; ; n++ {
		err := within(ctx, limit, fn)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f := pgdb.FaultOf(err)
		lost := f == pgdb.Refused || f == pgdb.Lost
		if lost && (!may(f) || !time.Now().Before(until)) {
			return fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		if !may(f) || f == pgdb.Undone && n == tries {
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
	return s.rows(ctx, s.timeout, pgdb.AnyFault, sql, args, func() {}, fn)
}

// rows sends a statement in one round trip, and calls fn for each row. It calls reset before each
// attempt.
func (s *Store) rows(ctx context.Context, limit time.Duration, may func(pgdb.Fault) bool, sql string, args []any, reset func(), fn func(pgx.Rows) error) error {
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
func (s *Store) exec(ctx context.Context, may func(pgdb.Fault) bool, list ...statement) error {
	return s.retry(ctx, s.timeout, may, func(ctx context.Context) error {
		b := &pgx.Batch{} // a batch belongs to the connection on which it was sent
		for _, one := range list {
			b.Queue(pgdb.InSchema(s.schema, one.text), one.args...)
		}
		return s.pool.SendBatch(ctx, b).Close()
	})
}
