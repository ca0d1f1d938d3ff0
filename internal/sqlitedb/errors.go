package sqlitedb

import (
	"errors"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/weft-go/weft/internal/migration"
)

// ErrPath says that there can be no database at a path.
var ErrPath = errors.New("no path of a database")

// A Fault is a kind of error that callers tell apart.
type Fault int

// The kinds of errors.
const (
	Other    Fault = iota
	Full           // the disk, or the file has all that it may have
	Corrupt        // the file
	Format         // no database, or one of another version
	Path           // there can be no database
	InUse          // see [ErrInUse]
	TooLarge       // a value
)

// FaultOf says what kind of error it is.
func FaultOf(err error) Fault {
	switch {
	case errors.Is(err, ErrPath):
		return Path
	case errors.Is(err, migration.ErrSchema):
		return Format
	case errors.Is(err, ErrInUse):
		return InUse
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

// IsUnique reports whether a row was refused because there is one like it.
func IsUnique(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
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
