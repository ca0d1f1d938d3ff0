package sqlitedb

import (
	"errors"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/weft-go/weft/internal/migration"
)

var (
	// ErrPath is returned when the path cannot name a database file.
	ErrPath = errors.New("invalid database path")
	// ErrInUse is returned by [DB.Empty] if another connection still reads pages of the
	// write-ahead log.
	ErrInUse = errors.New("in use: removed data is still in the write-ahead log")
	// ErrReplaced is returned when the path does not lead to the opened file any more.
	ErrReplaced = errors.New("the database file was deleted, renamed or replaced while it was open; " +
		"what is written to it is lost: put the file back, or close the store and open it again")
)

// A Fault is a kind of error. Callers handle each kind differently.
type Fault int

// A Fault has one of these values.
const (
	Other    Fault = iota
	Full           // no room on the disk, in the quota, or below a size limit
	Corrupt        // the file is damaged
	Format         // the file is no SQLite database, or has the schema of another version
	Path           // see [ErrPath]
	InUse          // see [ErrInUse]
	TooLarge       // a value exceeds SQLite's limit
	Replaced       // see [ErrReplaced]
)

// FaultOf returns the kind of an error.
func FaultOf(err error) Fault {
	switch {
	case errors.Is(err, ErrPath):
		return Path
	case errors.Is(err, migration.ErrSchema):
		return Format
	case errors.Is(err, ErrInUse):
		return InUse
	case errors.Is(err, ErrReplaced):
		return Replaced
	case errors.Is(err, errNoRoom), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EFBIG), errors.Is(err, syscall.EDQUOT):
		return Full
	}
	switch resultCode(err) {
	case sqlite3.SQLITE_FULL:
		return Full
	case sqlite3.SQLITE_CORRUPT:
		return Corrupt
	case sqlite3.SQLITE_NOTADB:
		return Format
	case sqlite3.SQLITE_TOOBIG:
		return TooLarge
	}
	return Other
}

// IsUnique reports whether err is a violation of a UNIQUE or PRIMARY KEY constraint.
func IsUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// resultCode returns the primary result code of an error of SQLite. It returns 0 for any
// other error.
func resultCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code() & 0xff
	}
	return sqlite3.SQLITE_OK
}

func isWriteError(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code() == sqlite3.SQLITE_IOERR_WRITE
}

func isBusy(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_PROTOCOL
}
