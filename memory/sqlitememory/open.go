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

// DB is a database of an agent's memory. It is safe for use by any number of
// goroutines, and several may have one file open.
type DB struct {
	path    string
	options Options
	sql     *sqlitedb.DB
}

// Open opens the database at path, makes it if there is none, and brings it up to this
// version. The folder has to be there. It may be a file that other processes have open,
// and [Memory] is a database of its own. The caller closes it. The file and its folder have to be
// writable, also for a program that only reads: a log is kept beside the file.
//
// A file that is no SQLite database, and one that a newer version of this
// package has written, are refused with [ErrFormat].
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

// Close waits for calls that are under way, and closes the file. A call that comes later
// returns an error that wraps [io/fs.ErrClosed]; Close itself may be called again.
func (d *DB) Close() error {
	if err := d.sql.Close(); err != nil {
		return d.fail("close", err)
	}
	return nil
}

// Facts returns the database's store of facts.
func (d *DB) Facts() driver.FactStore { return &Facts{d} }
