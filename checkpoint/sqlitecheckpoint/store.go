package sqlitecheckpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/weft-go/weft/checkpoint"
)

// Store is a [checkpoint.Store] in a SQLite file. It is also a
// [checkpoint.Leaser], [checkpoint.ThreadLister], [checkpoint.ThreadCopier],
// [checkpoint.Pruner] and [checkpoint.RunDeleter]. It is safe for use by any
// number of goroutines, and several stores may have one file open.
type Store struct {
	path     string
	maxValue int
	busy     time.Duration
	db       *sql.DB
	writer   *pool // one session
	readers  *pool // that of writer when the database is in memory
	locks    *locks
	names    names

	// What follows belongs to who holds the session of writer.
	tips    map[string]*tip
	scratch []byte
}

var _ interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.ThreadLister
	checkpoint.ThreadCopier
	checkpoint.Pruner
	checkpoint.RunDeleter
} = (*Store)(nil)

// Close waits for calls that are under way, and closes the file. Leases that
// are still held are given back. A call that comes later returns an error that
// wraps [io/fs.ErrClosed]; Close itself may be called again.
func (s *Store) Close() error {
	err := errors.Join(s.readers.close(), s.writer.close(), s.locks.close(), s.db.Close())
	if err != nil {
		return fmt.Errorf("sqlitecheckpoint: close: file %q: %w", s.path, err)
	}
	return nil
}

// read calls fn with one consistent view of the database. It may do so again.
func (s *Store) read(ctx context.Context, fn func(q *session) error) error {
	q, err := s.readers.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.readers.release(q)
	return s.retry(ctx, func() error {
		return q.transaction(beginRead, func() error { return fn(q) })
	})
}

// write calls fn with the session that writes. It may do so again.
func (s *Store) write(ctx context.Context, fn func(w *session) error) error {
	w, err := s.writer.acquire(ctx)
	if err != nil {
		return err
	}
	defer s.writer.release(w)
	return s.retry(ctx, func() error { return fn(w) })
}

// retry calls fn again while another process is in the way.
func (s *Store) retry(ctx context.Context, fn func() error) error {
	for start := time.Now(); ; {
		err := fn()
		if !isBusy(err) || time.Since(start) >= s.busy {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// change calls fn in a transaction that writes.
func (s *Store) change(ctx context.Context, fn func(w *session) error) error {
	return s.write(ctx, func(w *session) error {
		return w.transaction(beginWrite, func() error { return fn(w) })
	})
}
