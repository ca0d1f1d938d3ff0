package supacheckpoint

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Do calls fn in one transaction with the rights that the store is bound to: those of its
// user, whose id and claims the policies read, or of the service. It is for tables of a program's own,
// on the store's connections and through the same poolers. The transaction is committed if fn
// returns nil, and otherwise undone, also when fn panics; the rights end with it.
//
// To begin is tried again as [Options.Retry] says, and fn is called once at most. An error
// wraps that of fn; one of the database that stands for a refusal is an [ErrDenied] as well, and one for a
// value that it can not keep a [checkpoint.ErrInvalid].
//
// Only the transaction may be used in fn, and not when fn has ended. What is changed by SET and not by
// SET LOCAL stays with the connection.
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

// begin begins a transaction that has its rights.
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

// end undoes what was not committed, also for a caller who is gone. A connection for which
// that fails does not go back to the pool.
func (l *link) end(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), defaultTimeout)
	defer cancel()
	_ = tx.Rollback(ctx)
}
