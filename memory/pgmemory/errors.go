package pgmemory

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/memory/driver"
)

// What errors of this package wrap besides those of package memory.
var (
	// ErrNotMigrated says that the database lacks what [Migrate] makes.
	ErrNotMigrated = errors.New("the database is not migrated, see Migrate")
	// ErrFormat says that another version of this package has been at the database.
	ErrFormat = errors.New("unknown format")
	// ErrUnreachable says that the database could not be reached for
	// [Options.Patience]. What was last sent may have taken effect.
	ErrUnreachable = errors.New("the database can not be reached")
	// ErrFull says that the database has run out of disk or memory. Nothing was
	// written; what is there can be read.
	ErrFull = errors.New("the database is full")
	// ErrDenied is [driver.ErrDenied]: a user would write into the scope of another.
	ErrDenied = driver.ErrDenied
)

// fail says what could not be done, and in which schema.
func (d *DB) fail(what string, err error) error {
	return fmt.Errorf("pgmemory: %s: schema %q: %w", what, d.schema, classify(err))
}

// classify adds the sentinel that an error of the database stands for.
func classify(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	var sentinel error
	switch e.Code {
	case "42P01", "42883", "3F000": // undefined table, function, schema
		sentinel = ErrNotMigrated
	case "53100", "53200", "53400": // disk full, out of memory, a configured limit
		sentinel = ErrFull
	case "42501": // insufficient privilege, and what a policy does not let in
		sentinel = ErrDenied
	case "WQ001": // the quota of a user in the table mem_quota
		sentinel = driver.ErrQuota
	default:
		return err
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
