package sqlitecheckpoint

import (
	"errors"
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
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

// classify adds the sentinel that an error of the file stands for.
func classify(err error) error {
	var sentinel error
	switch sqlitedb.FaultOf(err) {
	case sqlitedb.Full:
		sentinel = ErrFull
	case sqlitedb.Corrupt:
		sentinel = checkpoint.ErrCorrupt
	case sqlitedb.Format:
		sentinel = checkpoint.ErrFormat
	case sqlitedb.TooLarge:
		sentinel = checkpoint.ErrTooLarge
	case sqlitedb.Path:
		sentinel = checkpoint.ErrInvalid
	default:
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
