package sqlitememory

import (
	"context"
	"embed"
	"fmt"

	"github.com/weft-go/weft/internal/migration"
	"github.com/weft-go/weft/internal/sqlitedb"
	"github.com/weft-go/weft/memory/driver"
)

//go:embed migration/*.sql
var migrationFiles embed.FS

var migrations = migration.MustRead(migrationFiles, "migration")

// DB is a memory in a SQLite database. It is safe for concurrent use. Several DBs can have the same
// file open.
type DB struct {
	path    string
	options Options
	sql     *sqlitedb.DB
}

// Open opens the database at path, creates it if it does not exist, and migrates it to this
// version. The folder must exist. Other processes may have the file open. The path [Memory] opens a
// new database in memory. Call [DB.Close] at the end. The file and its folder must be writable,
// even if the program only reads, because SQLite writes a log beside the file.
//
// Open returns [ErrFormat] for a file that is not an SQLite database, or that a newer version of
// this package has written.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	err := o.check()
	d := &DB{path: path, options: o}
	if err == nil {
		d.sql, err = sqlitedb.Open(ctx, path, sqlitedb.Options{
			MaxSize: o.MaxSize, BusyTimeout: o.BusyTimeout, Normal: o.Synchronous == Normal,
			SecureDelete: true, Migrations: migrations, Table: "mem_migration",
		})
	}
	if err != nil {
		return nil, fmt.Errorf("sqlitememory: open %q: %w", path, classify(err))
	}
	d.finish(ctx)
	return d, nil
}

// Close waits for running calls, and closes the file. Later calls of other methods return an error
// that wraps [io/fs.ErrClosed]. Close may be called again.
func (d *DB) Close() error {
	if err := d.sql.Close(); err != nil {
		return d.fail("close", err)
	}
	return nil
}

// Facts returns the database's store of facts.
func (d *DB) Facts() driver.FactStore { return &factStore{d} }
