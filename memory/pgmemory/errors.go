package pgmemory

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/weft-go/weft/internal/pgdb"
	"github.com/weft-go/weft/internal/unavailable"
	"github.com/weft-go/weft/memory/driver"
)

// Errors of this package, in addition to the errors of package driver.
var (
	// ErrNotMigrated means that the database lacks tables or functions that [Migrate] creates.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrnotmigrated.
	ErrNotMigrated = errors.New("the database is not migrated, see Migrate")
	// ErrNoPgvector means that the database server does not have the extension vector of pgvector, which
	// [Migrate] creates in the database.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrnopgvector.
	ErrNoPgvector = errors.New("the server has no pgvector: install the package for its version of PostgreSQL, such as postgresql-17-pgvector of Debian")
	// ErrFormat means that another version of this package has migrated or written the database.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrformat.
	ErrFormat = errors.New("unknown format")
	// ErrUnreachable means that the database could not be reached for [Options.Patience]. The
	// last statement may have taken effect.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrunreachable.
	ErrUnreachable = unavailable.New("the database can not be reached")
	// ErrFull means that the database has no free disk space or memory. Nothing was written;
	// stored data can still be read.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrfull.
	ErrFull = unavailable.New("the database is full")
	// ErrDenied is [driver.ErrDenied]. Row-level security or missing privileges caused it.
	// See https://github.com/weft-go/weft/blob/main/docs/troubleshooting.md#pgmemoryerrdenied.
	ErrDenied = driver.ErrDenied
)

// fail adds the failed operation and the schema to an error.
func (d *DB) fail(what string, err error) error {
	return fmt.Errorf("pgmemory: %s: schema %q: %w", what, d.schema, classify(err))
}

// noPgvector adds [ErrNoPgvector] to the error of a migration that could not create the extension. Before version
// 15, PostgreSQL returns the error code for a missing file. The text may be in any language, but names the extension.
func noPgvector(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (e.Code == "0A000" || e.Code == "58P01") && strings.Contains(e.Message, "vector") {
		return fmt.Errorf("%w: %w", ErrNoPgvector, err)
	}
	return err
}

// classify adds the sentinel error for an error code of the database.
func classify(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	var sentinel error
	switch e.Code {
	case "42P01", "42883", "3F000": // undefined table, function, schema
		sentinel = ErrNotMigrated
	case "42501": // insufficient privilege, or a row that violates a policy
		sentinel = ErrDenied
	case "WQ001": // the quota of a user in the table mem_quota
		sentinel = driver.ErrQuota
	default:
		if !pgdb.IsFull(e) {
			return pgdb.Unavailable(err)
		}
		sentinel = ErrFull
	}
	return fmt.Errorf("%w: %w", sentinel, err)
}
