package sqlitecheckpoint

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
)

// Store is a [checkpoint.Store] in a SQLite file. It is also a
// [checkpoint.Leaser], [checkpoint.ThreadLister], [checkpoint.StatusLister],
// [checkpoint.ThreadCopier], [checkpoint.Pruner] and [checkpoint.RunDeleter]. It is safe for use by any
// number of goroutines. Several stores may have one file open.
type Store struct {
	path     string
	maxValue int
	db       *sqlitedb.DB
	locks    *locks
	names    names

	// Only the holder of the writing session may use the following fields.
	latest map[string]*latest // by thread
	buffer []byte
}

var _ interface {
	checkpoint.Store
	checkpoint.Leaser
	checkpoint.ThreadLister
	checkpoint.StatusLister
	checkpoint.ThreadCopier
	checkpoint.Pruner
	checkpoint.RunDeleter
} = (*Store)(nil)

// Close waits for running calls, releases the leases that are still held and
// closes the file. Later calls of other methods return an error that wraps
// [io/fs.ErrClosed]. Close may be called again.
func (s *Store) Close() error {
	err := errors.Join(s.db.Close(), s.locks.close())
	if err != nil {
		return fmt.Errorf("sqlitecheckpoint: close: file %q: %w", s.path, err)
	}
	return nil
}
