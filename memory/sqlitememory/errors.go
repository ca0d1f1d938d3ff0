package sqlitememory

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/memory/driver"
)

var (
	// ErrFull means that the disk is full, or that the file has reached [Options.MaxSize]. Nothing
	// was written; stored data can still be read. Until it returns, Forget also needs space for the
	// write-ahead log.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitememoryerrfull.
	ErrFull = unavailable.New("no room is left")
	// ErrCorrupt means that stored data is damaged: a checksum or a size is wrong.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitememoryerrcorrupt.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrFormat means that a file is not an SQLite database, or that another version of this
	// package has written it.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitememoryerrformat.
	ErrFormat = errors.New("unknown format")
	// ErrInUse means that data was removed, but is still in the write-ahead log, because another
	// process has been reading for too long. Forget the same scope again to remove it from the log.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitememoryerrinuse.
	ErrInUse = errors.New("file is in use")
)

// fail adds the failed operation and the file to an error.
func (d *DB) fail(what string, err error) error {
	return fmt.Errorf("sqlitememory: %s: file %q: %w", what, d.path, classify(err))
}

// classify adds the sentinel error for an error of SQLite.
func classify(err error) error {
	var sentinel error
	switch sqlitedb.FaultOf(err) {
	case sqlitedb.Full:
		sentinel = ErrFull
	case sqlitedb.Corrupt:
		sentinel = ErrCorrupt
	case sqlitedb.Format:
		sentinel = ErrFormat
	case sqlitedb.Path:
		sentinel = driver.ErrInvalid
	case sqlitedb.InUse:
		sentinel = ErrInUse
	default:
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
