package sqlitecheckpoint

import (
	"fmt"

	"github.com/weft-go/weft/checkpoint"
	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/internal/unavailable"
)

var (
	// ErrFull is returned when less than 8 MB are free on the disk, a quota or
	// file size limit is reached, or the file would exceed [Options.MaxSize].
	// Nothing was written, and stored checkpoints can be read.
	//
	// Remove checkpoints to make room in the file. A removal needs some space on the
	// disk for the write-ahead log, and the 8 MB are reserved for it. A removal
	// returns ErrFull only if other programs, a quota or a file size limit leave less
	// space than that. In this case, free some megabytes first.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitecheckpointerrfull.
	ErrFull = unavailable.New("database or disk is full")
	// ErrReplaced is returned by calls that write when the database file was
	// deleted, renamed or replaced by another file while it was open. The data that
	// the call wrote is lost. Put the file back, or close the store and open it again.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#sqlitecheckpointerrreplaced.
	ErrReplaced = sqlitedb.ErrReplaced
)

// fail returns an error that names the operation, the file and the checkpoint.
func (s *Store) fail(operation string, k checkpoint.Key, err error) error {
	about := fmt.Sprintf("sqlitecheckpoint: %s: file %q, thread %q", operation, s.path, k.Thread)
	if k.Namespace != "" {
		about += fmt.Sprintf(", namespace %q", k.Namespace)
	}
	if k.ID != "" {
		about += fmt.Sprintf(", checkpoint %q", k.ID)
	}
	return fmt.Errorf("%s: %w", about, classify(err))
}

// classify wraps an error of SQLite in the matching sentinel error.
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
