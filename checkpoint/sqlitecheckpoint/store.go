package sqlitecheckpoint

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// Store is a [checkpoint.Store] in a SQLite file. It is also a
// [checkpoint.Leaser], [checkpoint.ThreadLister], [checkpoint.ThreadCopier],
// [checkpoint.Pruner] and [checkpoint.RunDeleter]. It is safe for use by any
// number of goroutines, and several stores may have one file open.
type Store struct {
	path     string
	maxValue int
	db       *sqlitedb.DB
	locks    *locks
	names    names

	// What follows belongs to who has the session that writes.
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
	err := errors.Join(s.db.Close(), s.locks.close())
	if err != nil {
		return fmt.Errorf("sqlitecheckpoint: close: file %q: %w", s.path, err)
	}
	return nil
}
