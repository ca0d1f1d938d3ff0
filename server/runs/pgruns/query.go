package pgruns

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/weft-go/weft/internal/pgdb"
)

// query sends a statement without effects, and calls fn for each row. A retry calls fn again for
// rows that it has already read.
func (s *Store) query(ctx context.Context, sql string, args []any, fn func(pgx.Rows) error) error {
	return s.rows(ctx, s.timeout, pgdb.AnyFault, sql, args, func() {}, fn)
}

// rows sends a statement in one round trip, and calls fn for each row. It calls reset before each
// attempt.
func (s *Store) rows(ctx context.Context, limit time.Duration, may func(pgdb.Fault) bool, sql string, args []any, reset func(), fn func(pgx.Rows) error) error {
	return s.retries.Do(ctx, limit, may, func(ctx context.Context) error {
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

// A statement is an SQL statement with its arguments.
type statement struct {
	text string
	args []any
}

// exec sends statements in one round trip and one transaction.
func (s *Store) exec(ctx context.Context, may func(pgdb.Fault) bool, list ...statement) error {
	return s.retries.Do(ctx, s.timeout, may, func(ctx context.Context) error { return s.send(ctx, list) })
}

func (s *Store) send(ctx context.Context, list []statement) error {
	b := &pgx.Batch{} // a batch cannot be sent again on another connection
	for _, one := range list {
		b.Queue(pgdb.InSchema(s.schema, one.text), one.args...)
	}
	return s.pool.SendBatch(ctx, b).Close()
}
