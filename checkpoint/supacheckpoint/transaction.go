package supacheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Do calls fn in a transaction with the role and claims of the store's user, or of the
// service. It is for other tables of the program. The transaction commits if fn returns
// nil. If fn returns an error or panics, it rolls back. The role and claims end with the
// transaction.
//
// Do retries the start of the transaction according to [Options.Retry]. It calls fn at most
// once. The error of Do wraps the error of fn. It also wraps [ErrDenied] if the database
// denied access, and [checkpoint.ErrInvalid] for a value that the database cannot store.
//
// fn must use only the transaction, and must not use it after fn returns. Use SET LOCAL
// instead of SET, because SET also affects later users of the pooled connection.
func (s *Store) Do(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	if err := s.link.do(ctx, fn); err != nil {
		return fmt.Errorf("supacheckpoint: do: %w", refusal(err))
	}
	return nil
}

func (l *link) do(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error) error {
	var tx pgx.Tx
	err := l.again(ctx, defaultTimeout, func(ctx context.Context) (err error) {
		tx, err = l.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	defer l.end(ctx, tx)
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// begin starts a transaction with the role and claims of the link.
func (l *link) begin(ctx context.Context) (pgx.Tx, error) {
	b := &pgx.Batch{}
	if err := l.before(ctx, b); err != nil {
		return nil, err
	}
	tx, err := l.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := tx.SendBatch(ctx, b).Close(); err != nil {
		l.end(ctx, tx)
		return nil, err
	}
	return tx, nil
}

// end rolls back an uncommitted transaction, even if ctx is cancelled. If the rollback
// fails, pgx closes the connection.
func (l *link) end(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}
