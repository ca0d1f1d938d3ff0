package sqlitememory

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

var (
	// ErrFull says that the disk is full, or that the file has grown to
	// [Options.MaxSize]. Nothing was written; what is there can be read. To forget takes room
	// too, for the log, until it is done.
	ErrFull = errors.New("no room is left")
	// ErrCorrupt says that what is stored is not what was stored.
	ErrCorrupt = errors.New("stored data is damaged")
	// ErrFormat says that a file is no SQLite database, or that another version of this
	// package has written it.
	ErrFormat = errors.New("unknown format")
	// ErrInUse says that what was forgotten is gone, but that another process reads for so
	// long that bytes of it are still in the log beside the file. Forgetting the same
	// once more finishes it.
	ErrInUse = errors.New("file is in use")
)

// fail says what could not be done, and in which file.
func (d *DB) fail(what string, err error) error {
	return fmt.Errorf("sqlitememory: %s: file %q: %w", what, d.path, classify(err))
}

// classify adds the sentinel that an error of the file stands for.
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
