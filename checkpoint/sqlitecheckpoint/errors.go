package sqlitecheckpoint

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/weft-go/weft/checkpoint"
)

// ErrFull says that the disk is full, or that the file has grown to
// [Options.MaxSize]. Nothing was written; what is there can be read, and what
// is removed makes room.
var ErrFull = errors.New("database or disk is full")

// fail says what could not be done, in which file and for which checkpoint. It
// adds the sentinel that a result of SQLite stands for.
func (s *Store) fail(what string, k checkpoint.Key, err error) error {
	about := fmt.Sprintf("sqlitecheckpoint: %s: file %q, thread %q", what, s.path, k.Thread)
	if k.Namespace != "" {
		about += fmt.Sprintf(", namespace %q", k.Namespace)
	}
	if k.ID != "" {
		about += fmt.Sprintf(", checkpoint %q", k.ID)
	}
	return fmt.Errorf("%s: %w", about, classify(err))
}

// classify adds the sentinel that a result of SQLite stands for.
func classify(err error) error {
	var sentinel error
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL:
		sentinel = ErrFull
	case sqlite3.SQLITE_CORRUPT:
		sentinel = checkpoint.ErrCorrupt
	case sqlite3.SQLITE_NOTADB:
		sentinel = checkpoint.ErrFormat
	case sqlite3.SQLITE_TOOBIG:
		sentinel = checkpoint.ErrTooLarge
	default:
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}

// resultCode returns SQLite's primary result code, and 0 for other errors.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

func isBusy(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_PROTOCOL
}
